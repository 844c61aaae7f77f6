#!/usr/bin/env python3
"""Counts instructions a delivered data packet on the bench scenarios and compares them with bench/cost.json.

Counts are callgrind's: they do not mind a noisy machine. Each scenario is run at two sizes, and the difference is
divided, so that reading the file and printing cost nothing. `--update` writes the figures anew.
"""

import json
import pathlib
import platform
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FANIN = ROOT / "target" / "release" / "fanin"
FIGURES = ROOT / "bench" / "cost.json"
TOLERANCE = 0.03

# Name: arguments, and the setting that has two sizes.
CASES = {
    "bench-star": (["--scheme", "dctcp", "--fan-in", "32"], "workload.fragment", ["500 KB", "2000 KB"]),
    "bench-barrier": (["--scheme", "newreno", "--fan-in", "8"], "workload.duration", ["500 ms", "2000 ms"]),
    "bench-shuffle": (["--scheme", "newreno", "--fan-in", "15"], "workload.fragment", ["100 KB", "400 KB"]),
}


def count(name, arguments, setting):
    """Instructions and data packets of one run."""
    tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    run = [FANIN, "run", f"scenarios/{name}.toml", *arguments, "--set", setting, "--json", "--no-cache"]
    done = subprocess.run([*tool, *run], cwd=ROOT, capture_output=True, text=True)
    collected = re.search(r"Collected\s*:\s*(\d+)", done.stderr)
    if done.returncode or not collected:
        sys.exit(f"cost: {' '.join(map(str, run))} failed under valgrind:\n{done.stderr[-2000:]}")
    return int(collected[1]), json.loads(done.stdout)["totals"]["data_packets"]


def measure():
    figures = {}
    for name, (arguments, key, sizes) in CASES.items():
        (i1, p1), (i2, p2) = (count(name, arguments, f"{key}={size}") for size in sizes)
        figures[name] = round((i2 - i1) / (p2 - p1), 1)
    return figures


def main():
    if platform.machine() != "x86_64":
        print(f"cost: skipped: the figures are of x86_64, and this is {platform.machine()}")
        return
    figures = measure()
    if "--update" in sys.argv[1:]:
        FIGURES.write_text(json.dumps({"instructions_a_data_packet": figures}, indent=2) + "\n")
    recorded = json.loads(FIGURES.read_text())["instructions_a_data_packet"]
    wrong = figures.keys() != recorded.keys()
    for name, measured in figures.items():
        off = measured / recorded.get(name, float("inf")) - 1
        wrong |= abs(off) > TOLERANCE
        print(f"cost: {name}: {measured} instructions a data packet; recorded {recorded.get(name)} ({off:+.1%})")
    if wrong:
        print(f"cost: more than {TOLERANCE:.0%} off. Find out why; then `make cost-update`, and say why in the commit.")
        sys.exit(1)


if __name__ == "__main__":
    main()
