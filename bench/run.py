#!/usr/bin/env python3
"""Speed of fanin against ns-3: data packets delivered per second of user CPU, the two run in turn.

A data packet counts once, however many links it crosses. Both programs report the user CPU time of the simulation
alone. ns-3's rate does not depend on the flows' length, so that it gets 1 MB a sender where fanin gets 20 MB; between all
pairs it is slower than between a tenth of them, which it gets in work C.
Exits 1 where a target is missed.
"""

import statistics
import sys

from figures import build_ns3, compare, ns3

ROUNDS = 5
WORKS = {
    "A": {
        "says": "32 DCTCP senders into one host, 10 Gbit/s (fanin 20 MB a sender, ns-3 1 MB)",
        "fanin": ["scenarios/bench-star.toml", "--set", "workload.fragment=20000000 B"],
        "ns3": ["--work=a", "--bytes=1000000", "--senders=32"],
        "ratio": 100,
    },
    "B": {
        "says": "barrier reads of 256 KiB from each of 8 NewReno servers, 1 Gbit/s, 5 s (fanin 10 seeds, ns-3 one)",
        "fanin": ["scenarios/bench-barrier.toml", "--fan-in", "8", "--seeds", "10"],
        "ns3": ["--work=b", "--bytes=262144", "--duration=5", "--senders=8"],
        "ratio": 100,
    },
    "C": {
        "says": "64 KiB between all pairs of 160 hosts in four racks, NewReno (ns-3 between a tenth of them)",
        "fanin": ["scenarios/bench-shuffle.toml", "--seeds", "1"],
        "ns3": ["--pairs=0.1", "--jitter=0.05"],
        "program": "shuffle",
        "ratio": 60,
    },
    "10k": {
        "says": "as A, with 10,000 senders of 100 KB and a buffer of 200,000 packets",
        "fanin": ["scenarios/bench-star.toml", "--fan-in", "10000", "--set", "workload.fragment=100000 B",
                  "--set", "switch.buffer=200000 packets"],
        "rate": 3e6,
    },
}


def fanin_rate(arguments):
    out = compare(*arguments, "--jobs", "1")
    packets = sum(row["data_packets"] * row["seeds"] for row in out["rows"])
    return packets / max(out["engine"]["cpu_s"], 1e-9), out["engine"]["events"] / packets


def ns3_rate(arguments, program):
    out = ns3(*arguments, program=program)
    return out["data_packets"] / out["cpu_s"], out["events"] / out["data_packets"]


def main():
    build_ns3()
    missed = []
    for name, work in WORKS.items():
        print(f"{name}: {work['says']}")
        mine, ratios = [], []
        for turn in range(1, ROUNDS + 1):
            rate, events = fanin_rate(work["fanin"])
            mine.append(rate)
            line = f"  {turn}: fanin {rate / 1e6:6.2f} M/s ({events:.2f} events a packet)"
            if "ns3" in work:
                other, other_events = ns3_rate(work["ns3"], work.get("program", "incast"))
                ratios.append(rate / other)
                line += f"   ns-3 {other / 1e3:6.1f} k/s ({other_events:.1f} events a packet)   ratio {ratios[-1]:5.0f}"
            print(line, flush=True)
        best, middle = max(mine), statistics.median(mine)
        line = f"  best {best / 1e6:.2f} M/s, median {middle / 1e6:.2f} M/s"
        if ratios:
            ratio = statistics.median(ratios)
            line += f"; median ratio {ratio:.0f}, at least {work['ratio']} wanted"
            missed += [name] if ratio < work["ratio"] else []
        else:
            line += f"; at least {work['rate'] / 1e6:.0f} M/s wanted"
            missed += [name] if middle < work["rate"] else []
        print(line + "\n", flush=True)
    if missed:
        print(f"missed: {', '.join(missed)}")
        sys.exit(1)


if __name__ == "__main__":
    main()
