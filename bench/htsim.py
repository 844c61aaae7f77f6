#!/usr/bin/env python3
"""Speed of fanin against csg-htsim, from a checkout of it that is named: data packets delivered per second of user CPU, in turn.

A data packet counts once, however many links it crosses. Both report the user CPU time of the simulation alone, and both do the same work: flow
times and drops are printed once. htsim is built with its own flags under target/htsim; nothing is written in its folder.
Exits 1 where a ratio is missed, 2 where the folder is none of csg-htsim or cannot be built.

    htsim.py FOLDER [--rounds N]
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

from figures import ROOT, compare
from run import WORKS

# One row per benchmark: description, htsim program, target ratio.
RIVALS = {
    "A": ("32 DCTCP senders of 20 MB into one host, 10 Gbit/s", "star", 3.3),
    "C": ("64 KiB between all pairs of 160 hosts in four racks, NewReno", "shuffle", 4.8),
}


def checkout(parser, named):
    """The folder, if it is one of csg-htsim."""
    if not named:
        parser.error("name a folder of csg-htsim (github.com/Broadcom/csg-htsim): make bench-htsim HTSIM=/path/to/csg-htsim")
    folder = pathlib.Path(named).expanduser().resolve()
    for needed in ("sim/Makefile", "sim/dctcp.cpp", "sim/ecnqueue.cpp"):
        if not (folder / needed).is_file():
            parser.error(f"{named} is no checkout of csg-htsim: it has no {needed}")
    if any(sign in str(folder) for sign in " :$#%"):
        parser.error(f"make cannot read a folder of this name: {folder}")
    return folder


def commit_of(folder):
    done = subprocess.run(["git", "-C", folder, "rev-parse", "--short=7", "HEAD"], capture_output=True, text=True)
    return f"commit {done.stdout.strip()}" if done.returncode == 0 else "commit unknown"


def build(folder):
    """Its library and our programs, in a folder of their own for each checkout."""
    out = ROOT / "target" / "htsim" / str(folder).strip("/").replace("/", "-")
    out.mkdir(parents=True, exist_ok=True)
    programs = [program for _, program, _ in RIVALS.values()]
    command = ["make", "-C", out, f"-j{os.cpu_count()}", "-f", ROOT / "bench" / "htsim" / "Makefile", f"HTSIM={folder}", *programs]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        print(f"{done.stdout[-4000:]}\nhtsim: {folder} cannot be built", file=sys.stderr)
        sys.exit(2)
    return out


def of_fanin(arguments):
    out = compare(*arguments, "--jobs", "1")
    (row,) = out["rows"]
    rate = row["data_packets"] / max(out["engine"]["cpu_s"], 1e-9)
    return rate, {"packets": row["data_packets"], "p50": row["fct_ms"]["p50"], "p99": row["fct_ms"]["p99"], "drops": row["drops"]}


def of_htsim(program):
    done = subprocess.run([program], check=True, stdout=subprocess.PIPE, text=True)
    out = json.loads(done.stdout)
    rate = out["data_packets"] / max(out["cpu_s"], 1e-9)
    return rate, {"packets": out["data_packets"], "p50": out["fct_p50_ms"], "p99": out["fct_p99_ms"], "drops": out["drops"]}


def show(name, done):
    print(f"  {name:5}: {done['packets']:.0f} data packets, flows p50 {done['p50']:.3f} ms, p99 {done['p99']:.3f} ms, {done['drops']:.0f} drops")


def take_turns(work, program, rounds):
    """The ratios of the rates, pair by pair."""
    ratios = []
    for turn in range(1, rounds + 1):
        (mine, my_work), (other, other_work) = of_fanin(WORKS[work]["fanin"]), of_htsim(program)
        if turn == 1:
            show("fanin", my_work)
            show("htsim", other_work)
        ratios.append(mine / other)
        print(f"  {turn}: fanin {mine / 1e6:6.2f} M/s   htsim {other / 1e6:6.2f} M/s   ratio {ratios[-1]:5.2f}", flush=True)
    return ratios


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", help="a checkout of csg-htsim")
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    folder = checkout(parser, asked.folder)
    if asked.rounds < 1:
        parser.error("--rounds must be at least 1")
    programs = build(folder)
    print(f"csg-htsim: {commit_of(folder)}", flush=True)
    missed = []
    for work, (says, program, wanted) in RIVALS.items():
        print(f"{work}: {says}", flush=True)
        ratio = statistics.median(take_turns(work, programs / program, asked.rounds))
        missed += [work] if ratio < wanted else []
        print(f"  median ratio {ratio:.2f}, at least {wanted} wanted\n", flush=True)
    if missed:
        print(f"missed: {', '.join(missed)}")
        sys.exit(1)


if __name__ == "__main__":
    main()
