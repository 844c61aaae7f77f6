#!/usr/bin/env python3
"""Whether the state in the advice is that of the saved scenario, for clusters drawn at random.

`fanin advise --save` describes and judges each cluster; `fanin compare` of the saved file must give today's goodput within its 95 % CI, and
the same verdict. Both are cheap if they are the same runs, which are cached.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from figures import FANIN
from judgements import state


def draw(seed):
    """The options of a cluster."""
    of = random.Random(seed)
    servers = of.choice([4, 8, 16, 24, 32, 48, 64, 96, 128])
    options = ["--servers", servers, "--rate", of.choice(["1Gbit/s", "10Gbit/s", "25Gbit/s"])]
    options += ["--answer", of.choice(["8KiB", "32KiB", "64KiB", "256KiB", "512KiB", "1MiB"])]
    if of.random() < 0.5:
        options += ["--set", f"switch.buffer={of.choice(['128KiB', '256KiB', '1MiB', '4MiB'])}"]
    if of.random() < 0.3:
        options += ["--tcp", "linux-6.1"]
    if of.random() < 0.2:
        options += ["--clients", of.choice([2, 4])]
    if of.random() < 0.2 and servers >= 16:
        options += ["--stripe", of.choice(["8+3", "10+4", "6"])]
    return [str(option) for option in options]


def ran(folder, *command):
    """The JSON object that a command prints."""
    done = subprocess.run([FANIN, *command, "--json"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stderr.strip()[-300:]}")
    return json.loads(done.stdout)


def judged(seed, folder):
    """Whether both agree, and a line on it."""
    options = draw(seed)
    advice = ran(folder, "advise", *options, "--save", f"{seed}.toml", "--remedies", "rto-min")
    (row,) = ran(folder, "compare", f"{seed}.toml")["rows"]
    today, own = advice["today"], row["goodput_mbps"]
    within = own["lo"] <= today["goodput_mbps"]["mean"] <= own["hi"]
    agrees = within and today["state"] == state(row)
    base = advice["base"]
    how = f"; changes compared over {base['length']} at {base['goodput_mbps']['mean']}" if base else ""
    short = "; SHORT" if base and base["short_only"] else ""
    line = f"{seed:>3} {'agrees' if agrees else 'DIFFERS'}: {' '.join(options)}: {today['state']} at {today['goodput_mbps']['mean']} Mbit/s"
    return agrees, f"{line}, the file {state(row)} at {own['mean']} ({own['lo']} to {own['hi']}){how}{short}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clusters", type=int, default=50)
    parser.add_argument("--first", type=int, default=1, help="draws the first cluster")
    arguments = parser.parse_args()
    right = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(arguments.first, arguments.first + arguments.clusters):
            agrees, line = judged(seed, folder)
            right += agrees
            print(line, flush=True)
    print(f"{right} of {arguments.clusters} clusters: the state in the advice is that of the saved scenario")
    return right < arguments.clusters


if __name__ == "__main__":
    sys.exit(main())
