#!/usr/bin/env python3
"""Runs the ns-3 comparison program and records its figures.

Writes bench/reference/ns3-3.37.json: one run of work A, and work B with 2, 8
and 32 senders and many seeds each. One run at a time; about 30 minutes of one
core. Runs that the file already holds are not repeated, so an interrupted
recording can go on; delete the file to record everything afresh. Every
simulated figure is reproducible to the last digit on the same ns-3 package;
CPU time is not and is left out.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys

BENCH = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = BENCH / "build" / "ns3-incast"
TARGET = BENCH / "reference" / "ns3-3.37.json"
# With 8 servers one run's goodput scatters by a quarter of the mean, so that
# 40 runs would leave the mean uncertain by 4 %.
SEEDS_B = {32: 40, 8: 120, 2: 40}


def key(row):
    return row["work"], row["senders"], row["seed"]


def run(work, senders, seed):
    case = {
        "a": ["--work=a", "--bytes=1000000"],
        "b": ["--work=b", "--bytes=262144", "--duration=5"],
    }[work]
    command = [PROGRAM, *case, f"--senders={senders}", f"--seed={seed}"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    row = json.loads(done.stdout)
    del row["cpu_s"]
    print(json.dumps(row), file=sys.stderr, flush=True)
    return row


def package_version():
    query = ["dpkg-query", "-W", "-f", "${Version}", "libns3-dev"]
    return subprocess.run(query, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def recorded(header):
    """The runs in the file, unless they were made in another way."""
    if not TARGET.exists():
        return {}
    data = json.loads(TARGET.read_text())
    if data["header"]["package"] != header["package"]:
        sys.exit(f"record.py: {TARGET} is from {data['header']['package']}; delete it first")
    return {key(row): row for row in data["runs"]}


def write(header, rows):
    # One run a line, so that a difference shows the runs that differ.
    lines = ",\n".join("    " + json.dumps(rows[k]) for k in sorted(rows))
    TARGET.parent.mkdir(exist_ok=True)
    new = TARGET.with_suffix(".new")
    new.write_text(f'{{\n  "header": {json.dumps(header)},\n  "runs": [\n{lines}\n  ]\n}}\n')
    os.replace(new, TARGET)


def main():
    subprocess.run([BENCH / "ns3" / "build.sh"], check=True)
    package = package_version()
    if not package.startswith("3.37"):
        sys.exit(f"record.py: the figures are those of ns-3 3.37, but {package} is installed")
    seeds = ", ".join(f"N = {n}: 1..{last}" for n, last in sorted(SEEDS_B.items()))
    header = {
        "simulator": "ns-3",
        "version": "3.37",
        "package": f"Debian libns3-dev {package}",
        "program": "bench/ns3/incast.cc",
        "recorded_by": "bench/ns3/record.py",
        "work_a": "--work=a --bytes=1000000 --senders=32 --seed=1",
        "work_b": "--work=b --bytes=262144 --duration=5 --senders=N --seed=S",
        "seeds_b": seeds,
    }

    wanted = [("a", 32, 1)]
    wanted += [("b", n, seed) for n, last in SEEDS_B.items() for seed in range(1, last + 1)]
    rows = recorded(header)
    for case in wanted:
        if case not in rows:
            rows[case] = run(*case)
            write(header, rows)
    write(header, rows)

    for n, last in sorted(SEEDS_B.items()):
        chosen = [rows["b", n, seed] for seed in range(1, last + 1)]
        for name in ("goodput_mbps", "timeouts", "drops", "rounds"):
            values = [row[name] for row in chosen]
            mean, spread = statistics.mean(values), statistics.stdev(values)
            print(f"N={n} {name}: {mean:.1f} ({spread:.1f})", file=sys.stderr)


if __name__ == "__main__":
    main()
