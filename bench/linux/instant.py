#!/usr/bin/env python3
"""Runs a scenario of fanin on a real kernel, Linux 6.12, whose processor takes no time, and prints what each point measured.

The scenario is a barrier workload on a star, such as bench/scenarios/linux-instant.toml. Goodput is over the rounds' own time; times of
rounds are in ms; RTOs, TLPs, retransmits and drops are of the whole run, with the two rounds before what is counted.
"""

import argparse
import json
import math
import pathlib
import re
import sys
import tempfile
import tomllib

from instant_machine import BUILD, FRAME, Point, exact_delay, measure

UNITS = {
    "h": 3600e9, "min": 60e9, "s": 1e9, "ms": 1e6, "us": 1e3, "µs": 1e3, "ns": 1, "ps": 1e-3,
    "B": 1, "KB": 1e3, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
    "bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9, "packets": FRAME, "": 1}
CONGESTION = {"newreno": "reno", "reno": "reno", "cubic": "cubic", "dctcp": "dctcp", "vegas": "vegas"}
# What fanin takes where neither the scenario nor --set says; of tcp what its profile of Linux says.
DEFAULTS = {
    "link.rate": "1 Gbit/s", "link.client_rate": "none", "link.delay": "25 us", "switch.buffer": "64 KiB", "host.service_time": "0 s",
    "host.service_jitter": "0 s", "tcp.rto_min": "200 ms", "tcp.delayed_ack": 2, "workload.kind": "barrier", "workload.duration": "5 s",
    "workload.connections": "usual", "workload.request_gap": "0 s", "red.min_th": "15 packets", "red.max_th": "25 packets",
    "red.max_p": "1/50", "red.weight": "1/500", "codel.target": "5 ms", "codel.interval": "100 ms", "sweep.fan_in": [2, 4, 8, 16, 32]}
# What may be set, as it changes nothing here or is what this machine does.
BESIDE = {"link.framing", "host.buffer", "host.packet_jitter", "tcp.profile", "tcp.timestamps", "workload.fragment", "workload.request",
          "workload.warm_up", "workload.fan_in", "run.seeds", "run.first_seed", "red.gentle"}
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


def share(value):
    """A share, such as 0.02, "1/50" or "2 %"."""
    text = str(value).strip()
    if text.endswith("%"):
        return float(text[:-1]) / 100
    above, _, below = text.partition("/")
    return float(above) / float(below or 1)


def keys_of(scenario, settings):
    """Every key with its section before it: what the scenario says, and over it `settings`, each KEY=VALUE."""
    tables = tomllib.loads(pathlib.Path(scenario).read_text())
    keys = DEFAULTS | {f"{section}.{key}": value for section, table in tables.items() if isinstance(table, dict) for key, value in table.items()}
    keys |= dict(setting.split("=", 1) for setting in settings)
    unknown = sorted(set(keys) - set(DEFAULTS) - BESIDE)
    if unknown:
        raise SystemExit(f"instant: {unknown[0]} has no counterpart on this machine")
    if keys["workload.kind"] != "barrier" or "workload.fragment" not in keys:
        raise SystemExit("instant: workload.kind has to be barrier, with a workload.fragment")
    return keys, tables.get("schemes", ["cubic"])


def red_burst(least, weight):
    """The burst, in packets, of which tc makes a weight of 2^-k: it takes the first k for which the queue is below `least` meanwhile."""
    wanted = round(-math.log2(weight))
    for burst in range(max(1, least // 1500), 100_000):
        room = burst + 1 - least / 1500
        first = next((k for k in range(1, 32) if room <= (1 - (1 - 2.0**-k) ** burst) * 2.0**k), None)
        if room >= 1 and first == wanted:
            return burst
    raise SystemExit(f"instant: tc makes no weight of {weight} of a least threshold of {least} B")


def queue_of(scheme, keys, rate):
    """tc's words for the queue of a scheme, and whether its connections are ECN-capable. HTB takes a packet from the queue as its time
    begins, where fanin has it on the link: a queue here is one frame longer."""
    limit, ecn = quantity(keys["switch.buffer"]) + FRAME, "ecn" in scheme or scheme[0] == "dctcp"
    said = ["ecn"] * ecn
    if "codel" in scheme:
        target, interval = (quantity(keys[f"codel.{name}"]) / 1000 for name in ("target", "interval"))
        return ("codel", "limit", str(round(limit / FRAME)), "target", f"{target:g}us", "interval", f"{interval:g}us", *(said or ["noecn"])), ecn
    if "red" in scheme:
        least, most = quantity(keys["red.min_th"]), quantity(keys["red.max_th"])
        burst = red_burst(least, share(keys["red.weight"]))
        return ("red", "limit", str(limit), "min", str(least), "max", str(most), "avpkt", "1500", "burst", str(burst), "probability",
                f"{share(keys['red.max_p']):g}", "bandwidth", f"{rate // 1000}kbit", *said), ecn
    if ecn:
        raise SystemExit(f"instant: {'+'.join(scheme)} wants a port that marks: add +red+ecn or +codel+ecn")
    return ("bfifo", "limit", str(limit)), ecn


def point_of(scheme, servers, keys, **more):
    """A point of a scenario."""
    words = scheme.split("+")
    if words[0] not in CONGESTION or set(words[1:]) - {"red", "codel", "ecn"}:
        raise SystemExit(f"instant: {scheme} is not in this kernel")
    rate = quantity(keys["link.rate"])
    port = rate if keys["link.client_rate"] == "none" else quantity(keys["link.client_rate"])
    queue, ecn = queue_of(words, keys, port)
    size = quantity(keys["workload.fragment"])
    delay = 4 * quantity(keys["link.delay"])
    if exact_delay(delay) != delay:
        print(f"instant: a round trip of {exact_delay(delay) / 1000:g} us in place of {delay / 1000:g} us; "
              "link.delay has to be a multiple of 2 us", file=sys.stderr)
    point = dict(
        servers=servers, congestion=CONGESTION[words[0]], queue=queue, ecn=ecn, port_rate=port, server_rate=rate, bytes=size,
        seconds=quantity(keys["workload.duration"]) / 1e9, delay_ns=delay,
        rto_min_ms=quantity(keys["tcp.rto_min"]) / 1e6, quickack=str(keys["tcp.delayed_ack"]) == "1",
        new_connections=keys["workload.connections"] == "new", service_ns=quantity(keys["host.service_time"]),
        service_jitter_ns=quantity(keys["host.service_jitter"]), request_gap_ns=quantity(keys["workload.request_gap"]),
        most=max(8, MOST_BYTES // (size * servers)))
    return Point(**(point | more))


def print_table(rows):
    """Columns as wide as what is in them."""
    table = [["scheme", "N", *COLUMNS.values()]]
    table += [[row["scheme"], str(row["fan_in"]), *(f"{row[name]:.6g}" for name in COLUMNS)] for row in rows]
    widths = [max(len(line[i]) for line in table) for i in range(len(table[0]))]
    for line in table:
        print("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(line, widths))))


def keep_files(source, cases, target, names):
    """Moves what a point left behind to files named after it."""
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
    keys, schemes = keys_of(given.scenario, given.set)
    schemes = given.schemes.split(",") if given.schemes else schemes
    fan_in = [int(n) for n in given.fan_in.split(",")] if given.fan_in else keys["sweep.fan_in"]
    more = {"order": given.order, "writes": tuple(given.write), "captured": bool(given.capture), "sampled": bool(given.ss)}
    if given.most:
        more["most"] = given.most
    cases = [(scheme, servers) for scheme in schemes for servers in fan_in]
    points, rows = [point_of(scheme, servers, keys, **more) for scheme, servers in cases], []
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
