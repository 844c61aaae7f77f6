#!/usr/bin/env python3
"""Latency of `fanin front` by `batching_delay` and of nutcracker, at the same rate: on an idle machine, beside busy processes, and under a quota.

Prints the median over passes of p50 and p99, ms, and of the CPU time a million keys. A proxy under a quota has half a core (a cgroup, as root).

    delays.py [--passes N] [--seconds S] [--delays "0 s,100 us"] [--connections 16] [--keys 1,100] [--rate 5000]

FANIN and LOAD name the binaries. Needs Debian's memcached and nutcracker.
"""

import argparse
import contextlib
import pathlib
import statistics
import subprocess
import tempfile

from front import FIRST, KEYS, LOAD, cpu, load, numbers
from stands import FANIN, at, ended, memcached, start

SERVERS = 8
BUSY = 4
PERIOD_US = 100_000


@contextlib.contextmanager
def busy():
    with ended([subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(BUSY)]):
        yield


@contextlib.contextmanager
def quota(pids):
    """Half a core for each of these processes; version 1 or 2 of cgroups."""
    old, new = pathlib.Path("/sys/fs/cgroup/cpu"), pathlib.Path("/sys/fs/cgroup")
    groups = [(old if old.exists() else new) / f"fanin-delays-{pid}" for pid in pids]
    try:
        for group, pid in zip(groups, pids):
            group.mkdir()
            if old.exists():
                (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
                (group / "cpu.cfs_quota_us").write_text(str(PERIOD_US // 2))
            else:
                (group / "cpu.max").write_text(f"{PERIOD_US // 2} {PERIOD_US}")
            (group / "cgroup.procs").write_text(str(pid))
        yield
    finally:
        for group, pid in zip(groups, pids):
            with contextlib.suppress(OSError):
                (group.parent / "cgroup.procs").write_text(str(pid))
                group.rmdir()


@contextlib.contextmanager
def proxies(delays):
    """By name: the port and the process."""
    ports = range(FIRST, FIRST + SERVERS)
    with tempfile.TemporaryDirectory() as name, ended([]) as processes:
        folder = pathlib.Path(name)
        processes.extend(map(memcached, ports))
        lines = "".join(f"   - 127.0.0.1:{port}:1\n" for port in ports)
        config = folder / "n.yml"
        config.write_text(f"p:\n  listen: {at(FIRST + 100)}\n  hash: fnv1a_64\n  distribution: ketama\n  servers:\n{lines}")
        found = {"nutcracker": start(FIRST + 100, "nutcracker", "-c", config, "-s", FIRST + 99, "-o", folder / "n.log")}
        for port, delay in enumerate(delays, FIRST + 101):
            own = folder / f"{port}.toml"
            listed = ", ".join(f'"{at(server)}"' for server in ports)
            own.write_text(f'threads = 1\nbatching_delay = "{delay}"\n[[pool]]\nlisten = "{at(port)}"\nservers = [{listed}]\n')
            found[delay] = start(port, FANIN, "front", "--config", own)
        processes.extend(found.values())
        subprocess.run([LOAD, "fill", at(FIRST + 101), str(KEYS)], check=True)
        yield {name: (FIRST + 100 + number, process.pid) for number, (name, process) in enumerate(found.items())}


def measure(found, keys, options):
    # Keys of one request are cheaper than keys of several.
    rate = options.rate if keys == 1 else 10 * options.rate / keys
    rows = {name: [] for name in found}
    for turn in range(options.passes):
        for name in list(found)[:: 1 if turn % 2 == 0 else -1]:
            port, pid = found[name]
            before = cpu(pid)
            took = load(port, options.connections, keys, options.seconds, rate)
            rows[name].append((took["p50_ms"], took["p99_ms"], (cpu(pid) - before) / took["keys"] * 1e6))
    return {name: [statistics.median(column) for column in zip(*passes)] for name, passes in rows.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--delays", default="0 s,100 us")
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--keys", type=numbers, default=[1, 100])
    parser.add_argument("--rate", type=int, default=10_000, help="requests of one key a second; of more keys, ten times as many keys")
    options = parser.parse_args()
    print("where        keys  proxy       p50 ms  p99 ms  CPU s/Mkey")
    with proxies(options.delays.split(",")) as found:
        places = {"idle": contextlib.nullcontext(), "busy": busy(), "half a core": quota([pid for _, pid in found.values()])}
        for where, place in places.items():
            with place:
                for keys in options.keys:
                    for name, (p50, p99, took) in measure(found, keys, options).items():
                        print(f"{where:12} {keys:4}  {name:10} {p50:7.3f} {p99:7.3f} {took:9.2f}", flush=True)


if __name__ == "__main__":
    main()
