#!/usr/bin/env python3
"""Draws three points at random, measures each twice on the kernel, the second time with the port 1 % faster, and holds fanin against both.

A point holds where fanin's mean goodput over its seeds is within 20 % of what the two measurements span; and where these are
over 15 % apart, if single seeds of fanin's reach them. Exit 1 where one does not.
"""

import argparse
import dataclasses
import pathlib
import random
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from figures import RED, goodputs
from machine import Point, measure

SEEDS = 20
SCHEMES = {"cubic": "cubic", "reno": "newreno", "dctcp": "dctcp+red+ecn"}


def draw(seed):
    """Three points."""
    chance = random.Random(seed)
    for _ in range(3):
        port, law = chance.randint(50, 250), chance.choice(list(SCHEMES))
        yield Point(
            senders=chance.randint(2, 48), law=law, red=law == "dctcp", rto_min_ms=chance.choice([10, 200]),
            port_kbit=1000 * port, server_kbit=round(1000 * port * chance.uniform(1, 10)), delay_us=chance.randint(0, 500) // 8 * 8,
            buffer=1024 * chance.randint(32, 256), sru=1024 * chance.randint(16, 256))


def fanin(point):
    """fanin's goodput under each seed."""
    settings = [
        f"link.rate={point.server_kbit} kbit/s", f"link.client_rate={point.port_kbit} kbit/s",
        # The delay is on the way of requests and ACKs alone: a round trip crosses four links here.
        f"link.delay={10_000 + point.delay_us * 250} ns", f"switch.buffer={point.buffer - 1514} B", f"workload.fragment={point.sru} B",
        f"tcp.rto_min={point.rto_min_ms} ms", *(RED if point.red else [])]
    more = [word for setting in settings for word in ("--set", setting)]
    return goodputs("bench/scenarios/linux-servers.toml", SEEDS, "--schemes", SCHEMES[point.law], "--fan-in", point.senders, *more)


def holds(mine, theirs):
    """Whether fanin's seeds stand up to the measurements, and how."""
    low, high, mean = min(theirs), max(theirs), statistics.mean(mine)
    if 0.8 * low <= mean <= 1.2 * high:
        return True, "within 20 %"
    if high > 1.15 * low and min(mine) <= high and max(mine) >= low:
        return True, "the kernel scatters, and so do seeds"
    return False, f"{mean / (low if mean < low else high) - 1:+.0%}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, help="what draws the points")
    points = list(draw(parser.parse_args().seed))
    faster = [dataclasses.replace(point, port_kbit=point.port_kbit * 101 // 100) for point in points]
    figures, kernel = measure([each for pair in zip(points, faster) for each in pair])
    failed = 0
    print(f"\nfanin, {SEEDS} seeds (least to most), against Linux {kernel}, Mbit/s:")
    for i, point in enumerate(points):
        measured = figures[2 * i:2 * i + 2]
        mine, theirs = fanin(point), [one["goodput_mbps"] for one in measured]
        fine, why = holds(mine, theirs)
        failed += not fine
        print(f"{'holds' if fine else 'FAILS'}: {statistics.mean(mine):.1f} ({min(mine):.1f} to {max(mine):.1f}) against {theirs[0]} and {theirs[1]}: {why}; "
              f"{point.law}, {point.senders} servers at {point.server_kbit / 1000:.0f} into {point.port_kbit / 1000:.0f} Mbit/s, "
              f"{point.delay_us} us, buffer {point.buffer // 1024} KiB, SRU {point.sru // 1024} KiB, RTOmin {point.rto_min_ms} ms; "
              f"CPU {max(one['cpu_percent'] for one in measured)} %")
    print(f"{len(points) - failed} of {len(points)} hold")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
