#!/usr/bin/env python3
"""Scenarios that `fanin diagnose` offers for a corpus' captures with incast: the goodput that each predicts with other seeds, beside the capture's.

Exit 1 if fewer than 80 % of them are within 20 %.
"""

import argparse
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

# Not those that the calibration simulated.
SEEDS = ["--seeds", "5", "--set", "run.first_seed=100"]
NEAR = 0.2
ENOUGH = 0.8


def fanin(program, *arguments):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"fanin {' '.join(map(str, arguments))}: {done.stderr[-500:]}")
    return json.loads(done.stdout)


def captures(folder):
    """Each seed with its captures."""
    for path in sorted((path for path in folder.glob("*.json") if path.stem.isdigit()), key=lambda path: int(path.stem)):
        yield path.stem, sorted(folder.glob(f"{path.stem}-*.pcap.gz"))


def predicted(program, scenario, servers, out):
    """Mean time of the scenario's rounds with a number of servers."""
    fanin(program, "compare", scenario, "--fan-in", servers, *SEEDS, "--out", out, "--json")
    times = [int(row["qct_ps"]) * 1e-12 for file in out.rglob("queries.csv") for row in csv.DictReader(file.open()) if row["qct_ps"]]
    return sum(times) / len(times) if times else None


def judged(program, files, work):
    """The goodput that the scenario of some captures predicts, over the captured one; `None` if there is no scenario, or no incast."""
    found = fanin(program, "diagnose", "--json", *files)
    if not found["verdict"]["incast"] or not found["episodes"]:
        return None
    found = fanin(program, "diagnose", "--json", "--out", work / "found", *files)
    if not found["scenario"]:
        return "not offered", None
    servers = max(found["points"], key=lambda point: point["episodes"])["fan_in"]
    rounds = [one["took_s"] for one in found["episodes"] if one["fan_in"] == servers]
    told = predicted(program, found["scenario"], servers, work / "run")
    return "offered", sum(rounds) / len(rounds) / told if told else 0.0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--program", default="target/release/fanin")
    parser.add_argument("--most", type=int, default=1000, help="maximum number of captures with incast")
    asked = parser.parse_args()
    ratios, incast = [], 0
    for seed, files in captures(asked.folder):
        with tempfile.TemporaryDirectory() as work:
            one = judged(asked.program, files, pathlib.Path(work))
        if one:
            incast += 1
            print(f"{seed}: {one[0]}" + (f", predicts {one[1]:.2f} of the goodput" if one[1] is not None else ""), flush=True)
            ratios += [one[1]] if one[1] is not None else []
        if incast >= asked.most:
            break
    near = sum(abs(ratio - 1) <= NEAR for ratio in ratios)
    print(f"{incast} captures with incast: {len(ratios)} scenarios offered, {near} of them within {NEAR:.0%}")
    sys.exit(near < ENOUGH * len(ratios))


if __name__ == "__main__":
    main()
