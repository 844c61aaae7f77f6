#!/usr/bin/env python3
"""Cost of a multiget's algorithm and of a log in `fanin front`, which shares the processors with 8 memcacheds: 16 connections, gets of 100 keys.

Each setting has a front end before the same servers, and they take turns, pass after pass: gets a second are medians over the passes, CPU
times the least of them.

    settings.py [--passes N] [--seconds S]
"""

import argparse
import pathlib
import statistics
import subprocess
import tempfile

from front import FIRST, KEYS, LOAD, cpu, load
from stands import FANIN, ended, memcached, start

SERVERS, CONNECTIONS, A_GET = 8, 16, 100
LOG = '[log]\nfile = "{folder}/{number}.csv"\nshare = "{share}"\n'
SETTINGS = {
    "one-all": ("one-all", ""),
    "sliding-window": ("sliding-window", ""),
    "ictcp-window": ("ictcp-window", ""),
    "sliding-window, a log of one query in a hundred": ("sliding-window", LOG.replace("{share}", "1 %")),
    "sliding-window, a log of all queries": ("sliding-window", LOG.replace("{share}", "100 %")),
}


def main():
    """Prints a table."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--passes", type=int, default=7)
    asked.add_argument("--seconds", type=float, default=2)
    asked = asked.parse_args()
    ports = range(FIRST, FIRST + SERVERS)
    servers = ", ".join(f'"127.0.0.1:{port}"' for port in ports)
    with tempfile.TemporaryDirectory() as folder, ended([]) as processes:
        processes.extend(map(memcached, ports))
        fronts = {}
        for number, (name, (law, log)) in enumerate(SETTINGS.items(), start=FIRST + 100):
            config = pathlib.Path(folder) / f"{number}.toml"
            log = log.format(folder=folder, number=number)
            config.write_text(f'threads = 1\n{log}[[pool]]\nlisten = "127.0.0.1:{number}"\nmultiget = "{law}"\nservers = [{servers}]\n')
            processes.append(start(number, FANIN, "front", "--config", config))
            fronts[name] = (number, processes[-1].pid)
        subprocess.run([LOAD, "fill", f"127.0.0.1:{FIRST + 100}", str(KEYS)], check=True)
        rates, costs = {name: [] for name in fronts}, {name: [] for name in fronts}
        for turn in range(asked.passes):
            for name in list(fronts) if turn % 2 else reversed(fronts):
                port, pid = fronts[name]
                before = cpu(pid)
                figures = load(port, CONNECTIONS, A_GET, asked.seconds)
                rates[name].append(figures["requests"] / asked.seconds)
                costs[name].append((cpu(pid) - before) / figures["keys"] * 1e6)
    first = next(iter(fronts))
    print("| setting | gets a second | beside one-all | CPU s a million keys | beside one-all |")
    print("| --- | --- | --- | --- | --- |")
    for name in fronts:
        rate, least = statistics.median(rates[name]), min(costs[name])
        beside = [rate / statistics.median(rates[first]), least / min(costs[first])]
        print(f"| {name} | {rate:.0f} | {beside[0]:.2f} | {least:.2f} | {beside[1]:.2f} |")


if __name__ == "__main__":
    main()
