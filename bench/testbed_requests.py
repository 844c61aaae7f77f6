#!/usr/bin/env python3
"""Algorithms of key-value requests by `fanin testbed`: medians beside their predictions, and the order of the algorithms.

An order is wrong if two algorithms whose predictions differ by more than a tenth come in the other order. On `here`, links have a tenth of
their rates: at 200 Mbit/s, a request takes the processors longer than the network.

With `--memcached`, real programs make the requests: `fanin front`, `fanin agent`, memcached.

    testbed_requests.py [--machine here|instant|counted] [--seeds N] [--memcached]
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FANIN = os.environ.get("FANIN", str(ROOT / "target/release/fanin"))
SCENARIO = ROOT / "bench" / "scenarios" / "testbed-key-value.toml"
ALGORITHMS = "one-all,sw,ictcp-window,sicc,sicc-balanced,picc"
ABLATIONS = "sicc,sicc-nopack,sicc-nmt,sicc-nssc"
MEDIAN, APART = 0.25, 1.1
# Links at the rates that a machine carries.
SLOWER = {"here": ["link.rate=100 Mbit/s", "fabric.uplink_rate=100 Mbit/s", "link.client_rate=20 Mbit/s"]}


def measured(schemes, options):
    """Rows of one `fanin testbed`."""
    command = [FANIN, "testbed", SCENARIO, "--machine", options.machine, "--schemes", schemes, "--seeds", str(options.seeds), "--json"]
    command += ["--memcached"] if options.memcached else []
    command += [word for line in SLOWER.get(options.machine, []) for word in ("--set", line)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"testbed_requests: {' '.join(map(str, command))}: {done.stderr.strip()}")
    return json.loads(done.stdout)["rows"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machine", default="here")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--memcached", action="store_true")
    options, bad = parser.parse_args(), 0
    # The scenario has three replicas of each object; the front end moves keys with one.
    algorithms = ALGORITHMS.removesuffix(",picc") if options.memcached else ALGORITHMS
    for title, schemes in [("algorithms", algorithms), ("ablations of SICC", ABLATIONS)]:
        rows = measured(schemes, options)
        for point in sorted({row["point"]["key_value.per_request"] for row in rows}):
            of_point = [row for row in rows if row["point"]["key_value.per_request"] == point]
            times = {row["scheme"]: (row["measured"]["qct_ms"]["p50"], row["predicted"]["qct_ms"]["p50"]) for row in of_point}
            far = [scheme for scheme, (now, then) in times.items() if abs(now / then - 1) > MEDIAN]
            swapped = [(one, other) for one, (now, then) in times.items() for other, (their_now, their_then) in times.items()
                       if their_then > then * APART and their_now < now]
            bad += bool(far or swapped)
            print(f"{title}, {point} objects: measured (predicted) median in ms: "
                  + ", ".join(f"{scheme} {now:.3g} ({then:.3g})" for scheme, (now, then) in times.items()))
            print(f"  further off than {MEDIAN:.0%}: {', '.join(far) or 'none'}; in another order: {swapped or 'none'}; "
                  f"CPU {max(row['measured']['cpu'] for row in of_point):.0%}", flush=True)
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
