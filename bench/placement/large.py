#!/usr/bin/env python3
"""Time and memory of `fanin plan` with a large log: a million objects, a million queries of ten, 1,000 servers.

`large.py 10` has ten times as many objects and queries. Pages of eight objects, zipfian; two of a query's are others.
"""

import argparse
import itertools
import json
import pathlib
import random
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MILLION = 1_000_000
CLUSTER = """schemes = ["groups"]
[fabric]
kind = "leaf-spine"
racks = 20
hosts_per_rack = 51
spines = 4
[workload]
kind = "key_value"
fan_in = 1000
[key_value]
replicas = 3
replica_racks = "distinct"
server = "fifo"
[picc]
period = "2000 s"
memory = "100 GB"
"""


def queries(count):
    """`count` million queries over as many objects, each a list of object indexes."""
    rng = random.Random(1)
    pages = count * MILLION // 10
    sums = list(itertools.accumulate(1 / (rank + 1) ** 0.99 for rank in range(pages)))
    for _ in range(10 * count):
        for rank in rng.choices(range(pages), cum_weights=sums, k=MILLION // 10):
            page = rank * 7_919 % pages * 10
            yield {*range(page + 2, page + 10), rng.randrange(10 * pages), rng.randrange(10 * pages)}


def main():
    """Writes the log, plans, and prints time and memory."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("millions", nargs="?", type=int, default=1)
    asked.add_argument("--fanin", default=ROOT / "target/release/fanin")
    asked = asked.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log, cluster = pathlib.Path(folder) / "log.csv", pathlib.Path(folder) / "cluster.toml"
        cluster.write_text(CLUSTER)
        with open(log, "w", encoding="ascii") as file:
            file.write("time,query,key,size\n")
            for number, query in enumerate(queries(asked.millions)):
                file.writelines(f"{number / 1000:.3f},q{number},k{key},{20 + key % 1005}\n" for key in query)
        began = time.monotonic()
        done = subprocess.run([asked.fanin, "plan", log, "--cluster", cluster, "--json"], stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            sys.exit(done.returncode)
        took, used = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        told = json.loads(done.stdout)
        print(
            f"{asked.millions} million objects, {asked.millions} million queries: {took:.1f} s, {used.ru_utime + used.ru_stime:.1f} s of CPU, "
            f"{used.ru_maxrss / 1e6:.2f} GB; servers a query {told['servers_before']:.2f} before, {told['servers_after']:.2f} after"
        )


if __name__ == "__main__":
    main()
