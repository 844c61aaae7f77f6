#!/usr/bin/env python3
"""Runs a scenario of fanin on a real kernel, Linux 6.12, whose processor takes no time, and prints the measurements of each point.

The scenario is a barrier workload on a star, such as bench/scenarios/linux-instant.toml. Goodput is over the rounds' own time; times of
rounds are in ms; RTOs, TLPs, retransmits and drops are of the whole run, with the two rounds before what is counted.
"""

import argparse
import dataclasses
import json
import pathlib
import re
import sys
import tempfile
import tomllib

from instant_machine import BUILD, Point, measure
from linux_setup import setup

# A full frame, as tc counts it.
FRAME = 1514
UNITS = {
    "h": 3600e9, "min": 60e9, "s": 1e9, "ms": 1e6, "us": 1e3, "µs": 1e3, "ns": 1, "ps": 1e-3,
    "B": 1, "KB": 1e3, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
    "bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9, "packets": FRAME, "": 1}
# fanin's defaults for the programs' service times, and for the rates.
DEFAULTS = {
    "link.rate": "1 Gbit/s", "link.client_rate": "none", "link.delay": "25 us", "host.service_time": "0 s", "host.service_jitter": "0 s",
    "workload.kind": "barrier", "workload.duration": "5 s", "workload.connections": "usual", "workload.request_gap": "0 s",
    "sweep.fan_in": [2, 4, 8, 16, 32]}
# Keys of applications that change nothing here.
BESIDE = {"host.buffer", "host.packet_jitter", "workload.fragment", "workload.request", "workload.warm_up", "workload.fan_in"}
# More bytes than this tell nothing new of a run whose rounds are all alike.
MOST_BYTES = 64 << 20
COLUMNS = {"goodput_mbps": "Mbit/s", "p50_round_ms": "p50 ms", "p99_round_ms": "p99 ms", "rounds": "rounds", "timeouts": "RTOs",
           "loss_probes": "TLPs", "retransmitted_segments": "retransmits", "drops": "drops", "hystarts": "HyStarts"}


def quantity(value):
    """A quantity in ns, bytes or bit/s."""
    found = re.fullmatch(r"\s*([\d.]+)\s*([^\d\s]*)\s*", str(value))
    if not found or found[2] not in UNITS:
        raise SystemExit(f"instant: {value!r} is no quantity with a unit")
    return round(float(found[1]) * UNITS[found[2]])


@dataclasses.dataclass(frozen=True)
class Cluster:
    """A scenario with settings over it: `keys` has all keys that either sets, with defaults of the programs'."""

    scenario: pathlib.Path
    settings: dict
    keys: dict
    schemes: list


def cluster_of(scenario, settings):
    """A scenario with other values of keys."""
    tables = tomllib.loads(pathlib.Path(scenario).read_text())
    keys = DEFAULTS | {f"{section}.{key}": value for section, table in tables.items() if isinstance(table, dict) for key, value in table.items()}
    keys |= settings
    unknown = sorted(key for key in set(keys) - set(DEFAULTS) - BESIDE if key.split(".")[0] in ("host", "workload"))
    if unknown:
        raise SystemExit(f"instant: {unknown[0]} has no counterpart on this machine")
    if keys["workload.kind"] != "barrier" or "workload.fragment" not in keys:
        raise SystemExit("instant: workload.kind has to be barrier, with a workload.fragment")
    return Cluster(pathlib.Path(scenario), settings, keys, tables.get("schemes", ["cubic"]))


def port_rate(cluster):
    """The rate of the client's port in bit/s."""
    rate = cluster.keys["link.client_rate"]
    return quantity(cluster.keys["link.rate"] if rate == "none" else rate)


def point_of(cluster, scheme, servers, port=None, **more):
    """A point of a cluster, with its port at another rate in bit/s if there is one."""
    keys, settings = cluster.keys, cluster.settings | ({"link.client_rate": f"{port} bit/s"} if port else {})
    kernel = setup(cluster.scenario, scheme, servers, "shared", settings)
    size, delay = quantity(keys["workload.fragment"]), 4 * quantity(keys["link.delay"]) / 1000
    if kernel["round_trip_us"] != delay:
        print(f"instant: a round trip of {kernel['round_trip_us']} us in place of {delay:g} us; link.delay has to be a multiple of 2 us", file=sys.stderr)
    point = dict(
        servers=servers, setup=kernel["files"], bytes=size, seconds=quantity(keys["workload.duration"]) / 1e9,
        new_connections=keys["workload.connections"] == "new", service_ns=quantity(keys["host.service_time"]),
        service_jitter_ns=quantity(keys["host.service_jitter"]), request_gap_ns=quantity(keys["workload.request_gap"]),
        receive_buffer=kernel["receive_buffer"] or 0, most=max(8, MOST_BYTES // (size * servers)))
    return Point(**(point | more))


def print_table(rows):
    """Columns as wide as their content."""
    table = [["scheme", "N", *COLUMNS.values()]]
    table += [[row["scheme"], str(row["fan_in"]), *(f"{row[name]:.6g}" for name in COLUMNS)] for row in rows]
    widths = [max(len(line[i]) for line in table) for i in range(len(table[0]))]
    for line in table:
        print("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(line, widths))))


def keep_files(source, cases, target, names):
    """Moves a point's output files to files named after it."""
    pathlib.Path(target).mkdir(parents=True, exist_ok=True)
    for folder, (scheme, servers) in zip(sorted(source.iterdir()), cases):
        for name in names:
            if (folder / name).exists():
                (pathlib.Path(target) / f"{scheme}-{servers}-{name}").write_bytes((folder / name).read_bytes())


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenario", help="a TOML file of fanin's")
    parser.add_argument("--schemes", metavar="A,B", help="in place of the scenario's")
    parser.add_argument("--fan-in", metavar="N,M", help="in place of sweep.fan_in")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="set a key of the scenario; may be given again")
    parser.add_argument("--order", type=int, default=0, metavar="SEED", help="shuffle the order of requests")
    parser.add_argument("--write", action="append", default=[], metavar="FILE=VALUE",
                        help="write into /proc or /sys of the servers first, such as /sys/module/tcp_cubic/parameters/hystart=0")
    parser.add_argument("--most", type=int, help="rounds at most [default: as many as 64 MiB have]")
    parser.add_argument("--capture", metavar="DIR", help="keep captures at the client and at the router")
    parser.add_argument("--ss", metavar="DIR", help="keep what `ss -ti` says every 2 ms, and TCP_INFO of each server as a request arrives")
    parser.add_argument("--json", action="store_true", help="print one JSON object a line")
    return parser.parse_args()


def main():
    given = arguments()
    cluster = cluster_of(given.scenario, dict(setting.split("=", 1) for setting in given.set))
    schemes = given.schemes.split(",") if given.schemes else cluster.schemes
    fan_in = [int(n) for n in given.fan_in.split(",")] if given.fan_in else cluster.keys["sweep.fan_in"]
    more = {"order": given.order, "writes": tuple(given.write), "captured": bool(given.capture), "sampled": bool(given.ss)}
    if given.most:
        more["most"] = given.most
    cases = [(scheme, servers) for scheme in schemes for servers in fan_in]
    points, rows = [point_of(cluster, scheme, servers, **more) for scheme, servers in cases], []
    BUILD.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILD) as keep:
        for index, figures, kernel in measure(points, keep if given.capture or given.ss else None):
            scheme, servers = cases[index]
            if figures is None:
                print(f"instant: {scheme} with {servers} servers failed", file=sys.stderr)
                continue
            rows.append({"scheme": scheme, "fan_in": servers, **figures, "kernel": kernel})
            if given.json:
                print(json.dumps(rows[-1]), flush=True)
        if given.capture:
            keep_files(pathlib.Path(keep), cases, given.capture, ["client.pcap", "router.pcap"])
        if given.ss:
            keep_files(pathlib.Path(keep), cases, given.ss, ["ss.txt", "info.txt"])
    if not given.json:
        print_table(rows)
    sys.exit(len(rows) < len(cases))


if __name__ == "__main__":
    main()
