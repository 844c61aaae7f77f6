"""Shared by the benchmarks: runs of fanin and of the ns-3 program, one at a time."""

import json
import pathlib
import subprocess

# `tc red` with a burst of 20 packets of 1,500 B over a minimum of 30,000 B takes a weight of 1/2.
RED = ["red.min_th=30000 B", "red.max_th=30001 B", "red.max_p=1", "red.weight=1/2", "red.gentle=false"]
ROOT = pathlib.Path(__file__).resolve().parent.parent
FANIN = ROOT / "target" / "release" / "fanin"


def compare(scenario, *arguments, warnings=None):
    """`fanin compare --json` from the project's root, without cached runs; its warnings go to `warnings`."""
    command = [FANIN, "compare", scenario, "--json", "--no-cache", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, stderr=warnings, text=True)
    return json.loads(done.stdout)


def goodputs(scenario, seeds, *arguments):
    """The goodput of one scheme at one point under each seed, from the first on."""
    rows = [compare(scenario, *arguments, "--seeds", 1, "--first-seed", seed, warnings=subprocess.DEVNULL)["rows"] for seed in range(1, seeds + 1)]
    return [row["goodput_mbps"]["mean"] for (row,) in rows]


def ns3(*arguments, program="incast"):
    done = subprocess.run([ROOT / "bench" / "build" / f"ns3-{program}", *arguments], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def build_ns3():
    subprocess.run(["sh", ROOT / "bench" / "ns3" / "build.sh"], check=True)
