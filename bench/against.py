#!/usr/bin/env python3
"""CPU time per get of this `fanin front` and of an older one, in one run: pair after pair, in front of the same memcached servers.

Prints, for every kind of get, the median over the pairs of new CPU time a key over old, and its 95 % interval (by the order of the pairs).

    against.py OLD [--pairs N] [--seconds S] [--servers N]

OLD is an older program; FANIN and LOAD name the others.
"""

import argparse
import math
import pathlib
import statistics
import subprocess

from front import FIRST, KEYS, LOAD, cpu, load
from stands import FANIN, ended, front, memcached

KINDS = [("one key, 1 connection", 1, 1), ("one key, 16 connections", 16, 1), ("one key, 64 connections", 64, 1), ("100 keys, 16 connections", 16, 100),
         ("1,000 keys, 16 connections", 16, 1000), ("mg, 1 connection", 1, "meta"), ("mg, 64 connections", 64, "meta")]


def interval(ratios):
    """Between which of the ratios, in their order, the median is, with 95 %."""
    count = len(ratios)
    below, left = 0.0, 0
    while (below := below + math.comb(count, left) / 2**count) <= 0.025:
        left += 1
    ordered = sorted(ratios)
    return ordered[max(left - 1, 0)], ordered[count - max(left, 1)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("old", type=pathlib.Path)
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--servers", type=int, default=8)
    options = parser.parse_args()
    ports = range(FIRST, FIRST + options.servers)
    with ended([]) as processes:
        processes.extend(map(memcached, ports))
        proxies = {}
        for number, program in enumerate([str(options.old), FANIN]):
            process = front(FIRST + 101 + number, ports, "--threads", 1, program=program)
            processes.append(process)
            proxies[program] = (FIRST + 101 + number, process.pid)
        subprocess.run([LOAD, "fill", f"127.0.0.1:{FIRST + 101}", str(KEYS)], check=True)
        for what, connections, keys in KINDS:
            ratios = []
            for pair in range(options.pairs):
                took = {}
                for program in list(proxies)[:: 1 if pair % 2 else -1]:
                    port, pid = proxies[program]
                    before = cpu(pid)
                    found = load(port, connections, keys, options.seconds)
                    took[program] = (cpu(pid) - before) / found["keys"]
                ratios.append(took[FANIN] / took[str(options.old)])
            low, high = interval(ratios)
            print(f"{what:28}: {statistics.median(ratios):.3f} ({low:.3f} to {high:.3f}) of {len(ratios)} pairs", flush=True)


if __name__ == "__main__":
    main()
