#!/usr/bin/env python3
"""`fanin front` beside nutcracker (twemproxy), before the same memcached servers, under the same load, in one run.

Prints, for every number of servers, keys a get and connections: the proxy's CPU time a million keys (user and system, from /proc),
the 99th percentile at the same open-loop rate, and the memory; then the ratios against the targets. Pass after pass the
two take turns, and the least of each one's CPU times counts: what else the machine does can only add to it.

    front.py [--passes N] [--seconds S] [--servers 8,32] [--connections 1,16,64] [--keys 1,100,1000] [--idle] [--json FILE]

FANIN and LOAD name the binaries. Needs Debian's memcached and nutcracker.
"""

import argparse
import contextlib
import json
import os
import pathlib
import resource
import socket
import subprocess
import sys
import tempfile
import time

from stands import ROOT, ended, front, memcached, start

LOAD = os.environ.get("LOAD", str(ROOT / "target/release/examples/load"))
KEYS = 50_000
FIRST = 23000
TICKS = os.sysconf("SC_CLK_TCK")


def target(servers, keys, connections):
    """How much of nutcracker's CPU at most. At one connection, where nothing can be gathered, a bare relay costs a third already."""
    if connections == 1 or keys == 1:
        return 0.5
    return 1 / 5 if keys >= 1000 and (connections >= 64 or servers >= 32) else 1 / 3


def cpu(pid):
    """Seconds that a process has taken, all threads, finer than ticks where the scheduler tells."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        total += int(pathlib.Path(f"/proc/{pid}/task/{task}/schedstat").read_text().split()[0])
    return total / 1e9


def memory(pid):
    """The most that a process has had, in MB."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1000


def load(port, *arguments):
    out = subprocess.run([LOAD, f"127.0.0.1:{port}", str(KEYS), *map(str, arguments)], stdout=subprocess.PIPE, text=True)
    if out.returncode:
        sys.exit(f"the load on port {port} failed: {arguments}")
    return json.loads(out.stdout)


@contextlib.contextmanager
def proxies(servers):
    """Both, before the same servers: the port of each and its process."""
    ports = range(FIRST, FIRST + servers)
    with tempfile.TemporaryDirectory() as folder, ended([]) as processes:
        processes.extend(map(memcached, ports))
        lines = "".join(f"   - 127.0.0.1:{port}:1\n" for port in ports)
        config = pathlib.Path(folder) / "n.yml"
        config.write_text(f"p:\n  listen: 127.0.0.1:{FIRST + 100}\n  hash: fnv1a_64\n  distribution: ketama\n  servers:\n{lines}")
        nutcracker = start(FIRST + 100, "nutcracker", "-c", config, "-s", FIRST + 102, "-o", config.with_suffix(".log"))
        processes.append(nutcracker)
        fanin = front(FIRST + 101, ports, "--threads", 1)
        processes.append(fanin)
        subprocess.run([LOAD, "fill", f"127.0.0.1:{FIRST + 101}", str(KEYS)], check=True)
        yield {"nutcracker": (FIRST + 100, nutcracker.pid), "fanin": (FIRST + 101, fanin.pid)}


def cell(proxies, connections, keys, options):
    """One setting: both proxies, pass after pass."""
    took = {name: [] for name in proxies}
    rates = {name: [] for name in proxies}
    for turn in range(options.passes):
        for name in list(proxies) if turn % 2 == 0 else list(proxies)[::-1]:
            port, pid = proxies[name]
            before = cpu(pid)
            found = load(port, connections, keys, options.seconds)
            took[name].append((cpu(pid) - before) / found["keys"] * 1e6)
            rates[name].append(found["requests"] / options.seconds)
    row = {"connections": connections, "keys": keys}
    for name in proxies:
        row[name] = {"cpu_s_a_mget": round(min(took[name]), 3), "spread": round(max(took[name]) / min(took[name]), 2)}
        row[name]["requests_a_second"] = round(max(rates[name]))
    # Open loop at half the slower proxy's capacity: neither is overloaded.
    rate = min(max(found) for found in rates.values()) / 2
    found = [(name, load(proxies[name][0], connections, keys, options.seconds, rate)) for _ in range(options.passes) for name in proxies]
    for name in proxies:
        for quantile in ("p50_ms", "p99_ms"):
            row[name][quantile] = min(one[quantile] for whose, one in found if whose == name)
    row["cpu_ratio"] = round(row["fanin"]["cpu_s_a_mget"] / row["nutcracker"]["cpu_s_a_mget"], 3)
    row["p50_ratio"] = round(row["fanin"]["p50_ms"] / row["nutcracker"]["p50_ms"], 2)
    row["p99_ratio"] = round(row["fanin"]["p99_ms"] / row["nutcracker"]["p99_ms"], 2)
    return row


def idle(proxies, count=10_000):
    """Memory of `count` idle connections in fanin, in MB."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (count + 1000, max(count + 1000, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
    port, pid = proxies["fanin"]
    resident = lambda: int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6
    before, sockets = resident(), []
    for _ in range(count):
        sockets.append(socket.create_connection(("127.0.0.1", port), 5))
        sockets[-1].sendall(b"version\r\n")
    for one in sockets:
        assert one.recv(100).startswith(b"VERSION")
    after = resident()
    for one in sockets:
        one.close()
    return round(after - before, 1)


def numbers(text):
    return [int(part) for part in text.split(",")]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--servers", type=numbers, default=[8, 32])
    parser.add_argument("--connections", type=numbers, default=[1, 16, 64])
    parser.add_argument("--keys", type=numbers, default=[1, 100, 1000])
    parser.add_argument("--idle", action="store_true")
    parser.add_argument("--json")
    options = parser.parse_args()
    print("servers keys conns |  CPU s/Mget fanin nutcracker ratio target | p50 ratio | p99 ms fanin nutcracker ratio")
    rows = []
    for servers in options.servers:
        with proxies(servers) as both:
            for keys in options.keys:
                for connections in options.connections:
                    row = {"servers": servers, **cell(both, connections, keys, options)}
                    row["target"] = round(target(servers, keys, connections), 2)
                    rows.append(row)
                    ours, theirs = row["fanin"], row["nutcracker"]
                    print(f"{servers:7} {keys:4} {connections:5} | {ours['cpu_s_a_mget']:17.3f} {theirs['cpu_s_a_mget']:10.3f} "
                          f"{row['cpu_ratio']:5.2f} {row['target']:6.2f} | {row['p50_ratio']:9.2f} | {ours['p99_ms']:12.3f} {theirs['p99_ms']:10.3f} "
                          f"{row['p99_ratio']:5.2f}", flush=True)
            used = {name: round(memory(pid), 1) for name, (_, pid) in both.items()}
            print(f"{servers} servers: memory in MB, at most: {used}")
            rows.append({"servers": servers, "memory_mb": used})
            if options.idle:
                print(f"10,000 idle connections: {idle(both)} MB")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
