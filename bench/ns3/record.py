#!/usr/bin/env python3
"""Runs the ns-3 comparison program and records its figures.

Writes bench/reference/ns3-3.37.json: one run of work A, and work B with 2, 8
and 32 senders and many seeds each; A at 25 Gbit/s, B at 10 and 25. One run at
a time; about 45 minutes of one core. Runs that the file already holds are not repeated, so an interrupted
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
CASES = {
    "a": ("--work=a --bytes=1000000", {32: 1}),
    "b": ("--work=b --bytes=262144 --duration=5", {2: 40, 8: 120, 32: 40}),
    "a-25g": ("--work=a --bytes=1000000 --rate=25Gbps --mark-packets=65 --limit-packets=500", {32: 1}),
    "b-10g": ("--work=b --bytes=262144 --duration=2 --rate=10Gbps --mss=1460 --limit-bytes=262144", {2: 40, 8: 40, 32: 40}),
    "b-25g": ("--work=b --bytes=262144 --duration=1 --rate=25Gbps --mss=1460 --limit-bytes=524288 --rto-min=10", {2: 20, 8: 20, 32: 20}),
}


def key(row):
    return row["work"], row["senders"], row["seed"]


def run(work, senders, seed):
    command = [PROGRAM, *CASES[work][0].split(), f"--senders={senders}", f"--seed={seed}"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    row = json.loads(done.stdout) | {"work": work}
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
    header = {
        "simulator": "ns-3",
        "version": "3.37",
        "package": f"Debian libns3-dev {package}",
        "program": "bench/ns3/incast.cc",
        "recorded_by": "bench/ns3/record.py",
        "works": {work: f"{arguments} --senders=N --seed=S" for work, (arguments, _) in CASES.items()},
        "seeds": {work: ", ".join(f"N = {n}: 1..{last}" for n, last in seeds.items()) for work, (_, seeds) in CASES.items()},
    }

    wanted = [(work, n, seed) for work, (_, seeds) in CASES.items() for n, last in seeds.items() for seed in range(1, last + 1)]
    rows = recorded(header)
    for case in wanted:
        if case not in rows:
            rows[case] = run(*case)
            write(header, rows)
    write(header, rows)

    for work, (_, seeds) in CASES.items():
        for n, last in seeds.items():
            chosen = [rows[work, n, seed] for seed in range(1, last + 1)]
            for name in ("goodput_mbps", "timeouts", "drops", "rounds"):
                values = [row[name] for row in chosen]
                mean, spread = statistics.mean(values), statistics.stdev(values) if last > 1 else 0
                print(f"{work}, N={n} {name}: {mean:.1f} ({spread:.1f})", file=sys.stderr)


if __name__ == "__main__":
    main()
