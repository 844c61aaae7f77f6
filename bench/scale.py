#!/usr/bin/env python3
"""How time and memory grow with the network: fat trees from 128 to 27,648 hosts, each of which sends 64 KiB to two others, on one core and on
two; and an all-to-all of 1,024 hosts spread over 101,306. The last row has a budget of memory, the others judge nothing.

    scale.py [--most ARITY]
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHUFFLE = """
schemes = ["dctcp"]
[link]
rate = "10 Gbit/s"
delay = "2 us"
[fabric]
kind = "fat-tree"
arity = {arity}
[switch]
buffer = "200 KB"
[workload]
kind = "shuffle"
fragment = "64 KiB"
start_jitter = "5 ms"
pairs = {pairs:.9f}
duration = "10 s"
"""
ALL_TO_ALL = """
schemes = ["dcqcn"]
[link]
rate = "100 Gbit/s"
delay = "1 us"
[fabric]
kind = "fat-tree"
arity = {arity}
placement = "spread"
[switch]
shared_buffer = "32 MiB"
[workload]
kind = "all-to-all"
fragment = "4 KB"
queries = 1
duration = "10 s"
"""
ARITIES = [8, 16, 32, 48]
LARGEST = 74
RECEIVERS = 2
GROUP = 1_024
GROUP_MB = 4_000


def run(text, scheme, servers, cores):
    """Elapsed seconds of the program, its peak memory in MB, and its output."""
    with tempfile.TemporaryDirectory() as folder:
        file, said = pathlib.Path(folder, "scale.toml"), pathlib.Path(folder, "said.json")
        file.write_text(text)
        command = [ROOT / "target/release/fanin", "run", file, "--scheme", scheme, "--fan-in", str(servers), "--seed", "1",
                   "--cores", str(cores), "--no-cache", "--json"]
        began = time.monotonic()
        with said.open("w") as output, subprocess.Popen(command, stdout=output) as process:
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        took = time.monotonic() - began
        if process.returncode:
            sys.exit(f"scale: the program failed for {servers + 1} hosts")
        return took, used.ru_maxrss / 1e3, json.loads(said.read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=LARGEST, help="arity of the largest tree")
    asked = parser.parse_args()
    print(f"{'hosts':>8} {'connections':>11} {'data packets':>12} {'one core, s':>11} {'two, s':>8} {'packets/s':>10} {'events':>7} {'memory':>8}")
    for arity in [arity for arity in ARITIES if arity <= asked.most]:
        hosts = arity**3 // 4
        text = SHUFFLE.format(arity=arity, pairs=RECEIVERS / (hosts - 1))
        one_s, memory, one = run(text, "dctcp", hosts - 1, 1)
        two_s, _, two = run(text, "dctcp", hosts - 1, 2)
        if any(one[table] != two[table] for table in ("totals", "ports")):
            sys.exit("scale: the tables differ")
        packets, engine = one["totals"]["data_packets"], one["engine"]
        print(f"{hosts:8,} {RECEIVERS * hosts:11,} {packets:12,} {one_s:11.2f} {two_s:8.2f} {packets / engine['cpu_s']:10,.0f} "
              f"{engine['events'] / packets:7.2f} {memory:5.0f} MB", flush=True)
    took, memory, told = run(ALL_TO_ALL.format(arity=asked.most), "dcqcn", GROUP - 1, 1)
    print(f"all-to-all of {GROUP:,} among {asked.most ** 3 // 4:,} hosts: {told['totals']['data_packets']:,} data packets, {took:.1f} s, {memory:.0f} MB")
    if memory > GROUP_MB:
        sys.exit(f"scale: more than {GROUP_MB} MB")


if __name__ == "__main__":
    main()
