#!/usr/bin/env python3
"""Counts instructions per delivered data packet on the bench scenarios and compares them with bench/cost.json.

Counts are callgrind's: they do not mind a noisy machine. Each scenario is run at two sizes, and the difference is
divided, so that reading the file and printing cost nothing. `--update` writes the figures anew; `--functions` says where they go,
by the functions that they were written in, whatever they were compiled into.
"""

import collections
import json
import pathlib
import platform
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FANIN = ROOT / "target" / "release" / "fanin"
FIGURES = ROOT / "bench" / "cost.json"
TOLERANCE = 0.03

# Name: arguments, and the setting that has two sizes.
CASES = {
    "bench-star": (["--scheme", "dctcp", "--fan-in", "32"], "workload.fragment", ["500 KB", "2000 KB"]),
    "bench-barrier": (["--scheme", "newreno", "--fan-in", "8"], "workload.duration", ["500 ms", "2000 ms"]),
    "bench-shuffle": (["--scheme", "newreno", "--fan-in", "15"], "workload.fragment", ["100 KB", "400 KB"]),
    "roce-incast": (["--scheme", "dcqcn", "--fan-in", "32"], "workload.fragment", ["500 KB", "2000 KB"]),
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


def by_function(name, arguments, setting):
    """Instructions by file and function, and data packets, of one run."""
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/callgrind"
        run = [FANIN, "run", f"scenarios/{name}.toml", *arguments, "--set", setting, "--json", "--no-cache"]
        done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", *run], cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"cost: {' '.join(map(str, run))} failed under valgrind:\n{done.stderr[-2000:]}")
        return lines_of(out), json.loads(done.stdout)["totals"]["data_packets"]


# The start of a function's line.
FUNCTION = re.compile(r"^\s*(?:pub(?:\([a-z]+\))? )?(?:const )?(?:unsafe )?fn (\w+)")


def lines_of(out):
    """Own instructions by file and function. The compiler says of each line from which file it was inlined: so lines are looked up there."""
    costs, names, file = collections.Counter(), {}, ""
    calls = False
    for line in open(out):
        if line[:3] in ("fl=", "fi=", "fe="):
            mark, _, path = line[3:].strip().partition(" ")
            file = names.setdefault(mark, path or names.get(mark, ""))
        elif line[:4] in ("cfi=", "cfl="):
            mark, _, path = line[4:].strip().partition(" ")
            names.setdefault(mark, path)
        elif line.startswith("calls="):
            calls = True
        elif line[:1] in "+-*0123456789" and line[0] != "\n":
            place, _, cost = line.partition(" ")
            number = int(place[1:] or 0) if place[0] in "+-" else 0 if place == "*" else int(place)
            at = at + number if place[0] == "+" else at - number if place[0] == "-" else at if place == "*" else number
            if not calls and cost.strip():
                costs[file, function_at(file, at)] += int(cost.split()[0])
            calls = False
    return costs


def function_at(file, number, known={}):
    """The function of a line of one of our files; others count as a whole."""
    if not file.startswith(f"{ROOT}/crates/"):
        return ""
    if file not in known:
        begins = [""]
        for line in open(file):
            found = FUNCTION.match(line)
            begins.append(found[1] if found else begins[-1])
        known[file] = begins
    return known[file][min(number, len(known[file]) - 1)]


def functions():
    for name, (arguments, key, sizes) in CASES.items():
        (few, p1), (many, p2) = (by_function(name, arguments, f"{key}={size}") for size in sizes)
        each = {place: (many[place] - few[place]) / (p2 - p1) for place in many}
        print(f"{name}: {sum(each.values()):.0f} instructions per data packet")
        for (file, function), count in sorted(each.items(), key=lambda one: -one[1])[:40]:
            short = file.removeprefix(f"{ROOT}/crates/") if file.startswith(f"{ROOT}/") else re.sub(r"^.*/(library|registry/src/[^/]*)/", "", file)
            print(f"  {count:6.1f}  {short} {function}")


def measure():
    figures = {}
    for name, (arguments, key, sizes) in CASES.items():
        (i1, p1), (i2, p2) = (count(name, arguments, f"{key}={size}") for size in sizes)
        figures[name] = round((i2 - i1) / (p2 - p1), 1)
    return figures


def main():
    if platform.machine() != "x86_64":
        print(f"cost: skipped: the figures are for x86_64; this machine is {platform.machine()}")
        return
    if "--functions" in sys.argv[1:]:
        return functions()
    figures = measure()
    if "--update" in sys.argv[1:]:
        FIGURES.write_text(json.dumps({"instructions_a_data_packet": figures}, indent=2) + "\n")
    recorded = json.loads(FIGURES.read_text())["instructions_a_data_packet"]
    wrong = figures.keys() != recorded.keys()
    for name, measured in figures.items():
        off = measured / recorded.get(name, float("inf")) - 1
        wrong |= abs(off) > TOLERANCE
        print(f"cost: {name}: {measured} instructions per data packet; recorded {recorded.get(name)} ({off:+.1%})")
    if wrong:
        print(f"cost: more than {TOLERANCE:.0%} off. Find the cause; then run `make cost-update`, and explain it in the commit.")
        sys.exit(1)


if __name__ == "__main__":
    main()
