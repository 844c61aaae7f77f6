#!/usr/bin/env python3
"""Compare diagnoses of captures of the real kernel (bench/linux), at the client and at the router, with the kernel's counters.

Three points drawn by --seed: stalls against the timeouts that nstat counted, the buffer from the router's capture and within its range from the
client's, RTOmin; and what the scenario that was found says of a point with another number of servers, which was measured too. And five kinds
of captures without incast, none of which may be called one, with their causes. --keep leaves the captures in a folder.
"""

import argparse
import dataclasses
import gzip
import json
import pathlib
import random
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench" / "linux"))

from machine import Point, measure


SCATTER = [99, 100, 101]


def draw(seed):
    """Points, each with one of other servers behind it."""
    chance = random.Random(seed)
    for _ in range(3):
        port = chance.randint(80, 220)
        point = Point(
            senders=chance.randint(10, 32), law=chance.choice(["cubic", "reno"]), rto_min_ms=chance.choice([10, 50, 200]), port_kbit=1000 * port,
            server_kbit=1000 * port * chance.randint(3, 6), delay_us=chance.randint(0, 200) // 8 * 8, buffer=1024 * chance.randint(40, 160),
            sru=1024 * chance.choice([16, 32, 64]), seconds=2, captured=True)
        yield point
        other = max(4, round(point.senders * chance.choice([0.5, 0.75, 1.5])))
        # The kernel scatters by phases: a hundredth more or less of the port's rate shows how much.
        for percent in SCATTER:
            yield dataclasses.replace(point, senders=other, seconds=4, captured=False, port_kbit=point.port_kbit * percent // 100)


def calm():
    """Points without incast, each with the cause of its waits."""
    point = Point(senders=8, law="cubic", port_kbit=400_000, buffer=4 << 20, sru=65_536, seconds=2, captured=True)
    # The shell would take its own of the same name.
    lossy = "/usr/sbin/tc qdisc replace dev eth0 parent 1:1 handle 20: netem loss 0.4% limit 1000\n"
    small = "sysctl -qw net.ipv4.tcp_rmem='4096 16384 32768'\n"
    yield "bulk transfer", dataclasses.replace(point, senders=1, sru=4 << 20, buffer=262_144), ["none"]
    yield "lossy link", dataclasses.replace(point, changes=(("servers", lossy),)), ["link-fault"]
    yield "slow server", dataclasses.replace(point, changes=(("servers", "echo ANSWER_PAUSE_MS=70 >/run/fanin-slow\n"),)), ["slow-server"]
    yield "overloaded client", dataclasses.replace(
        point, sru=262_144, changes=(("client", small + "echo READ_PAUSE_MS=15 >/run/fanin-slow\n"),)), ["zero-window"]
    yield "web browsing", dataclasses.replace(
        point, senders=3, sru=16_384, changes=(("client", "echo ROUND_PAUSE_MS=150 >/run/fanin-slow\n"),)), ["none"]


def called(program, figures, folder):
    """How many of the captures without incast are called one, and how many have their cause."""
    wrong, right = 0, 0
    for (name, _, causes), figure in zip(calm(), figures):
        file = folder / f"{name.replace(' ', '-')}.pcap"
        file.write_bytes(gzip.decompress(figure["captures"]["client"]))
        verdict = fanin(program, "diagnose", file, "--json")["verdict"]
        wrong += verdict["incast"] is True
        right += verdict["cause"] in causes
        print(f"{name}: {verdict['cause']}: {verdict['says']}")
    print(f"of {len(figures)} captures without incast {wrong} are called one, {right} have their cause")
    return wrong + (right < 4)


def fanin(program, *arguments):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"fanin {' '.join(map(str, arguments))}: {done.stderr[-500:]}")
    return json.loads(done.stdout)


def within(name, seen, expected, share):
    fine = seen is not None and abs(seen - expected) <= share * expected
    print(f"  {'holds' if fine else 'FAILS'}: {name}: {seen} where {expected} was set or counted")
    return fine


def held(program, point, figures, others, folder):
    """How many of the bounds of one point fail."""
    found = {}
    for side, packed in figures["captures"].items():
        file = folder / f"{side}.pcap"
        file.write_bytes(gzip.decompress(packed))
        found[side] = fanin(program, "diagnose", file, "--json", "--out", folder / side)
    client, router = found["client"], found["router"]
    print(f"  {client['verdict']['says']}")
    fine = []
    for side, one in found.items():
        right = [e for e in one["episodes"] if e["fan_in"] == point.senders]
        fine.append(within(f"rounds at the {side}", len(right), figures["rounds"] + 2, 0.05))
    stalls = sum(len({s["server"] for s in e["stalls"]}) > 0 and e["signature"] == "rto" for e in client["episodes"])
    print(f"  timeouts: {figures['timeouts']} were counted, {stalls} rounds waited for some")
    fine.append((stalls > 0) == (figures["timeouts"] > 0))
    if figures["timeouts"] > 2 and client["scenario"]:
        text = (folder / "client" / "scenario.toml").read_text()
        told = next(line.split('"')[1] for line in text.splitlines() if line.startswith("rto_min"))
        value = float(told.split()[0]) * {"us": 1e-3, "ms": 1, "s": 1e3}[told.split()[1]]
        fine.append(within("RTOmin, ms", value, point.rto_min_ms, 0.1))
    if figures["drops"] > 0:
        buffers = {side: one["way"]["buffer_bytes"] for side, one in found.items()}
        if buffers["router"]:
            fine.append(within("buffer from the router's capture", buffers["router"]["value"][1] * 1514 / 1500, point.buffer, 0.2))
        if buffers["client"]:
            least, most = (value * 1514 / 1500 for value in buffers["client"]["value"])
            fine.append(least <= point.buffer <= 1.02 * most)
            print(f"  {'holds' if fine[-1] else 'FAILS'}: buffer from the client's capture: {least:.0f} to {most:.0f} where {point.buffer} was set")
    if not client["scenario"]:
        print("  no scenario predicts these rounds, and none is offered")
        return len(fine) - sum(map(bool, fine))
    told = fanin(program, "compare", folder / "client" / "scenario.toml", "--fan-in", others[0]["senders"], "--seeds", 10,
                 "--set", "workload.duration=2 s", "--json")["rows"][0]["goodput_mbps"]["mean"]
    goodputs = [other["goodput_mbps"] for other in others]
    low, high = min(goodputs), max(goodputs)
    fine.append(0.75 * low <= told <= 1.25 * high)
    print(f"  {'holds' if fine[-1] else 'FAILS'}: at {others[0]['senders']} servers {told:.1f} Mbit/s is told, where {low} to {high} were measured")
    return len(fine) - sum(map(bool, fine))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--program", default=ROOT / "target/release/fanin")
    parser.add_argument("--points", type=int, default=3)
    parser.add_argument("--keep", type=pathlib.Path, required=True, help="a new folder for captures and what was found")
    asked = parser.parse_args()
    each = 1 + len(SCATTER)
    points = list(draw(asked.seed))[:each * asked.points]
    figures, kernel = measure(points + [point for _, point, _ in calm()])
    asked.keep.mkdir(parents=True, exist_ok=True)
    failed = called(asked.program, figures[len(points):], asked.keep)
    for place in range(0, len(points), each):
        folder = asked.keep / str(place // each)
        folder.mkdir(parents=True)
        print(f"Linux {kernel}: {points[place]}: {figures[place]['goodput_mbps']} Mbit/s")
        others = [dict(figures[at], senders=points[at].senders) for at in range(place + 1, place + each)]
        failed += held(asked.program, points[place], figures[place], others, folder)
    print(f"{failed} bounds were missed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
