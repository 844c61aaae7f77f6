#!/usr/bin/env python3
"""Kills `fanin testbed` at random moments and looks for remaining processes, network namespaces and files.

    testbed_kill.py [--kills N] [--seed K]
"""

import argparse
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FANIN = os.environ.get("FANIN", str(ROOT / "target/release/fanin"))
SCENARIO = ROOT / "bench" / "scenarios" / "testbed-key-value.toml"
SETTINGS = ["--schemes", "sw", "--set", "sweep.key_value.per_request=[50]", "--set", "workload.queries=600", "--seeds", "1", "--no-cache"]
# A killed process's children end at once, and the kernel then removes their namespaces in the background.
SECONDS = 5


def processes():
    """Numbers of all processes."""
    return {int(name) for name in os.listdir("/proc") if name.isdigit()}


def namespaces():
    """Network namespaces that a process is in or has open."""
    found = set()
    for number in processes():
        folder = pathlib.Path("/proc") / str(number)
        try:
            links = [folder / "ns" / "net", *(folder / "fd").iterdir()]
            found |= {name for link in links if (name := os.readlink(link)).startswith("net:")}
        except OSError:
            continue
    return found


def ours(mark):
    """Names of the processes whose environment has a mark."""
    found = {}
    for number in processes():
        folder = pathlib.Path("/proc") / str(number)
        try:
            if mark.encode() in (folder / "environ").read_bytes():
                found[number] = (folder / "comm").read_text().strip()
        except OSError:
            continue
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chance, bad = random.Random(options.seed), 0
    kinds = [["--machine", "here"], ["--machine", "here", "--memcached"], ["--machine", "instant"]]
    for number in range(options.kills):
        kind = kinds[number % len(kinds)]
        before, mark = namespaces(), f"TESTBED_KILL={os.getpid()}-{number}"
        with tempfile.TemporaryDirectory() as folder:
            own = {**os.environ, "TMPDIR": folder, **dict([mark.split("=")])}
            command = [FANIN, "testbed", SCENARIO, *kind, *SETTINGS]
            child = subprocess.Popen(command, env=own, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            after = chance.uniform(0.1, 4)
            time.sleep(after)
            started, ended = sorted(ours(mark).values()), child.poll()
            child.kill()
            child.wait()
            time.sleep(SECONDS)
            left, spaces, files = list(ours(mark).values()), namespaces() - before, os.listdir(folder)
        bad += bool(left or spaces or files)
        state = "had ended before" if ended is not None else f"had {len(started)} processes ({', '.join(sorted(set(started)))})"
        print(f"{number + 1:2} {' '.join(kind)} killed after {after:.1f} s, {state}: left {left or 'no process'}, "
              f"{spaces or 'no namespace'}, {files or 'no file'}", flush=True)
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
