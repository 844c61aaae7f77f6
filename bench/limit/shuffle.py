#!/usr/bin/env python3
"""The receiving end of a shuffle in Dask under limiters, behind a switch port with a small buffer.

In each round a task on one worker needs a new part from every other worker, as a task of a shuffle's last stage does. The worker's transfers
are under a limiter, with Dask's own limits removed; "Dask's default" has those alone. The other workers are one process. Prints a table of
docs/limit.md for each fan-in and buffer. Needs root, iproute2, ethtool, and Python with fanin and distributed; without, it is skipped.

    shuffle.py [--fan-in 8,32,128] [--buffer 64,256] [--seconds S] [--part BYTES] [--rate MBPS] [--no-prediction]

FANIN names the binary of the prediction.
"""

import asyncio
import contextlib
import logging
import os
import subprocess
import sys
import time

from common import ADDRESS, CLIENT, FIRST, SERVERS, Rounds, client_options, network, options, skip_without, table, wait_for_servers

# Bytes of a message's header.
HEADER = 400
OWN = ("Dask's default", "dask", None, None)


@contextlib.contextmanager
def servers(count):
    """The scheduler at the first port, and as many workers."""
    command = ["ip", "netns", "exec", SERVERS, sys.executable, __file__, "servers", "-servers", str(count)]
    process = subprocess.Popen(command)
    try:
        wait_for_servers(count + 1)
        yield
    finally:
        process.terminate()
        process.wait()


async def serve(asked):
    """The scheduler and the other workers, for ever."""
    from distributed import Scheduler, Worker

    logging.getLogger("distributed").setLevel(logging.ERROR)
    async with Scheduler(host=ADDRESS, port=FIRST, dashboard=False) as scheduler, contextlib.AsyncExitStack() as stack:
        for i in range(asked.servers):
            worker = Worker(scheduler.address, host=ADDRESS, port=FIRST + 1 + i, nthreads=1, name=f"w{i}", dashboard=False)
            await stack.enter_async_context(worker)
        await asyncio.Event().wait()


async def client(asked):
    """One worker under a limiter, and the client of its tasks."""
    import dask
    import fanin.limit.dask
    from distributed import Client, Worker
    from limiters import named

    logging.getLogger("distributed").setLevel(logging.ERROR)
    if asked.limiter != "dask":
        dask.config.set({"distributed.worker.connections.incoming": 1000, "distributed.worker.memory.transfer": False})
    address, rounds = f"tcp://{asked.host}:{asked.first}", Rounds(asked)
    async with Worker(address, name="under-limit", nthreads=1, dashboard=False) as worker, Client(address, asynchronous=True) as own:
        if asked.limiter != "dask":
            plugin = fanin.limit.dask.LimitTransfers()
            fanin.limit.dask.Limit = lambda settings: named(asked.limiter)
            plugin.setup(worker)
        others = [f"w{i}" for i in range(asked.servers)]
        while rounds.go_on():
            parts = [own.submit(os.urandom, asked.part, workers=[name], pure=False) for name in others]
            await asyncio.gather(*parts)
            begun = time.monotonic()
            size = await own.submit(lambda parts: sum(map(len, parts)), parts, workers=["under-limit"], pure=False)
            rounds.add(time.monotonic() - begun, size)
    rounds.print()


def main():
    if sys.argv[1:2] == ["servers"]:
        return asyncio.run(serve(client_options()))
    if sys.argv[1:2] == ["client"]:
        return asyncio.run(client(client_options("part")))
    parser = options(__doc__)
    parser.add_argument("--part", type=int, default=16_000)
    asked = parser.parse_args()
    skip_without(modules=("fanin", "distributed"))
    with network():
        for fan_in in asked.fan_in:
            with servers(fan_in):
                for buffer in asked.buffer:
                    program = [sys.executable, __file__, "client"]
                    table(program, fan_in, buffer << 10, asked, fan_in, asked.part + HEADER, "-part", asked.part, own=[OWN])


if __name__ == "__main__":
    main()
