#!/usr/bin/env python3
"""Windows granted by the receiver beside the best fixed window and ICTCP, simulated.

First at the clusters of `make advise-check`: the 99th percentile of a round, and the rate of a background flow that has the link for itself in
pauses of 20 ms between rounds. Then at 2 to 512 senders of `scenarios/fixed-fragment.toml`, with three round trips and two
buffers: goodput. Grants have the queues that the advice tries; of these and of fixed windows, the best counts. Exits with 1 where grants miss a target: a round of at most 1.2 times the best fixed window's, a background flow within 10 % of its rate without rounds,
and at least 98 % of ICTCP's goodput.
"""

import argparse
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "linux")]

from advise_instant import CLUSTERS, SCENARIO, ask, draw, words
from random import Random

SEGMENTS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128)
QUEUES = (8, 4, 2)
SENDERS = (2, 4, 8, 16, 32, 64, 128, 256, 512)
DELAYS = ("5 us", "25 us", "100 us")
BUFFERS = (64, 256)
AS_FAST, OF_ITS_RATE, OF_ICTCP = 1.2, 0.9, 0.98


def clusters(seed):
    """Settings and servers of the clusters of `make advise-check`, which the advice finds to collapse."""
    chance, found = Random(seed), 0
    while found < CLUSTERS:
        settings, servers = draw(chance)
        told = ask(["advise", SCENARIO, "--servers", str(servers), "--budget", "60M", "--remedies", "rto-min", *words(settings)])
        if told["today"]["impaired"] and told["onset"] and servers >= 1.25 * told["onset"]:
            found += 1
            yield settings, servers


def rows(scenario, schemes, servers, settings, seeds=3):
    command = ["compare", scenario, "--schemes", schemes, "--fan-in", servers, "--seeds", str(seeds), *words(settings)]
    return ask(command)["rows"]


def row(scheme, servers, settings):
    (found,) = rows(SCENARIO, scheme, str(servers), settings)
    return found


def with_windows(settings):
    """The settings with each fixed window."""
    return [settings | {"tcp.receive_window": f"{1448 * segments} B"} for segments in SEGMENTS]


def with_queues(settings):
    """The settings with each queue of grants, and an ACK for every segment."""
    buffer = int(settings["switch.buffer"].split()[0])
    return [settings | {"grants.queue": f"{buffer // part} B", "grants.turn": "1", "tcp.delayed_ack": "1"} for part in QUEUES]


def p99(found):
    return found["qct_ms"]["p99"] or float("inf")


def of_background(found):
    return found["background"]["goodput_mbps"]


def at_clusters(seed):
    """The number of clusters that miss a target."""
    missed = 0
    print("a round's 99th percentile in ms, and a background flow's rate in Mbit/s with pauses between rounds, by cluster:")
    for settings, servers in clusters(seed):
        schemes = {"today": [("cubic", settings)], "ICTCP": [("cubic+ictcp", settings)],
                   "fixed": [("cubic", each) for each in with_windows(settings)],
                   "grants": [("cubic+grants", each) for each in with_queues(settings)]}
        told, rates = {}, {}
        for name, choices in schemes.items():
            best, scheme, chosen = min(((p99(row(scheme, servers, each)), scheme, each) for scheme, each in choices), key=lambda found: found[0])
            told[name] = best
            idle = chosen | {"workload.background": "1", "workload.pause": "20 ms"}
            rates[name] = of_background(row(scheme, servers, idle))
        link = float(settings["link.rate"].split()[0]) * 1e3
        rounds_take = servers * int(settings["workload.fragment"].split()[0]) * 1024 * 8 / link / 1e3
        fair = link * 1448 / 1514 * 20 / (20 + rounds_take)
        is_fast, is_fair = told["grants"] <= AS_FAST * told["fixed"], rates["grants"] >= OF_ITS_RATE * fair
        missed += not (is_fast and is_fair)
        said = " ".join(f"{key.split('.')[1]}={value}" for key, value in settings.items() if key != "workload.duration")
        print(f"{'' if is_fast else 'SLOW '}{'' if is_fair else 'UNFAIR '}"
              + ", ".join(f"{name} {told[name]:.3g} ms, {rates[name]:.0f}" for name in schemes)
              + f" of {fair:.0f}; {servers} servers, {said}", flush=True)
    return missed


def at_senders():
    """The number of points at which ICTCP is ahead."""
    missed = 0
    print("goodput in Mbit/s, grants and ICTCP, by senders:", *SENDERS)
    for delay in DELAYS:
        for buffer in BUFFERS:
            settings = {"link.delay": delay, "switch.buffer": f"{buffer << 10} B", "workload.duration": "2 s", "grants.queue": f"{buffer << 9} B"}
            found = rows("scenarios/fixed-fragment.toml", "newreno+grants,newreno+ictcp", ",".join(map(str, SENDERS)), settings, 2)
            rate = {(each["scheme"], each["point"]["fan_in"]): each["goodput_mbps"]["mean"] for each in found}
            pairs = [(rate["newreno+grants", n], rate["newreno+ictcp", n]) for n in SENDERS]
            behind = sum(grants < OF_ICTCP * ictcp for grants, ictcp in pairs)
            missed += behind
            print(f"{delay}, {buffer} KiB: " + " ".join(f"{grants:.0f}/{ictcp:.0f}" for grants, ictcp in pairs) + f"; behind at {behind}", flush=True)
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, help="draws the clusters")
    parser.add_argument("--only", choices=["clusters", "senders"], help="one of the two parts")
    options = parser.parse_args()
    missed = at_clusters(options.seed) if options.only != "senders" else 0
    ahead = at_senders() if options.only != "clusters" else 0
    print(f"targets missed at {missed} clusters and {ahead} points")
    sys.exit(missed + ahead > 0)


if __name__ == "__main__":
    main()
