#!/usr/bin/env python3
"""Draws ten clusters at 10 and 25 Gbit/s that collapse, and applies the first remedy that `fanin advise` has for each to Linux 6.12 in time travel.

A cluster collapses where it has at least a quarter more servers than the onset that the advice tells. The remedy is the first one whose lines
are for the servers and the client alone, or that gives the client's sockets a receive buffer. Lines are run as printed, on every server and on the
client, and read back by those that verify; the client program sets the buffer. Each cluster is measured in four variants, as it is and with
the remedy: as drawn, with 5 us of service jitter, with another order of requests, with the port 0.3 % slower. The remedy has to be better in the mean, and its gain within 30 % of what was predicted
over the same variants. Exit 1 where it is better at fewer than ten of ten, or as predicted at fewer than eight.
"""

import argparse
import dataclasses
import json
import pathlib
import random
import re
import shlex
import statistics
import subprocess
import sys

from advise import AS_PREDICTED, FANIN, changed, on_hosts
from instant import cluster_of, point_of
from instant_machine import measure

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCENARIO = "bench/scenarios/linux-instant.toml"
CLUSTERS, AS_GOOD_AS_PREDICTED = 10, 0.8
VARIANTS = ({}, {"host.service_jitter": "5 us"}, {}, {"slower": 0.003})
ORDERS = (0, 0, 1, 0)


def draw(chance):
    """Settings of a cluster, and its servers."""
    rate = chance.choice([10, 25])
    settings = {
        "link.rate": f"{rate} Gbit/s", "link.delay": chance.choice(["0 s", "2 us", "6 us", "10 us"]),
        "switch.buffer": f"{1024 * chance.choice([64, 128, 256, 512, 1024]) - 1514} B",
        "workload.fragment": f"{chance.choice([8, 16, 32, 64, 128])} KiB", "workload.duration": "1 s",
        "workload.request_gap": chance.choice(["0 s", "1 us"]), "tcp.rto_min": "200 ms"}
    return settings, chance.randint(8, 96)


def words(settings):
    return [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]


def ask(command):
    done = subprocess.run([FANIN, *command, "--json"], cwd=ROOT, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return json.loads(done.stdout)


def receive_buffer(remedy):
    """The SO_RCVBUF that a remedy's lines ask for; None where they ask the application for something else, or for nothing."""
    asked = [line["line"] for line in remedy["apply"] if line["where"] == "application"]
    found = re.search(r"setsockopt\(SO_RCVBUF, (\d+)\)", asked[0]) if len(asked) == 1 else None
    return found and int(found[1])


def first_for_linux(told):
    """The first remedy that this machine can take."""
    return next((remedy for remedy in told["remedies"] if remedy["apart"] is None and (on_hosts(remedy) or only_buffer(remedy))), None)


def only_buffer(remedy):
    return receive_buffer(remedy) is not None and {line["where"] for line in remedy["apply"]} <= {"servers", "client", "application"}


def clusters(seed):
    """Clusters that collapse, each with its advice and its first remedy for Linux."""
    chance, found = random.Random(seed), 0
    while found < CLUSTERS:
        settings, servers = draw(chance)
        told = ask(["advise", SCENARIO, "--servers", str(servers), "--budget", "60M", *words(settings)])
        remedy = first_for_linux(told)
        if told["today"]["impaired"] and told["onset"] and servers >= 1.25 * told["onset"] and remedy:
            found += 1
            yield settings, servers, told, remedy


def variants(settings):
    """A cluster's settings in each variant."""
    for variant in VARIANTS:
        rate = float(settings["link.rate"].split()[0]) * (1 - variant.get("slower", 0))
        jitter = {key: value for key, value in variant.items() if key != "slower"}
        yield settings | jitter | ({"link.client_rate": f"{round(rate * 1e6)} kbit/s"} if "slower" in variant else {})


def points_of(settings, servers, remedy):
    """A cluster's variants on the machine: as they are, then with the remedy."""
    for each in (None, remedy):
        for variant, order in zip(variants(settings), ORDERS):
            cluster = cluster_of(ROOT / SCENARIO, variant)
            point = point_of(cluster, cluster.schemes[0], servers, order=order)
            yield dataclasses.replace(changed(point, each), receive_buffer=receive_buffer(each) or 0) if each else point


def predicted(command, settings):
    """The goodput that a command gives, over the variants. All servers are in one kernel, whose ticks are theirs."""
    rows = [ask(shlex.split(command)[1:] + words(variant | {"tcp.ticks_together": "true"}))["rows"][0] for variant in variants(settings)]
    return statistics.mean(row["goodput_mbps"]["mean"] for row in rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, help="what draws the clusters")
    found = list(clusters(parser.parse_args().seed))
    points = [point for settings, servers, _, remedy in found for point in points_of(settings, servers, remedy)]
    measured, kernel = [None] * len(points), None
    for index, figures, kernel in measure(points):
        measured[index] = figures["goodput_mbps"] if figures else None
    if None in measured:
        raise SystemExit(f"advise-check: {measured.count(None)} of {len(measured)} runs failed")
    print(f"Gains, by fanin and on Linux {kernel}:")
    better = near = 0
    for i, (settings, servers, told, remedy) in enumerate(found):
        of_it = measured[len(VARIANTS) * 2 * i:len(VARIANTS) * 2 * (i + 1)]
        before, after = of_it[:len(VARIANTS)], of_it[len(VARIANTS):]
        mine = [predicted(command, settings) for command in (told["today"]["run"], remedy["run"])]
        gains = mine[1] / mine[0], statistics.mean(after) / statistics.mean(before)
        is_better, is_near = gains[1] > 1, abs(gains[1] / gains[0] - 1) <= AS_PREDICTED
        better, near = better + is_better, near + is_near
        said = " ".join(f"{key.split('.')[1]}={value}" for key, value in settings.items() if key != "workload.duration")
        print(f"{'better' if is_better else 'NO BETTER'}, {'as predicted' if is_near else 'NOT AS PREDICTED'}: {remedy['says']}: {gains[0]:.2f} times "
              f"predicted ({mine[0]:.0f} to {mine[1]:.0f} Mbit/s), {gains[1]:.2f} measured ({min(before):.0f}-{max(before):.0f} to "
              f"{min(after):.0f}-{max(after):.0f}); {servers} servers, onset {told['onset']}, {said}")
    print(f"better at {better} of {len(found)}, gain as predicted at {near} of {len(found)}")
    sys.exit(better < len(found) or near < AS_GOOD_AS_PREDICTED * len(found))


if __name__ == "__main__":
    main()
