#!/usr/bin/env python3
"""Compares the forecast of time and memory with the cost of runs, over all transports and 64 to 4,096 hosts.

`make estimates` prints a line per case; a ratio outside of 0.5 to 2 is marked. Times are of the machine
of docs/performance.md while it is idle.
"""

import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "target/release/examples/estimate"
TEXT = """
schemes = ["{scheme}"]
[link]
rate = "100 Gbit/s"
delay = "1 us"
{fabric}
[switch]
shared_buffer = "{memory} MiB"
[host]
packet_jitter = "1 ns"
[tcp]
rto_min = "5 ms"
delayed_ack = 1
[rdma]
timeout = "100 ms"
payload = "4096 B"
[workload]
kind = "{kind}"
duration = "{duration}"
{workload}
[run]
seeds = 1
[sweep]
fan_in = [{fan_in}]
"""
RACKS = 'kind = "leaf-spine"\nracks = {racks}\nhosts_per_rack = 32\nspines = 32'
SCHEMES = ["dctcp", "dcqcn", "hpcc", "nscc", "rccc"]
# Kind, hosts, and the workload's keys.
CASES = [
    ("one-shot", 64, 'fragment = "200 KB"'),
    ("one-shot", 512, 'fragment = "100 KB"'),
    ("one-shot", 4096, 'fragment = "40 KB"'),
    ("barrier", 64, 'fragment = "20 KB"'),
    ("barrier", 512, 'fragment = "20 KB"'),
    ("all-to-all", 64, 'fragment = "64 KB"\nqueries = 1'),
    ("all-to-all", 256, 'fragment = "16 KB"\nqueries = 1'),
    ("all-to-all", 1024, 'fragment = "4 KB"\nqueries = 1'),
    ("all-reduce", 64, 'fragment = "10 MB"\nqueries = 1'),
    ("all-reduce", 512, 'fragment = "4 MB"\nqueries = 1'),
    ("all-reduce", 4096, 'fragment = "4 MB"\nqueries = 1\nalgorithm = "tree"'),
]
LIMIT_S = 900


def run(folder: pathlib.Path, scheme: str, kind: str, hosts: int, workload: str) -> list[float] | None:
    """Forecast and cost: seconds, then bytes; None for a run that takes too long."""
    among = kind.startswith("all")
    fabric = "[fabric]\n" + RACKS.format(racks=hosts // 32) if among else ""
    values = {"scheme": scheme, "kind": kind, "workload": workload, "fabric": fabric, "memory": max(64, hosts // 4)}
    duration = "20 ms" if kind == "barrier" else "60 s"
    path = folder / "case.toml"
    path.write_text(TEXT.format(**values, duration=duration, fan_in=hosts - 1))
    try:
        done = subprocess.run([PROGRAM, path], capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        raise SystemExit(f"estimates: {kind} among {hosts} with {scheme}: {done.stderr.strip()}")
    return [float(word) for word in done.stdout.split()]


def main() -> None:
    wanted = sys.argv[1:] or SCHEMES
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for kind, hosts, workload in CASES:
            for scheme in wanted:
                found = run(pathlib.Path(folder), scheme, kind, hosts, workload)
                if found is None:
                    print(f"{kind:<11} {hosts:>5} {scheme:<6} more than {LIMIT_S} s", flush=True)
                    continue
                time, memory = found[0] / max(found[1], 0.02), found[2] / max(found[3], 4e6)
                marks = "".join("  !" if not 0.5 <= ratio <= 2 else "   " for ratio in (time, memory))
                wrong += marks.count("!")
                says = f"{found[0]:8.2f} s of {found[1]:8.2f}, {time:5.2f}   {found[2] / 1e6:8.1f} MB of {found[3] / 1e6:8.1f}, {memory:5.2f}"
                print(f"{kind:<11} {hosts:>5} {scheme:<6} {says}{marks}", flush=True)
    print(f"estimates: {wrong} ratios outside of 0.5 to 2")


main()
