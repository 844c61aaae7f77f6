#!/usr/bin/env python3
"""Runs the ns-3 comparison program and records its figures.

Writes bench/reference/ns3-3.37.json: one run of work A, and work B with 2, 8
and 32 senders and the seeds 1 to 40 each. One run at a time; about 25 minutes
of one core. Every simulated figure is reproducible to the last digit on the
same ns-3 package; CPU time is not and is left out.
"""

import json
import pathlib
import statistics
import subprocess
import sys

BENCH = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = BENCH / "build" / "ns3-incast"
TARGET = BENCH / "reference" / "ns3-3.37.json"
SENDERS_B = (2, 8, 32)
SEEDS = range(1, 41)


def run(*arguments):
    done = subprocess.run([PROGRAM, *arguments], check=True, stdout=subprocess.PIPE, text=True)
    row = json.loads(done.stdout)
    del row["cpu_s"]
    print(json.dumps(row), file=sys.stderr, flush=True)
    return row


def package_version():
    query = ["dpkg-query", "-W", "-f", "${Version}", "libns3-dev"]
    return subprocess.run(query, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def main():
    subprocess.run([BENCH / "ns3" / "build.sh"], check=True)
    package = package_version()
    if not package.startswith("3.37"):
        sys.exit(f"record.py: the figures are those of ns-3 3.37, but {package} is installed")

    rows = [run("--work=a", "--senders=32", "--bytes=1000000", "--seed=1")]
    for senders in sorted(SENDERS_B, reverse=True):
        rows += [
            run("--work=b", f"--senders={senders}", "--bytes=262144", "--duration=5", f"--seed={seed}")
            for seed in SEEDS
        ]
    rows.sort(key=lambda row: (row["work"], row["senders"], row["seed"]))

    header = {
        "simulator": "ns-3",
        "version": "3.37",
        "package": f"Debian libns3-dev {package}",
        "program": "bench/ns3/incast.cc",
        "recorded_by": "bench/ns3/record.py",
        "work_a": "--work=a --senders=32 --bytes=1000000 --seed=1",
        "work_b": "--work=b --senders=2|8|32 --bytes=262144 --duration=5 --seed=1..40",
    }
    # One run a line, so that a difference shows the runs that differ.
    lines = ",\n".join("    " + json.dumps(row) for row in rows)
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(f'{{\n  "header": {json.dumps(header)},\n  "runs": [\n{lines}\n  ]\n}}\n')

    for senders in SENDERS_B:
        chosen = [row for row in rows if row["work"] == "b" and row["senders"] == senders]
        for key in ("goodput_mbps", "timeouts", "drops", "rounds"):
            values = [row[key] for row in chosen]
            mean, spread = statistics.mean(values), statistics.stdev(values)
            print(f"N={senders} {key}: {mean:.1f} ({spread:.1f})", file=sys.stderr)


if __name__ == "__main__":
    main()
