#!/usr/bin/env python3
"""Speed of the engine against that of another commit: both are built, and take turns at the works of `make bench`.

Prints data packets a second of user CPU, this tree's over the other's, pair by pair, with the median and how far pairs scatter. It judges nothing:
what drifts by a hundredth a week is to be seen.

    drift.py [--rev COMMIT] [--rounds N] [--works A,B,C,10k]
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

from run import WORKS

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Of 20 November 2026, when the engine was at its fastest.
RECORDED = "30e6173"


def git(*arguments):
    return subprocess.run(["git", "-C", ROOT, *arguments], check=True, capture_output=True, text=True).stdout.strip()


def built(rev):
    """The program of a commit, and the folder with its files; both are kept under target/drift."""
    commit = git("rev-parse", "--short=12", rev + "^{commit}")
    tree = ROOT / "target" / "drift" / commit
    program = tree / "target" / "release" / "fanin"
    if not program.exists():
        if not tree.exists():
            git("worktree", "add", "--detach", str(tree), commit)
        print(f"drift: building {commit}, which takes minutes", file=sys.stderr, flush=True)
        environment = {**os.environ, "CARGO_TARGET_DIR": str(tree / "target")}
        done = subprocess.run(["cargo", "build", "--quiet", "--release", "--locked", "-p", "fanin-cli"], cwd=tree, env=environment)
        if done.returncode:
            sys.exit(f"drift: {commit} cannot be built")
    return commit, program, tree


def rate(program, tree, arguments):
    """Data packets a second of user CPU."""
    command = [program, "compare", *arguments, "--jobs", "1", "--json", "--no-cache"]
    done = subprocess.run([str(word) for word in command], cwd=tree, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"drift: {' '.join(map(str, command))} failed:\n{done.stderr[-2000:]}")
    told = json.loads(done.stdout)
    return sum(row["data_packets"] * row["seeds"] for row in told["rows"]) / max(told["engine"]["cpu_s"], 1e-9)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rev", default=RECORDED)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--works", default=",".join(WORKS))
    asked = parser.parse_args()
    try:
        commit, other, tree = built(asked.rev)
    except subprocess.CalledProcessError as error:
        sys.exit(f"drift: --rev {asked.rev}: {error.stderr.strip()}; right would be a commit of this repository")
    # Both engines read the older one's files.
    mine = ROOT / "target" / "release" / "fanin"
    for name in asked.works.split(","):
        if name not in WORKS:
            sys.exit(f"drift: --works {name}: right would be some of {', '.join(WORKS)}")
        ratios = []
        for turn in range(asked.rounds):
            order = [mine, other] if turn % 2 == 0 else [other, mine]
            rates = {program: rate(program, tree, WORKS[name]["fanin"]) for program in order}
            ratios.append(rates[mine] / rates[other])
            print(f"  {name} {turn + 1}: {rates[mine] / 1e6:.2f} M/s here, {rates[other] / 1e6:.2f} M/s at {commit}: {ratios[-1]:.3f}", flush=True)
        print(f"{name}: {statistics.median(ratios):.3f} of {commit}, from {min(ratios):.3f} to {max(ratios):.3f}", flush=True)


if __name__ == "__main__":
    main()
