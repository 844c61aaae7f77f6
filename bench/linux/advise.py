#!/usr/bin/env python3
"""Draws two clusters at random that collapse, and applies the first Linux remedy that `fanin advise` has for each, on a real kernel.

A cluster collapses where it has at least a quarter more servers than the onset that the advice tells. It is measured as it is and
with the remedy's own lines, as printed, run by the machine's shell on every server and on the client, each twice, the second time
with the port 1 % faster. The remedy has to be better than today, every time, and its gain within 30 % of what was predicted. The
lines of DCTCP are run and read back, too, which namespaces of a machine without the module cannot do. Exit 1 where one does not hold.
"""

import argparse
import dataclasses
import json
import random
import shlex
import statistics
import subprocess
import sys

import pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from figures import FANIN
from machine import BUILD, Point, measure

CLUSTERS = 2
AS_PREDICTED = 0.3
SCHEMES = {"cubic": "cubic", "reno": "newreno"}
# Addresses that the lines name, and those of the machine.
ADDRESSES = {"192.0.2.1/32": "10.91.254.1/32", "198.51.100.0/24": "10.91.0.0/16"}
SCENARIO = """# bench/scenarios/linux-servers.toml, with other figures.
schemes = ["{scheme}"]
[link]
rate = "{server} kbit/s"
client_rate = "{port} kbit/s"
delay = "{delay} ns"
framing = "14 B"
[switch]
buffer = "{buffer} B"
[host]
buffer = "none"
service_time = "20 us"
service_jitter = "20 us"
[tcp]
profile = "linux-6.1"
rto_min = "{rto_min} ms"
[workload]
kind = "barrier"
fragment = "{sru} B"
request = "4 B"
request_gap = "300 us"
warm_up = "2 rounds"
duration = "3 s"
[sweep]
fan_in = [{servers}]
"""


def draw(chance):
    port = chance.randint(50, 300)
    return Point(
        senders=chance.randint(4, 48), law=chance.choice(list(SCHEMES)), rto_min_ms=200, port_kbit=1000 * port,
        server_kbit=min(300_000, round(1000 * port * chance.uniform(1, 6))), delay_us=chance.randint(0, 500) // 8 * 8,
        buffer=1024 * chance.randint(32, 256), sru=1024 * chance.randint(8, 128))


def advised(point, *more):
    """Advice for a point."""
    BUILD.mkdir(parents=True, exist_ok=True)
    name = f"advise-{point.law}-{point.senders}-{point.port_kbit}-{point.server_kbit}-{point.delay_us}-{point.buffer}-{point.sru}.toml"
    # The delay is on the way of requests and ACKs alone: a round trip crosses four links here.
    (BUILD / name).write_text(SCENARIO.format(
        scheme=SCHEMES[point.law], server=point.server_kbit, port=point.port_kbit, delay=10_000 + point.delay_us * 250,
        buffer=point.buffer - 1514, rto_min=point.rto_min_ms, sru=point.sru, servers=point.senders))
    done = subprocess.run([FANIN, "advise", name, "--json", "--budget", "60M", *more], cwd=BUILD, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return json.loads(done.stdout)


def on_hosts(remedy):
    """Whether lines on hosts alone make a remedy, without the programs of `fanin kernel`, which the machine lacks."""
    return all(line["where"] in ("servers", "client") and "fanin kernel" not in line["line"] for line in remedy["apply"])


def first_for_linux(told):
    """The first remedy that lines on hosts alone make."""
    return next((remedy for remedy in told["remedies"] if remedy["apart"] is None and on_hosts(remedy)), None)


def clusters(seed):
    """Clusters that collapse, each with its advice and its first remedy for Linux."""
    chance, found = random.Random(seed), 0
    while found < CLUSTERS:
        point = draw(chance)
        told = advised(point)
        remedy = first_for_linux(told)
        if told["today"]["impaired"] and told["onset"] and point.senders >= 1.25 * told["onset"] and remedy:
            found += 1
            yield point, told, remedy


def changed(point, remedy):
    """The point with a remedy's commands, with the machine's addresses, and the commands that verify them."""
    def lines(place):
        lines = "".join(line["line"] + "\n" for what in ("apply", "verify") for line in remedy[what] if line["where"] == place)
        for printed, there in ADDRESSES.items():
            lines = lines.replace(printed, there)
        return lines
    return dataclasses.replace(point, changes=tuple((place, lines(place)) for place in ("servers", "client") if lines(place)))


def dctcp(found):
    """DCTCP's lines at the first of the clusters where it helps; None where it helps none."""
    for point, _, _ in found:
        remedy = next(iter(advised(point, "--remedies", "dctcp")["remedies"]), None)
        if remedy:
            return dataclasses.replace(changed(point, remedy), red=True, seconds=1)
    return None


def predicted(command, port_kbit):
    """The goodput that a command gives, with the port at another rate."""
    words = shlex.split(command)[1:] + ["--set", f"link.client_rate={port_kbit} kbit/s", "--json"]
    done = subprocess.run([FANIN, *words], cwd=BUILD, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    (row,) = json.loads(done.stdout)["rows"]
    return row["goodput_mbps"]["mean"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, help="what draws the clusters")
    found = list(clusters(parser.parse_args().seed))
    points = []
    for point, _, remedy in found:
        for each in (point, changed(point, remedy)):
            points += [each, dataclasses.replace(each, port_kbit=each.port_kbit * 101 // 100)]
    with_dctcp = dctcp(found)
    figures, kernel = measure(points + [with_dctcp] * bool(with_dctcp))
    failed = 0
    print(f"\nGains, by fanin and on Linux {kernel}:")
    for i, (point, told, remedy) in enumerate(found):
        ports = [each.port_kbit for each in points[4 * i:4 * i + 2]]
        mine = [statistics.mean(predicted(command, port) for port in ports) for command in (told["today"]["run"], remedy["run"])]
        theirs = [one["goodput_mbps"] for one in figures[4 * i:4 * i + 4]]
        before, after = theirs[:2], theirs[2:]
        gains = mine[1] / mine[0], statistics.mean(after) / statistics.mean(before)
        better, near = min(after) > max(before), abs(gains[1] / gains[0] - 1) <= AS_PREDICTED
        failed += not (better and near)
        print(f"{'holds' if better and near else 'FAILS'}: {remedy['says']}: {gains[0]:.2f} times predicted ({mine[0]:.1f} to {mine[1]:.1f} Mbit/s), "
              f"{gains[1]:.2f} measured ({before[0]} and {before[1]} to {after[0]} and {after[1]}): {'better' if better else 'NO BETTER'}, "
              f"{gains[1] / gains[0] - 1:+.0%}; {point.law}, {point.senders} servers at {point.server_kbit / 1000:.0f} into "
              f"{point.port_kbit / 1000:.0f} Mbit/s, {point.delay_us} us, buffer {point.buffer // 1024} KiB, SRU {point.sru // 1024} KiB, onset {told['onset']}; "
              f"CPU {max(one['cpu_percent'] for one in figures[4 * i:4 * i + 4])} %")
    print(f"{len(found) - failed} of {len(found)} hold")
    if with_dctcp:
        said = figures[-1]["said"]
        read_back = all(f"{host}: {value}" in said for host in ("h1", "client") for value in ("dctcp", "1"))
        failed += not read_back
        print(f"{'holds' if read_back else 'FAILS'}: the lines of DCTCP are read back: {'; '.join(said)}")
    else:
        print("skipped: the lines of DCTCP: it helps neither")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
