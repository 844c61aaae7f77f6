#!/usr/bin/env python3
"""`fanin plan` beside mt-KaHyPar and METIS (from PyPI), PICC, popularity alone and random places, on made-up logs (logs.py).

All are judged by `fanin plan` itself: by the same rule of asking, on the half of the log that nobody has seen. mt-KaHyPar's ε is sought
so that its busiest server has what the plan's has. Writes a table, and bench/placement/figures.json.
"""

import argparse
import collections
import csv
import dataclasses
import functools
import itertools
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import logs

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CLUSTER = """schemes = ["groups"]
[fabric]
kind = "leaf-spine"
racks = {racks}
hosts_per_rack = {hosts_a_rack}
spines = 2
[workload]
kind = "key_value"
fan_in = {servers}
[key_value]
replicas = {replicas}
replica_racks = "distinct"
server = "fifo"
[picc]
period = "200 s"
requests_per_s = 1_000_000
"""
SEEDS = (1, 2, 3)


def groups(layout):
    """As many servers a group as there are replicas, each in a rack of its own."""
    left = collections.defaultdict(list)
    for host in range(1, layout.servers + 1):
        left[host // layout.hosts_a_rack].append(host)
    made = []
    while True:
        fullest = sorted(left, key=lambda rack: (-len(left[rack]), rack))[: layout.replicas]
        if not all(left[rack] for rack in fullest):
            return made
        made.append([left[rack].pop() for rack in fullest])


class Judge:
    """Plans and judges by the program."""

    def __init__(self, fanin, folder, layout):
        self.fanin, self.folder, self.groups = fanin, folder, groups(layout)
        (folder / "cluster.toml").write_text(CLUSTER.format(**dataclasses.asdict(layout)))

    def plan(self, log, *more):
        command = [self.fanin, "plan", log, "--cluster", self.folder / "cluster.toml", "--json", *more]
        began = time.monotonic()
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            sys.exit(f"{command}: {done.stderr}")
        return json.loads(done.stdout) | {"took_s": time.monotonic() - began}

    def of_parts(self, log, parts):
        """Servers a query, and the busiest server's load, with each key's replicas on its part's servers."""
        path = self.folder / "current.csv"
        with open(path, "w", encoding="ascii") as file:
            file.write("key,server\n")
            for key, part in parts.items():
                file.writelines(f"k{key},{server}\n" for server in self.groups[part])
        judged = self.plan(log, "--current", path, "--move-budget", "0 B")
        return judged["servers_before"], judged["busiest_before"]


def numbered(queries, seed=None):
    """Keys that are asked for, how often, and queries by the keys' places, which a seed shuffles."""
    asked = collections.Counter(key for query in queries for key in query)
    keys = sorted(asked)
    if seed is not None:
        random.Random(seed).shuffle(keys)
    places = {key: place for place, key in enumerate(keys)}
    edges = collections.Counter(tuple(places[key] for key in query) for query in queries)
    return keys, [asked[key] for key in keys], edges


@functools.cache
def initialized():
    """mt-KaHyPar, which is made once a process."""
    import mtkahypar

    return mtkahypar.initialize(2)


def kahypar(queries, parts, epsilon, seed):
    """The deterministic preset, for the sum over queries of parts less one; its own seed alone changes nothing there."""
    import mtkahypar

    made = initialized()
    keys, weights, edges = numbered(queries, seed)
    context = made.context_from_preset(mtkahypar.PresetType.DETERMINISTIC)
    context.set_partitioning_parameters(parts, epsilon, mtkahypar.Objective.KM1)
    context.logging = False
    mtkahypar.set_seed(seed)
    nets = [list(query) for query in edges]
    graph = made.create_hypergraph(context, len(keys), len(nets), nets, weights, list(edges.values()))
    found = graph.partition(context)
    return {key: found.block_id(place) for place, key in enumerate(keys)}


def metis(queries, parts, slack):
    """METIS on the graph of objects that are requested together."""
    import pymetis

    keys, weights, edges = numbered(queries)
    near = [collections.Counter() for _ in keys]
    for query, count in edges.items():
        for one, other in itertools.combinations(query[:100], 2):
            near[one][other] += count
            near[other][one] += count
    starts, others, closeness = [0], [], []
    for row in near:
        others += row.keys()
        closeness += row.values()
        starts.append(len(others))
    options = pymetis.Options(ufactor=int(slack * 1000), seed=1)
    _, found = pymetis.part_graph(
        parts, xadj=starts, adjncy=others, eweights=closeness, vweights=weights, options=options
    )
    return {key: found[place] for place, key in enumerate(keys)}


def matched(judge, log, queries, seed, busiest):
    """mt-KaHyPar's figures with the ε of four tries whose busiest server has the load nearest to `busiest`."""
    epsilon, tries = max(busiest * 0.95 - 1, 0.03), []
    for _ in range(4):
        servers, load = judge.of_parts(log, kahypar(queries, len(judge.groups), epsilon, seed))
        tries.append((abs(load - busiest), servers, load, epsilon))
        if abs(load - busiest) < 0.03 * busiest:
            break
        epsilon = max((1 + epsilon) * busiest / load - 1, 0.01)
    _, servers, load, epsilon = min(tries)
    return {"servers": servers, "busiest": load, "epsilon": epsilon, "seed": seed}


def moved(folder):
    """The share of keys that a plan moves."""
    with open(folder / "plan.csv", newline="", encoding="utf-8") as plan:
        objects = {row["object"] for row in csv.DictReader(plan)}
    keys = json.loads((folder / "plan.json").read_text())["log"]["keys"]
    return len(objects) / keys


def row(judge, name, seeds):
    """All figures of a log."""
    make, layout = logs.LOGS[name]
    first, next_day = judge.folder / f"{name}.csv", judge.folder / f"{name}-next.csv"
    queries = make(0)
    logs.write(first, queries)
    logs.write(next_day, make(1))
    seen = queries[: len(queries) // 2]
    planned = judge.plan(first, "--out", judge.folder / name)
    judge.plan(next_day, "--previous", judge.folder / name, "--out", judge.folder / f"{name}-next")
    bound = planned["busiest_after"]
    # PICC's servers may be asked for as much as the plan's busiest one is.
    mean = sum(map(len, seen)) / layout.servers
    a_second = f"picc.requests_per_s={max(int(mean * bound / 200), 1)}"
    picc = judge.plan(first, "--method", "picc", "--set", a_second)
    popular = judge.plan(first, "--method", "picc-no-correlation", "--set", a_second)
    parts = len(judge.groups)
    draws = random.Random(1)
    keys = numbered(seen)[0]
    figures = {
        "log": name,
        "before": [planned["servers_before"], planned["busiest_before"]],
        "plan": [planned["servers_after"], bound],
        "took_s": planned["took_s"],
        "moved": moved(judge.folder / name),
        "moved_next_day": moved(judge.folder / f"{name}-next"),
        "picc": [picc["servers_after"], picc["busiest_after"]],
        "popular": [popular["servers_after"], popular["busiest_after"]],
        "random": judge.of_parts(first, {key: draws.randrange(parts) for key in keys}),
        "metis": judge.of_parts(first, metis(seen, parts, max(bound * 0.95 - 1, 0.03))),
        "kahypar": [matched(judge, first, seen, seed, bound) for seed in seeds],
    }
    return figures


def main():
    """Runs all, or the logs that are named."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("logs", nargs="*", default=list(logs.LOGS))
    asked.add_argument("--fanin", default=ROOT / "target/release/fanin")
    asked.add_argument("--seeds", type=int, default=len(SEEDS))
    asked = asked.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = []
        print("| log | hash | plan | mt-KaHyPar, three seeds | METIS | PICC | popularity | random | moved | next day |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
        for name in asked.logs:
            judge = Judge(asked.fanin, pathlib.Path(folder), logs.LOGS[name][1])
            of = row(judge, name, SEEDS[: asked.seeds])
            figures.append(of)
            pair = lambda figures: f"{figures[0]:.2f} ({figures[1]:.2f})"
            seeds = ", ".join(pair([one["servers"], one["busiest"]]) for one in of["kahypar"])
            rest = " | ".join(pair(of[which]) for which in ("metis", "picc", "popular", "random"))
            shares = f"{of['moved']:.1%} | {of['moved_next_day']:.1%}"
            print(f"| {name} | {pair(of['before'])} | {pair(of['plan'])} | {seeds} | {rest} | {shares} |", flush=True)
    path = pathlib.Path(__file__).parent / "figures.json"
    others = [of for of in json.loads(path.read_text())["fanin plan"] if of["log"] not in asked.logs]
    path.write_text(json.dumps({"fanin plan": others + figures}, indent=1) + "\n")


if __name__ == "__main__":
    main()
