#!/usr/bin/env python3
"""Measures Linux's table afresh and writes bench/reference/linux-servers-6.1.json: an hour of one core.

Barrier reads from servers with links of their own (bench/scenarios/linux-servers.toml), at the rates of the table; at a
quarter of them, where the emulated CPU is no bottleneck; DCTCP over a queue that marks; and answers of 16 KiB where all rates are equal.
Each point twice, the second time with the port's rate 1 % higher, at a quarter once more with 0.5 %: near the onset the kernel scatters.
"""

import argparse
import dataclasses
import json
import pathlib

from machine import Point, measure

REFERENCE = pathlib.Path(__file__).resolve().parent.parent / "reference" / "linux-servers-6.1.json"

SLOWER = {"port_kbit": 50_000, "server_kbit": 250_000, "seconds": 4}
EQUAL = {"port_kbit": 200_000, "server_kbit": 200_000, "buffer": 32_768, "sru": 16_384, "seconds": 10}
# Points to measure, and the increases of the port's rate in thousandths.
TABLES = {
    "runs": ((0, 10), [
        *(Point(n, "cubic") for n in (1, 2, 4, 8, 12, 16, 24, 32, 48, 64)),
        *(Point(n, "cubic", rto_min_ms=10) for n in (2, 4, 8, 16, 24, 32, 48, 64)),
        *(Point(n, "reno") for n in (2, 4, 8, 16, 24, 32, 48, 64)),
    ]),
    "quarter": ((0, 10, 5), [
        *(Point(n, "cubic", **SLOWER) for n in (4, 8, 12, 16, 24, 32, 48)),
        *(Point(n, "cubic", rto_min_ms=10, **SLOWER) for n in (8, 16, 24, 32, 48)),
        *(Point(n, "reno", **SLOWER) for n in (8, 16, 24, 32, 48)),
    ]),
    "dctcp": ((0, 10), [Point(n, "dctcp", red=True) for n in (2, 4, 8, 16, 24, 32, 48)]),
    "equal": ((0, 10), [Point(n, "cubic", **EQUAL) for n in (2, 3, 4, 5, 6, 8, 12)]),
}


def with_ports(points, *faster):
    """Each point with the port's rate increased by each number of thousandths."""
    return [dataclasses.replace(point, port_kbit=point.port_kbit * (1000 + more) // 1000) for more in faster for point in points]


def row(point, figures):
    return {"law": point.law, "rto_min_ms": point.rto_min_ms, "senders": point.senders, "port_mbps": point.port_kbit / 1000, **figures}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=f"only these of {', '.join(TABLES)}; the others stay as they are")
    names = parser.parse_args().tables or list(TABLES)
    if unknown := [name for name in names if name not in TABLES]:
        parser.error(f"no table is called {unknown[0]}")
    points = {name: with_ports(TABLES[name][1], *TABLES[name][0]) for name in names}
    figures, kernel = measure([point for name in names for point in points[name]])
    reference, figures = json.loads(REFERENCE.read_text()), iter(figures)
    for name in names:
        reference[name] = [row(point, next(figures)) for point in points[name]]
    reference["header"] |= {
        "system": f"Linux {kernel} (Debian's kernel), TCP cubic, reno and dctcp, defaults but for the law, RTOmin and ECN for dctcp",
        "scatter": "each point is measured twice, the second time with the port 1 % faster; at a quarter of all rates once more with 0.5 %",
        "quarter": "the port at 50, 50.25 or 50.5 Mbit/s, servers at 250: the CPU is at 6 to 16 %; requests are 190 to 370 us apart, mostly 230",
        "dctcp": "the queue is RED of the same limit that marks from 30,000 B on, by an average of weight 1/2 (tc red with a burst of 20)",
        "equal": "servers and port at 200 Mbit/s (202 the second time), 16 KiB from each, a bfifo of 32768 B, 10 s",
    }
    REFERENCE.write_text(json.dumps(reference, indent=1) + "\n")
    print(f"linux: {sum(map(len, points.values()))} measurements written to {REFERENCE.relative_to(REFERENCE.parents[2])}")


if __name__ == "__main__":
    main()
