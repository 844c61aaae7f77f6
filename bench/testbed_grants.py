#!/usr/bin/env python3
"""Granted windows at ten random clusters on this machine's kernel, beside their prediction (needs root and `fanin-kernel`).

The clusters are those of `bench/scenarios/testbed-kernel.toml` with other numbers of servers, buffers, responses and minimum RTOs, which are
predicted to reach less than 70 % of the port's rate. Each is measured as it is and with grants: a queue of half the buffer, and an ACK for
every segment. Grants have to be better at each of them, and the gain has to be within 30 % of the prediction at eight. Exits with 1 if not.

    testbed_grants.py [--seed N] [--clusters N]
"""

import argparse
import json
import os
import pathlib
import random
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FANIN = os.environ.get("FANIN", str(ROOT / "target/release/fanin"))
SCENARIO = ROOT / "bench" / "scenarios" / "testbed-kernel.toml"
RATE = 40
DEGRADED, WITHIN, SHARE = 0.7, 0.3, 0.8


def draw(chance):
    """Settings of a cluster, and its servers."""
    buffer = chance.choice([32, 64, 128])
    settings = {"switch.buffer": f"{buffer} KiB", "workload.fragment": f"{chance.choice([16, 32, 64, 128])} KiB",
                "workload.connections": "standing", "tcp.rto_min": chance.choice(["50 ms", "200 ms"])}
    return settings, buffer, chance.randint(8, 48)


def rows(command, scheme, servers, settings):
    words = [FANIN, command, SCENARIO, "--schemes", scheme, "--fan-in", str(servers), "--seeds", "1", "--json"]
    words += [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"testbed-grants: {' '.join(map(str, words))}: {done.stderr.strip()[-300:]}")
    return json.loads(done.stdout)["rows"]


def clusters(seed, count):
    """Clusters whose goodput is predicted to be low."""
    chance, found = random.Random(seed), 0
    while found < count:
        settings, buffer, servers = draw(chance)
        if rows("compare", "cubic", servers, settings)[0]["goodput_mbps"]["mean"] < DEGRADED * RATE:
            found += 1
            yield settings, buffer, servers


def both(scheme, servers, settings):
    """Goodput, as measured and as predicted, and the measured timeouts."""
    (row,) = rows("testbed", scheme, servers, settings)
    return [row[side]["goodput_mbps"]["mean"] for side in ("measured", "predicted")], row["measured"]["timeouts"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, help="draws the clusters")
    parser.add_argument("--clusters", type=int, default=10)
    options = parser.parse_args()
    better = near = 0
    for settings, buffer, servers in clusters(options.seed, options.clusters):
        today, timeouts_today = both("cubic", servers, settings)
        granted = settings | {"grants.queue": f"{buffer // 2} KiB", "grants.turn": "1", "tcp.delayed_ack": "1"}
        after, timeouts = both("cubic+grants", servers, granted)
        gains = [new / old for new, old in zip(after, today)]
        is_better, is_near = gains[0] > 1, abs(gains[0] / gains[1] - 1) <= WITHIN
        better, near = better + is_better, near + is_near
        said = " ".join(f"{key.split('.')[1]}={value}" for key, value in settings.items())
        print(f"{'better' if is_better else 'NO BETTER'}, {'as predicted' if is_near else 'NOT AS PREDICTED'}: {gains[0]:.2f} times measured "
              f"({today[0]:.1f} to {after[0]:.1f} Mbit/s, {timeouts_today:.0f} to {timeouts:.0f} timeouts), {gains[1]:.2f} predicted "
              f"({today[1]:.1f} to {after[1]:.1f}); {servers} servers, {said}", flush=True)
    print(f"better at {better} of {options.clusters}, gain as predicted at {near}")
    sys.exit(better < options.clusters or near < SHARE * options.clusters)


if __name__ == "__main__":
    main()
