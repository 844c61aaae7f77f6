#!/usr/bin/env python3
"""A multiget of 1,000 keys by gomemcache from unmodified memcached servers under limiters, behind a switch port with a small buffer.

In each round the client gets all keys, with a request for every server. Prints a table of docs/limit.md for each fan-in and buffer. Needs root,
Go, memcached, iproute2 and ethtool; without, it is skipped.

    multiget.py [--fan-in 8,32,128] [--buffer 64,256] [--seconds S] [--keys N] [--value BYTES] [--rate MBPS] [--no-prediction]

FANIN names the binary of the prediction.
"""

import contextlib
import subprocess

from common import ADDRESS, FIRST, SERVERS, client, options, table, wait_for_servers

# Bytes of a value's line and its end, with a key of seven letters.
LINE = 30


@contextlib.contextmanager
def servers(count):
    """memcached on as many ports."""
    command = ["ip", "netns", "exec", SERVERS, "memcached", "-u", "nobody", "-l", ADDRESS, "-t", "1", "-m", "16"]
    started = [subprocess.Popen([*command, "-p", str(FIRST + i)]) for i in range(count)]
    try:
        wait_for_servers(count)
        yield
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait()


def main():
    parser = options(__doc__)
    parser.add_argument("--keys", type=int, default=1_000)
    parser.add_argument("--value", type=int, default=2_000)
    asked = parser.parse_args()
    with client("memcached") as program:
        for fan_in in asked.fan_in:
            with servers(fan_in):
                for buffer in asked.buffer:
                    more = ["-keys", asked.keys, "-size", asked.value]
                    table(program, fan_in, buffer << 10, asked, asked.keys, asked.value + LINE, *more)


if __name__ == "__main__":
    main()
