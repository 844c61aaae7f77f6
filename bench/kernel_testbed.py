#!/usr/bin/env python3
"""Schemes that the kernel has by programs, on the testbed beside their prediction: gentle slow start over new connections, and M21.

Requires goodput within 15 % of the prediction at 11 of 12 points of each kind (or the same share of those asked for), and the predicted order
of each scheme and its base wherever the predictions differ by more than 15 %.

    kernel_testbed.py [--kind gss|m21] [--fan-in 2,8,16,32] [--seeds N] [--set KEY=VALUE] [--out FILE]
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FANIN = os.environ.get("FANIN", str(ROOT / "target/release/fanin"))
SCENARIO = ROOT / "bench" / "scenarios" / "testbed-kernel.toml"
# Each scheme with its base; and settings: M21 works on persistent connections, and needs an ACK for each packet.
KINDS = {
    "gss": ([("newreno+gss", "newreno"), ("cubic+gss", "cubic"), ("dctcp+gss", "dctcp")], []),
    "m21": ([("newreno+m21", "newreno"), ("cubic+m21", "cubic"), ("newreno+gss+m21", "newreno+gss")],
            ["workload.connections=standing", "tcp.delayed_ack=1", "tcp.initial_window=1"])}
WITHIN, SHARE = 0.15, 11 / 12


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=KINDS, default="gss")
    parser.add_argument("--fan-in", default="2,8,16,32")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--set", action="append", default=[])
    options = parser.parse_args()
    pairs, sets = KINDS[options.kind]
    schemes = list(dict.fromkeys(name for pair in pairs for name in reversed(pair)))
    command = [FANIN, "testbed", SCENARIO, "--schemes", ",".join(schemes), "--fan-in", options.fan_in, "--seeds", str(options.seeds), "--json"]
    done = subprocess.run([*command, *(word for text in [*sets, *options.set] for word in ("--set", text))], stdout=subprocess.PIPE)
    if done.returncode:
        sys.exit(done.returncode)
    if options.out:
        options.out.write_bytes(done.stdout)
    rows = json.loads(done.stdout)["rows"]
    points = {}
    for row in rows:
        point = points.setdefault(json.dumps(row["point"], sort_keys=True), {})
        point[row["scheme"]] = [row[side]["goodput_mbps"]["mean"] for side in ("measured", "predicted")]
        print(f"{row['scheme']:16} {row['point']}: {point[row['scheme']][0]:6.1f} Mbit/s, predicted {point[row['scheme']][1]:6.1f}, "
              f"ratio {row['ratio']['goodput']:.2f}, RTOs {row['measured']['timeouts']:.0f}/{row['predicted']['timeouts']:.0f}, "
              f"CPU {row['measured']['cpu']:.0%}")
    near = [abs(values[scheme][0] / values[scheme][1] - 1) <= WITHIN for values in points.values() for scheme, _ in pairs]
    wrong = []
    for at, values in points.items():
        for scheme, base in pairs:
            (measured, predicted), (measured_base, predicted_base) = values[scheme], values[base]
            if max(predicted, predicted_base) > (1 + WITHIN) * min(predicted, predicted_base) and \
                    (predicted > predicted_base) != (measured > measured_base):
                wrong.append(f"{at}: {scheme} against {base}")
    print(f"{sum(near)} of {len(near)} points within {WITHIN:.0%}; {round(SHARE * len(near))} wanted")
    print("\n".join(f"another order than predicted: {what}" for what in wrong) or "all orders as predicted")
    sys.exit(bool(wrong) or sum(near) < round(SHARE * len(near)))


if __name__ == "__main__":
    main()
