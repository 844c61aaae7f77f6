#!/usr/bin/env python3
"""Contradictions in the figures and verdicts that `fanin` prints, over random scenarios.

Each case is a scenario with a random workload and settings, drawn from its number. The case runs `fanin compare`, `advise`, `diagnose` and
`plan` with `--json`; judgements.py derives states and figures again, independently, and compares them. At the end, the scorecards of all papers
are judged. Prints each contradiction with the scenario that replays it.
"""

import argparse
import json
import os
import pathlib
import random
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import judgements

ROOT = pathlib.Path(__file__).resolve().parent.parent
FANIN = os.environ.get("FANIN", ROOT / "target" / "release" / "fanin")
KINDS = ["barrier"] * 5 + ["web-search"] * 2 + ["one-shot", "long", "key_value", "key_value", "bursts", "shuffle", "poisson", "all-reduce"]
PACKET = ["newreno", "cubic", "dctcp", "newreno+m21", "newreno+gss", "newreno+red+ecn", "newreno+codel", "newreno+ictcp"]
OBJECTS = ["one-all", "sicc", "ictcp-window", "sw", "dctcp"]
ANY_TO_ANY = ("shuffle", "poisson", "all-reduce")
BURSTS = "gap_us,fan_in,bytes\n2000,4,40000\n500,8,200000\n8000,12,30000\n"


def scenario(draw, folder):
    """A scenario with at most two points and two schemes: its text, and its sections."""
    kind = draw.choice(KINDS)
    schemes = draw.sample(OBJECTS if kind == "key_value" else PACKET, draw.choice([1, 2]))
    sections = {
        "link": {"rate": draw.choice(["100 Mbit/s", "1 Gbit/s", "10 Gbit/s"]), "delay": draw.choice(["1 us", "5 us", "25 us", "200 us"])},
        "switch": {"buffer": draw.choice(["16 KiB", "64 KiB", "256 KiB", "4 MiB"])},
        "tcp": {"rto_min": draw.choice(["1 ms", "10 ms", "200 ms"])},
        "host": {},
        "workload": {"kind": kind, "duration": draw.choice(["50 ms", "200 ms"])},
        "run": {"seeds": draw.choice([1, 2, 3])},
    }
    some = lambda share, section, key, values: sections.setdefault(section, {}).update({key: draw.choice(values)}) if draw.random() < share else None
    some(0.4, "tcp", "profile", ["linux"])
    some(0.2, "link", "frames", ["jumbo"])
    some(0.3, "host", "packet_jitter", ["none"])
    if kind in ("barrier", "web-search", "key_value"):
        some(0.3, "host", "service_time", ["20 us", "500 us"])
        some(0.2, "host", "service_jitter", ["10 us", "1 ms"])
        some(0.2, "workload", "pause", ["100 us", "5 ms", "60 ms"])
    if kind in ("barrier", "one-shot", "web-search", "shuffle", "all-reduce"):
        sections["workload"]["fragment"] = draw.choice(["500 B", "10 KB", "64 KiB", "200 KB"])
    if kind in ("barrier", "web-search"):
        some(0.2, "workload", "in_flight", [1, 4])
        some(0.2, "workload", "request", ["1 B", "10 KB"])
        some(0.1, "workload", "connections", ["new", "standing"])
        some(0.1, "workload", "warm_up", ["2 rounds", "5 ms"])
        if draw.random() < 0.2:
            sections["workload"].update(clients=draw.choice([2, 4]), servers=draw.choice(["same", "own", "others"]))
    if kind in ("barrier", "one-shot", "long"):
        some(0.15, "workload", "background", [1, 3])
    if kind in ("web-search", "key_value", "all-reduce"):
        sections["workload"]["queries"] = draw.choice([2, 20])
    if kind == "key_value":
        sections["key_value"] = {"objects": 5000, "replicas": draw.choice([1, 3]), "per_request": draw.choice([1, 20, 200])}
        some(0.2, "key_value", "front_ends", [2])
        some(0.2, "key_value", "within", ["20 ms"])
    if kind == "poisson":
        sections["workload"].update(load=draw.choice([0.1, 0.6]), duration="20 ms")
    if kind == "bursts":
        (folder / "bursts.csv").write_text(BURSTS)
        sections["workload"]["bursts"] = "bursts.csv"
    some(0.15, "faults", "loss", ["0.1 %", "1 %"])
    some(0.08, "faults", "hosts", [["10 ms server2 crashes"], ["5 ms server1 slows to 0.05"]])
    fan_in = sorted(draw.sample([3, 8, 16, 40] if kind != "shuffle" else [4, 8], 2)) if kind != "bursts" else [16]
    sections["sweep"] = {"fan_in": fan_in}
    value = lambda of: json.dumps(of)
    text = "schemes = %s\n" % json.dumps(schemes)
    for name, keys in sections.items():
        text += "[%s]\n" % name + "".join("%s = %s\n" % (key, value(of)) for key, of in keys.items())
    return text, sections


def ran(folder, *arguments):
    """The JSON object that `fanin` prints. None if it refuses the scenario."""
    place = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    done = subprocess.run([FANIN, *arguments, "--json"], cwd=folder, capture_output=True, text=True, timeout=600, env=place)
    if done.returncode == 2:
        return None
    if done.returncode:
        raise Failed("%s: exit %d: %s" % (" ".join(arguments), done.returncode, done.stderr.strip()[-300:]))
    return json.loads(done.stdout)


class Failed(Exception):
    """A command that failed other than by refusing its input."""


def advised(draw, folder):
    """Contradictions in the advice for the scenario."""
    goal = draw.choice([None, None, "p99 < 10 ms", "mean < 50 us", "goodput > 80 %"])
    grow = ["--grow-to", "48"] if draw.random() < 0.2 else []
    told = ran(folder, "advise", "random.toml", "--budget", "3M", "--jobs", "1", *(["--goal", goal] if goal else []), *grow)
    if told is None:
        return []
    found = list(judgements.advice(told))
    for of in filter(None, (told["today"], told["grown"])):
        # The command that the advice names for it.
        row = ran(folder, *shlex.split(of["run"])[1:])["rows"][0]
        found += judgements.standing(of, row)
    return ["advise: " + what for what in found]


def diagnosed(draw, folder, scheme):
    """Contradictions in the diagnosis of one run's capture."""
    made = subprocess.run([FANIN, "trace", "random.toml", "--scheme", scheme, "--fan-in", draw.choice(["3", "8", "16"]), "--set", "workload.duration=100 ms", "--out", "t.pcapng"],
                          cwd=folder, capture_output=True, text=True, timeout=600)
    told = ran(folder, "diagnose", "t.pcapng") if made.returncode == 0 else None
    return ["diagnose: " + what for what in judgements.diagnosis(told)] if told else []


def planned(draw, folder):
    """Contradictions in the plan for a random log and cluster."""
    pages = [[draw.randrange(400) for _ in range(draw.choice([3, 10, 25]))] for _ in range(draw.choice([5, 30]))]
    with open(folder / "log.csv", "w", encoding="utf-8") as log:
        log.write("time,query,key,size\n")
        for query in range(draw.choice([200, 600])):
            keys = set(draw.choice(pages)) if draw.random() < 0.9 else {draw.randrange(400) for _ in range(5)}
            log.writelines("%.3f,%d,k%d,%d\n" % (query * 0.01, query, key, 100 + key) for key in sorted(keys))
    (folder / "cluster.toml").write_text(
        'schemes = ["groups"]\n[fabric]\nkind = "leaf-spine"\nracks = 2\nhosts_per_rack = %d\nspines = 1\n[link]\nrate = "1 Gbit/s"\ndelay = "5 us"\n'
        '[switch]\nbuffer = "64 KiB"\n[workload]\nkind = "key_value"\nfan_in = %d\n[key_value]\nreplicas = %d\n'
        % (*draw.choice([(6, 10), (16, 30)]), draw.choice([1, 2])))
    told = ran(folder, "plan", "log.csv", "--cluster", "cluster.toml", "--method", draw.choice(["groups", "picc"]))
    return ["plan: " + what for what in judgements.plan(told)] if told else []


def compared(sections, folder):
    """Contradictions in the comparison of the scenario. None if the scenario is invalid."""
    told = ran(folder, "compare", "random.toml", "--jobs", "1")
    if told is None:
        return None
    host, kind = sections["host"], sections["workload"]["kind"]
    chance = kind == "key_value" or "service_jitter" in host or host.get("packet_jitter") != "none"
    load, rate = sections["workload"].get("load", 0), float(sections["link"]["rate"].split()[0])
    rate *= 1000 if "Gbit" in sections["link"]["rate"] else 1
    offered = [load * rate * (hosts + 1) for hosts in sections["sweep"]["fan_in"]]
    rto_min = float(sections["tcp"]["rto_min"].split()[0])
    return ["compare: " + what for what in judgements.comparison(told, chance, kind not in ANY_TO_ANY, [*offered, rto_min, 200.0])]


def case(number_, commands):
    """A case's scenario and its contradictions. None for these if the scenario is invalid."""
    draw = random.Random(number_)
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        text, sections = scenario(draw, folder)
        (folder / "random.toml").write_text(text)
        scheme = json.loads(text.splitlines()[0].partition("= ")[2])[0]
        bad, judged = [], False
        for command, judge in [("compare", lambda: compared(sections, folder)), ("advise", lambda: advised(draw, folder)),
                               ("diagnose", lambda: diagnosed(draw, folder, scheme)), ("plan", lambda: planned(draw, folder))]:
            if command not in commands:
                continue
            try:
                found = judge()
            except Failed as why:
                found = [str(why)]
            judged |= found is not None
            bad += found or []
        return text, bad if judged else None


def reproduced():
    """Contradictions in the scorecards of all papers, from quick runs."""
    with tempfile.TemporaryDirectory() as place:
        run = subprocess.run([FANIN, "reproduce", "all", "--quick", "--json"], cwd=ROOT, capture_output=True, text=True,
                             env={**os.environ, "XDG_CACHE_HOME": place})
    # 1: a verdict differs from the recorded one, as measured times on a busy machine do.
    if run.returncode not in (0, 1):
        return [run.stderr.strip()]
    return list(judgements.scorecard(json.loads(run.stdout)))


COMMANDS = ["compare", "advise", "diagnose", "plan", "reproduce"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--commands", nargs="*", default=COMMANDS, choices=COMMANDS)
    arguments = parser.parse_args()
    numbers = range(arguments.first, arguments.first + arguments.cases)
    judged = refuted = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for number_, (text, bad) in zip(numbers, pool.map(lambda number_: case(number_, arguments.commands), numbers)):
            judged += bad is not None
            if bad:
                refuted += 1
                print("case %d:\n  %s\n%s" % (number_, "\n  ".join(bad), text), flush=True)
    print("%d scenarios, %d of them valid; %d with contradictions" % (len(numbers), judged, refuted))
    if "reproduce" in arguments.commands:
        bad = reproduced()
        refuted += bool(bad)
        print("\n  ".join(["reproduce: %d contradictions in the scorecards" % len(bad), *bad]))
    sys.exit(1 if refuted or judged < len(numbers) / 2 else 0)


if __name__ == "__main__":
    main()
