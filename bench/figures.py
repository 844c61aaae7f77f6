"""Shared by the benchmarks: runs of fanin and of the ns-3 program, one at a time."""

import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
FANIN = ROOT / "target" / "release" / "fanin"


def compare(scenario, *arguments):
    """`fanin compare --json` from the project's root, every run afresh."""
    command = [FANIN, "compare", scenario, "--json", "--no-cache", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def ns3(*arguments, program="incast"):
    done = subprocess.run([ROOT / "bench" / "build" / f"ns3-{program}", *arguments], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def build_ns3():
    subprocess.run(["sh", ROOT / "bench" / "ns3" / "build.sh"], check=True)
