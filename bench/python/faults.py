"""SWEEPS (20) sweeps on a Dask cluster of three workers, in each of which one is killed at a random moment, and in one the scheduler's
connection is cut: the same tables every time, and no run more than three times."""

import argparse
import collections
import hashlib
import os
import pathlib
import random
import signal
import tempfile
import threading
import time

import dask
import polars
from distributed import Client, LocalCluster, Status

import fanin

TEXT = """
schemes = ["newreno", "dctcp"]
[link]
rate = "1 Gbit/s"
delay = "25 us"
[workload]
fragment = "64 KiB"
duration = "500 ms"
[sweep]
fan_in = [4, 16, 64]
[run]
seeds = 12
"""


def digest(comparison: fanin.Comparison) -> str:
    """SHA-256 over all of its tables."""
    sum = hashlib.sha256()
    for name in comparison.tables:
        sum.update(polars.DataFrame(comparison.table(name)).write_csv().encode())
    return sum.hexdigest()


def logged(folder: str):
    """Has workers write down which parcels they begin."""

    def setup() -> None:
        from fanin import _fanin, worker

        def work(parcel: bytes, ticket: str) -> bytes:
            with open(os.path.join(folder, str(os.getpid())), "a") as log:
                log.write(ticket + "\n")
            return _fanin.work(parcel)

        worker.work = work

    return setup


def workers(cluster) -> list[int]:
    """The processes of three workers, once all are there: a nanny whose worker is killed while it starts gives up for good."""
    for _ in range(600):
        nannies = cluster.workers.values()
        up = [nanny.pid for nanny in nannies if nanny.process is not None and nanny.process.status == Status.running]
        if len(up) == len(cluster.scheduler.workers) == 3:
            return up
        time.sleep(0.1)
    raise SystemExit("faults: Dask has not started its workers again in a minute")


def main() -> None:
    """Kills workers, compares the tables, and prints the result."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--sweeps", type=int, default=20)
    arguments.add_argument("--seed", type=int, default=1)
    arguments = arguments.parse_args()
    # A worker that takes long to start again, on a machine that is busy, is no lost one.
    dask.config.set({"distributed.deploy.lost-worker-timeout": "10 minutes"})
    chance = random.Random(arguments.seed)
    scenario = fanin.Scenario(text=TEXT)
    begun = time.monotonic()
    wanted = digest(scenario.compare(cache=False))
    took = time.monotonic() - begun
    with tempfile.TemporaryDirectory() as folder:
        with (
            LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            client.register_worker_callbacks(logged(folder))
            for number in range(arguments.sweeps):
                victim = chance.choice(workers(cluster))
                after_s = chance.uniform(0, took)
                timers = [threading.Timer(after_s, os.kill, (victim, signal.SIGKILL))]
                if number == arguments.sweeps // 2:
                    cut = client.scheduler_comm.comm.abort
                    timers.append(threading.Timer(after_s / 2, client.loop.add_callback, (cut,)))
                [timer.start() for timer in timers]
                got = digest(scenario.compare(executor=client.get_executor(), cache=False))
                [timer.join() for timer in timers]
                if got != wanted:
                    raise SystemExit(f"faults: other tables in sweep {number}, a worker killed after {after_s:.2f} s")
        begun = collections.Counter()
        for log in pathlib.Path(folder).iterdir():
            begun.update(log.read_text().split())
    most = max(begun.values(), default=0)
    print(
        f"{arguments.sweeps} sweeps, a worker killed in each, a connection cut in one: the same tables; "
        f"{sum(begun.values())} parcels begun, {sum(n > 1 for n in begun.values())} of them more than once, {most} times at most"
    )
    if most > 3:
        raise SystemExit("faults: a parcel was begun more than three times")


if __name__ == "__main__":
    main()
