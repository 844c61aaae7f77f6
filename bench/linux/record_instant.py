#!/usr/bin/env python3
"""Records a grid of points on Linux 6.12 in time travel, and writes bench/reference/linux-instant-6.12.json: some 40 minutes of one core.

A seed draws families: a scheme, rates, buffer, bytes a server, RTOmin, delayed ACKs or quickack, persistent or new connections. Each is run
with numbers of servers from half of those whose first windows or responses fill the buffer to four times as many beyond. A point is run in
six variants, which stand in for what no two clusters share; what the kernel does at it is the range over them. What is measured is kept
in target/linux-instant/record.jsonl at once: run it again to go on. --write writes what there is so far.
"""

import argparse
import json
import pathlib
import random
import sys

from instant import cluster_of, point_of, port_rate, quantity
from instant_machine import BUILD, measure

HERE = pathlib.Path(__file__).resolve().parent
SCENARIO = HERE.parent / "scenarios" / "linux-instant.toml"
REFERENCE = HERE.parent / "reference" / "linux-instant-6.12.json"
RECORD = BUILD / "record.jsonl"
SEED, FAMILIES = 20261125, 44
BUFFERS_KIB = [64, 128, 256, 512, 1024, 2048]
LEVELS = (0.5, 1, 2, 4)
# The machine's addresses end at 254; four times the collapse of 2 MiB is beyond them.
MOST_SERVERS = 240
# A boot takes a second or two; only a machine that hangs loses its measurements.
POINTS_A_BOOT = 4
# Bytes that the machine transfers in about a second; no round is larger than half of them.
RUN_BYTES, ROUND_BYTES = 24 << 20, 12 << 20
VARIANTS = ["base", "jitter-5us", "jitter-50us", "order", "rate-0.3%", "rate-0.6%"]
# The DCTCP paper's K by rate in Gbit/s, in bytes of frames.
MARKS_AT = {1: 20 * 1514, 10: 65 * 1514, 25: 140 * 1514}


def family(chance, scheme, rate, rto_min, buffers):
    """Settings of a family, and the number of servers at which it may collapse."""
    while True:
        buffer, size = 1024 * chance.choice(buffers), 1024 * chance.choice([4, 16, 32, 64, 128, 256, 1024])
        onset = buffer / min(size, 16 * 1460)
        if 2 <= onset <= MOST_SERVERS / 2 and size * min(MOST_SERVERS, onset * LEVELS[-1]) <= ROUND_BYTES:
            break
    settings = {
        "link.rate": f"{rate} Gbit/s", "switch.buffer": f"{buffer - 1514} B", "workload.fragment": f"{size} B", "tcp.rto_min": f"{rto_min} ms",
        "workload.duration": {200: "2 s", 10: "500 ms", 4: "300 ms"}[rto_min], "link.delay": chance.choice(["0 s", "6 us"])}
    if chance.random() < 0.2 and rate < 25:
        settings |= {"link.client_rate": f"{rate} Gbit/s", "link.rate": f"{ {1: 10, 10: 25}[rate]} Gbit/s"}
    # A real client writes a request in microseconds: servers that were asked first have a start.
    if chance.random() < 0.4:
        settings["workload.request_gap"] = chance.choice(["1 us", "3 us"])
    if chance.random() < 0.25:
        settings["tcp.delayed_ack"] = 1
    if chance.random() < 0.25:
        settings["workload.connections"] = "new"
    if scheme.startswith("dctcp"):
        least = min(MARKS_AT[rate], buffer // 2)
        settings |= {"red.min_th": f"{least} B", "red.max_th": f"{least + 1} B", "red.max_p": 1, "red.weight": "1/2", "red.gentle": False}
    if "codel" in scheme:
        settings |= chance.choice([{}, {"codel.target": "100 us", "codel.interval": "2 ms"}])
    return settings, onset


def grid(seed=SEED, families=FAMILIES):
    """Points, each a scheme, a number of servers and settings, in an order of which any beginning is a spread."""
    chance, points = random.Random(seed), []
    rates, minima = [1, 10, 25], [200, 10, 4]
    schemes = ["cubic", "cubic", "newreno", "dctcp+red+ecn", "cubic+codel+ecn"]
    for i in range(families):
        scheme, rate, rto_min = schemes[i % 5], rates[i // 5 % 3], minima[(i + i // 15) % 3]
        settings, onset = family(chance, scheme, rate, rto_min, BUFFERS_KIB)
        servers = sorted({min(MOST_SERVERS, max(1, round(onset * level))) for level in LEVELS})
        points += [{"scheme": scheme, "fan_in": n, "set": settings} for n in servers]
    chance.shuffle(points)
    # Few draws have 2 MiB, since rounds have to be small.
    for i, scheme in enumerate(["cubic", "newreno", "dctcp+red+ecn", "cubic+codel+ecn"]):
        settings, onset = family(chance, scheme, [25, 10, 25, 1][i], [10, 10, 4, 200][i], BUFFERS_KIB[-1:])
        points += [{"scheme": scheme, "fan_in": n, "set": settings} for n in (round(onset / 2), round(onset), MOST_SERVERS)]
    return points


def machine_point(point, variant):
    """A point of the grid as the machine takes it."""
    cluster = cluster_of(SCENARIO, point["set"])
    port, size = port_rate(cluster), quantity(cluster.keys["workload.fragment"])
    more = {
        "base": {}, "jitter-5us": {"service_jitter_ns": 5_000}, "jitter-50us": {"service_jitter_ns": 50_000}, "order": {"order": 1},
        "rate-0.3%": {"port": port * 997 // 1000}, "rate-0.6%": {"port": port * 994 // 1000}}[variant]
    return point_of(cluster, point["scheme"], point["fan_in"], most=max(8, RUN_BYTES // (size * point["fan_in"])), **more)


def key_of(point, variant):
    return json.dumps([point["scheme"], point["fan_in"], point["set"], variant], sort_keys=True)


def recorded():
    """Recorded measurements by key."""
    lines = RECORD.read_text().splitlines() if RECORD.exists() else []
    return {line["key"]: line for line in map(json.loads, lines)}


def keep(key, figures, kernel):
    with RECORD.open("a") as file:
        file.write(json.dumps({"key": key, "figures": figures, "kernel": kernel}) + "\n")


def record(points):
    """Measures missing points, a few per boot."""
    done = recorded()
    missing = [(point, variant) for point in points for variant in VARIANTS if key_of(point, variant) not in done]
    while missing:
        batch, reached = missing[:POINTS_A_BOOT * len(VARIANTS)], -1
        for reached, figures, kernel in measure([machine_point(*each) for each in batch]):
            keep(key_of(*batch[reached]), figures, kernel)
        if reached + 1 < len(batch):
            print(f"linux-instant: the machine hung at {key_of(*batch[reached + 1])}", file=sys.stderr, flush=True)
            keep(key_of(*batch[reached + 1]), None, None)
            reached += 1
        missing = missing[reached + 1:]
        print(f"linux-instant: {len(missing)} runs of {len(points) * len(VARIANTS)} to go", flush=True)


def write(points):
    """The reference: each point with the measurements of every variant."""
    done, rows, kernels = recorded(), [], set()
    for point in points:
        lines = {variant: done.get(key_of(point, variant)) for variant in VARIANTS}
        if all(line and line["figures"] for line in lines.values()):
            rows.append(point | {"kernel": {variant: line["figures"] for variant, line in lines.items()}})
            kernels |= {line["kernel"] for line in lines.values()}
    header = {
        "system": f"Linux {', '.join(sorted(kernels))} (Debian's source, User-mode Linux, time-travel=inf-cpu, HZ 250), crates/laboratory/testbed/machines/instant.sh",
        "scenario": "bench/scenarios/linux-instant.toml, with what each point sets", "seed": SEED,
        "variants": "base; service jitter of 5 and 50 us; another order of requests; the port 0.3 and 0.6 % slower",
        "kernel": "goodput in Mbit/s over rounds' own time, rounds in ms; timeouts, probes, retransmissions and drops with two rounds before"}
    REFERENCE.write_text(json.dumps({"header": header}, indent=1)[:-2] + ',\n "points": [\n'
                         + ",\n".join("  " + json.dumps(row) for row in rows) + "\n ]\n}\n")
    print(f"linux-instant: {len(rows)} of {len(points)} points written to {REFERENCE.relative_to(HERE.parent.parent)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write what there is and measure nothing")
    points = grid()
    if not parser.parse_args().write:
        BUILD.mkdir(parents=True, exist_ok=True)
        record(points)
    write(points)


if __name__ == "__main__":
    main()
