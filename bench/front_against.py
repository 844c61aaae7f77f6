#!/usr/bin/env python3
"""CPU a key of `fanin front` beside that of another build of it, before the same memcached servers, in turn.

    front_against.py OTHER [--passes N] [--seconds S] [--servers 8] [--connections 16,64] [--keys 1,100]

OTHER is the other build's program. Prints the ratio of each pair's CPU times, and their median. It judges nothing.
"""

import argparse
import statistics
import subprocess

from front import FIRST, KEYS, LOAD, cpu, load, numbers
from stands import FANIN, ended, front, memcached


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("other")
    parser.add_argument("--passes", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--servers", type=int, default=8)
    parser.add_argument("--connections", type=numbers, default=[16, 64])
    parser.add_argument("--keys", type=numbers, default=[1, 100])
    options = parser.parse_args()
    ports = range(FIRST, FIRST + options.servers)
    with ended([]) as processes:
        processes.extend(map(memcached, ports))
        programs = {FIRST + 101: FANIN, FIRST + 102: options.other}
        pids = {}
        for port, program in programs.items():
            processes.append(front(port, ports, "--threads", 1, program=program))
            pids[port] = processes[-1].pid
        subprocess.run([LOAD, "fill", f"127.0.0.1:{FIRST + 101}", str(KEYS)], check=True)
        for keys in options.keys:
            for connections in options.connections:
                ratios = []
                for turn in range(options.passes):
                    took = {}
                    for port in list(pids)[:: 1 if turn % 2 == 0 else -1]:
                        before = cpu(pids[port])
                        found = load(port, connections, keys, options.seconds)
                        took[port] = (cpu(pids[port]) - before) / found["keys"]
                    ratios.append(took[FIRST + 101] / took[FIRST + 102])
                text = " ".join(f"{ratio:.3f}" for ratio in sorted(ratios))
                print(f"{keys} keys, {connections} connections: median {statistics.median(ratios):.3f} of the other's CPU a key ({text})", flush=True)


if __name__ == "__main__":
    main()
