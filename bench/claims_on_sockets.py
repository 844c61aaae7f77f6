#!/usr/bin/env python3
"""Claims about a paper's testbed, on sockets: `fanin testbed` runs the figures' scenarios over a real kernel's TCP, and each claim that orders
request times is judged there as in the simulation.

A claim holds at a point if the mean time of what should take longer is longer. Claims about figures that no kernel reports (packets between
racks, incasts), and shares, are left out, with the reason.

With `--memcached`, real programs make PICC's requests, one after another: `fanin front`, which has moved keys by the plan before, and memcached.

    claims_on_sockets.py --paper sicc|picc [--machine instant|here] [--queries N] [--memcached] [--out FILE]

Writes a Markdown table; exits with 1 only if a run fails.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
FANIN = os.environ.get("FANIN", str(ROOT / "target/release/fanin"))
# The figures of each paper's testbed.
FIGURES = {"sicc": "S-11", "picc": "P-11"}
# A kernel has its own TCP, which retransmits as often as it likes. Links have a fiftieth of the papers' rates: at 10 Gbit/s, requests
# without losses took 1.5 to 15 times as long on `instant` as simulated.
LINES = ["tcp.profile=linux", "tcp.max_retransmissions=none", "link.rate=200 Mbit/s", "fabric.uplink_rate=800 Mbit/s"]

# A front end moves keys with one replica and knows where they are; it makes one request after another.
MOVED = ["key_value.replicas=1", "key_value.replica_racks=any", "key_value.route=direct", "key_value.within=none", "workload.connections=usual"]


def rows(scenario, schemes, options):
    """Rows of a scenario by scheme, point by point."""
    command = [FANIN, "testbed", scenario, "--machine", options.machine, "--schemes", ",".join(schemes), "--seeds", "1", "--json"]
    command += [word for line in LINES for word in ("--set", line)]
    if options.memcached:
        command += ["--memcached", "--sweep", f"workload.queries={options.queries}"] + [word for line in MOVED for word in ("--set", line)]
    swept = tomllib.loads(scenario.read_text()).get("sweep", {})
    command += [] if "workload.queries" in swept else ["--set", f"workload.queries={options.queries}"]
    print(" ".join(map(str, command)), file=sys.stderr, flush=True)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"claims_on_sockets: {scenario}: {done.stderr.strip()}")
    found = {}
    for row in json.loads(done.stdout)["rows"]:
        found.setdefault(json.dumps(row["point"]), {})[row["scheme"]] = row
    return found


def many(value):
    return value if isinstance(value, list) else [value]


def judged(claim, points, whose):
    """At how many points the claim holds, and the times there."""
    holds = 0
    for by_scheme in points.values():
        mean = {scheme: row[whose]["qct_ms"]["mean"] for scheme, row in by_scheme.items()}
        holds += all(mean[one] > mean[other] for one in many(claim["above"]) for other in many(claim["below"]))
    return f"{holds} of {len(points)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--paper", choices=FIGURES, required=True)
    parser.add_argument("--machine", default="instant")
    parser.add_argument("--queries", type=int, default=20, help="requests of a scenario that does not sweep them")
    parser.add_argument("--memcached", action="store_true")
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    folder = ROOT / "papers" / options.paper
    claims = tomllib.loads((folder / "claims.toml").read_text())
    lines, times, done = [], [], {}
    for figure in claims["figure"]:
        if not figure["id"].startswith(FIGURES[options.paper]):
            continue
        orders = [claim for claim in figure["claim"] if claim["class"] == "order" and "query_ms" in (claim.get("measure"), figure["draws"][0])]
        schemes = sorted({scheme for claim in orders for side in ("above", "below") for scheme in many(claim[side])})
        if orders:
            key = figure["scenario"], tuple(schemes)
            if key not in done:
                done[key] = rows(folder / figure["scenario"], schemes, options)
            # The sweep of rates is no sweep for requests one after another.
            chosen = [] if options.memcached else figure.get("points", [])
            points = {point: row for point, row in done[key].items() if not chosen or set(json.loads(point).values()) & set(chosen)}
            for point, by_scheme in points.items():
                shown = ", ".join(f"{scheme} {row['measured']['qct_ms']['mean']:.3g} ({row['predicted']['qct_ms']['mean']:.3g})" for scheme, row in by_scheme.items())
                times.append(f"- {figure['id']}, {', '.join(f'`{name}` {value}' for name, value in json.loads(point).items())}: {shown}")
        for claim in figure["claim"]:
            if claim in orders:
                lines.append(f"| {claim['id']} | {claim['says']} | {judged(claim, points, 'measured')} | {judged(claim, points, 'predicted')} |")
            else:
                lines.append(f"| {claim['id']} | {claim['says']} | not judged: no order of request times | |")
    text = "\n".join(["| claim | | holds on sockets at | in the simulation at |", "| --- | --- | --- | --- |", *lines, "",
                      "Mean request times in ms, measured (predicted):", "", *times, ""])
    print(text)
    if options.out:
        options.out.write_text(text)


if __name__ == "__main__":
    main()
