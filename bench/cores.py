#!/usr/bin/env python3
"""How much sooner a large run ends on several cores: a shuffle among 1,000 hosts in 25 racks, links of 5 us, one core and several in turn.

Prints the ratio of wall times, pair by pair, with the median; the tables must be the same. It judges nothing else: on a machine with
other work the ratio says little.

    cores.py [--cores N] [--rounds N] [--pairs SHARE]
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
NETWORK = ["fabric.racks=25", "fabric.hosts_per_rack=40", "fabric.spines=8", "fabric.uplink_rate=40 Gbit/s", "link.rate=10 Gbit/s",
           "link.delay=5 us", "workload.start_jitter=5 ms"]


def timed(cores, pairs):
    """Elapsed seconds of the program, and its output."""
    sets = [word for key in [*NETWORK, f"workload.pairs={pairs}"] for word in ("--set", key)]
    command = [ROOT / "target/release/fanin", "run", ROOT / "scenarios/bench-shuffle.toml", "--scheme", "newreno", "--fan-in", "999", "--cores", str(cores),
               *sets, "--json", "--no-cache"]
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True)
    took = time.monotonic() - began
    if done.returncode:
        sys.exit(f"cores: {done.stderr}")
    told = json.loads(done.stdout)
    return took, (told["totals"], told["ports"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pairs", default="0.1", help="of all pairs of hosts")
    asked = parser.parse_args()
    ratios = []
    for turn in range(asked.rounds):
        (one, tables), (several, others) = timed(1, asked.pairs), timed(asked.cores, asked.pairs)
        if tables != others:
            sys.exit("cores: the tables differ")
        ratios.append(one / several)
        print(f"  {turn + 1}: {one:.2f} s on one core, {several:.2f} s on {asked.cores}: {ratios[-1]:.2f}", flush=True)
    print(f"{asked.cores} cores: {statistics.median(ratios):.2f} times as fast, from {min(ratios):.2f} to {max(ratios):.2f}")


if __name__ == "__main__":
    main()
