#!/usr/bin/env python3
"""Measures Linux's table afresh and writes bench/reference/linux-servers-6.1.json: an hour of one core.

Barrier reads from servers with links of their own (bench/scenarios/linux-servers.toml), at the rates of the table and at a
quarter of them, where the emulated CPU is no bottleneck; each point twice, the second time with the port's rate 1 % higher, at a quarter once more with
0.5 %: near the onset the kernel scatters.
"""

import dataclasses
import json
import pathlib

from machine import Point, measure

REFERENCE = pathlib.Path(__file__).resolve().parent.parent / "reference" / "linux-servers-6.1.json"

FULL = [
    *(Point(n, "cubic") for n in (1, 2, 4, 8, 12, 16, 24, 32, 48, 64)),
    *(Point(n, "cubic", rto_min_ms=10) for n in (2, 4, 8, 16, 24, 32, 48, 64)),
    *(Point(n, "reno") for n in (2, 4, 8, 16, 24, 32, 48, 64)),
]
SLOWER = {"port_kbit": 50_000, "server_kbit": 250_000, "seconds": 4}
QUARTER = [
    *(Point(n, "cubic", **SLOWER) for n in (4, 8, 12, 16, 24, 32, 48)),
    *(Point(n, "cubic", rto_min_ms=10, **SLOWER) for n in (8, 16, 24, 32, 48)),
    *(Point(n, "reno", **SLOWER) for n in (8, 16, 24, 32, 48)),
]


def with_ports(points, *faster):
    """Each point with the port's rate so many thousandths higher."""
    return [dataclasses.replace(point, port_kbit=point.port_kbit * (1000 + more) // 1000) for more in faster for point in points]


def row(point, figures):
    return {"law": point.law, "rto_min_ms": point.rto_min_ms, "senders": point.senders, "port_mbps": point.port_kbit / 1000, **figures}


def main():
    full, quarter = with_ports(FULL, 0, 10), with_ports(QUARTER, 0, 10, 5)
    points = [*full, *quarter]
    figures, kernel = measure(points)
    rows = [row(point, measured) for point, measured in zip(points, figures)]
    header = {
        **json.loads(REFERENCE.read_text())["header"],
        "system": f"Linux {kernel} (Debian's kernel), TCP cubic and reno, defaults but for the law and RTOmin",
        "scatter": "each point is measured twice, the second time with the port 1 % faster; at a quarter of all rates once more with 0.5 %",
        "quarter": "the port at 50, 50.25 or 50.5 Mbit/s, servers at 250: the CPU is at 6 to 16 %; requests are 190 to 370 us apart, mostly 230",
    }
    REFERENCE.write_text(json.dumps({"header": header, "runs": rows[:len(full)], "quarter": rows[len(full):]}, indent=1) + "\n")
    print(f"linux: {len(rows)} measurements written to {REFERENCE.relative_to(REFERENCE.parents[2])}")


if __name__ == "__main__":
    main()
