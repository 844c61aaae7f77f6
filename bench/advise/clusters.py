#!/usr/bin/env python3
"""Comparison of the first remedy of `fanin advise` with a grid search of four times the budget, on random clusters.

Each cluster is drawn from its seed. The grid runs every level of every available remedy, over wider ranges than the advice, and pairs of the
best eight. The first remedy of each then runs on ten fresh seeds, by its own command. The advice is right if its time is within 5 % of the
grid's and its JSON has no contradictions. For a cluster that is not impaired it has to find that nothing needs changing.
target/advise-bench/results.json keeps the results, so a rerun resumes. Exits with 1 if any advice is wrong.
"""

import argparse
import json
import os
import pathlib
import random
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from figures import FANIN, ROOT
from judgements import advice as contradictions
from judgements import state

KEPT = ROOT / "target" / "advise-bench"
RESULTS = KEPT / "results.json"
FRESH = range(1001, 1011)
AS_GOOD = 1.05
PAIRED = 8
FINALISTS = 12


def draw(seed):
    """A cluster's scenario: its settings by section."""
    chance = random.Random(seed)
    between = lambda low, high: round(low * (high / low) ** chance.random())
    kind = chance.choice(["barrier"] * 4 + ["web-search"] * 2 + ["key_value"])
    rate = chance.choice([1, 10, 25, 40, 100])
    cluster = {
        "link": {"rate": f"{rate} Gbit/s", "delay": f"{chance.choice([1, 2, 5, 25])} us"},
        "switch": {},
        "host": {"service_time": "20 us", "service_jitter": f"{chance.choice([10, 50, 200])} us"},
        "tcp": {"profile": "linux", "rto_min": f"{chance.choice([5, 20, 200, 200])} ms"},
        "workload": {"kind": kind},
    }
    if chance.random() < 0.5:
        cluster["switch"]["buffer"] = f"{between(32, 2048)} KiB"
    else:
        cluster["switch"].update(shared_buffer=f"{between(1000, 32_000)} KB", alpha=chance.choice(["1/4", "1/2", "1", "2", "8"]))
    fan_in = between(6, 128)
    match kind:
        case "barrier":
            cluster["workload"].update(fragment=f"{between(8, 1024)} KiB", duration="5 s")
        case "web-search":
            cluster["workload"].update(block=f"{between(128, 8192)} KiB", queries=30)
        case "key_value":
            cluster["workload"].update(queries=20, warm_up="2 rounds")
            cluster["key_value"] = {"objects": 20_000, "per_request": between(20, 1000), "most": chance.choice(["1000 B", "20 KB"])}
    scheme = "one-all" if kind == "key_value" else chance.choice(["cubic", "newreno"])
    return {"": {"schemes": [scheme]}, **cluster, "sweep": {"fan_in": [fan_in]}}


def text_of(cluster):
    """The scenario's file."""
    text = ""
    for section, keys in cluster.items():
        text += f"[{section}]\n" * bool(section) + "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items())
    return text


def levels(cluster, scheme):
    """Every level of every remedy that can be made today: family, scheme or None, settings."""
    kind, (n,) = cluster["workload"]["kind"], cluster["sweep"]["fan_in"]
    rto_min = int(cluster["tcp"]["rto_min"].split()[0])
    for ms in (1, 2, 5, 10, 20, 50, 100):
        if ms < rto_min:
            yield "rto-min", None, {"tcp.rto_min": f"{ms} ms"}
    for segments in (1, 2, 3, 4, 5, 7, 15, 20, 30, 40):
        yield "initial-window", None, {"tcp.initial_window": str(segments)}
    yield "delayed-ack", None, {"tcp.delayed_ack": "1"}
    for segments in (2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128):
        yield "receive-window", None, {"tcp.receive_window": f"{1448 * segments} B"}
    for after_a_pause in ("true", "false"):
        yield "idle-restart", None, {"tcp.idle_restart": after_a_pause}
    yield "jumbo", None, {"link.frames": "jumbo", "tcp.mss": "8948 B"}
    if "shared_buffer" in cluster["switch"]:
        for alpha in ("1/4", "1/2", "1", "2", "4", "8", "16"):
            yield "alpha", None, {"switch.alpha": alpha}
    if kind == "key_value":
        yield from (("server-window", law, {}) for law in ("sw", "ictcp-window"))
        yield "placement", "picc", {}
        return
    for servers in sorted({max(1, n * part // 8) for part in (1, 2, 3, 4, 6)} | {1, 2}):
        yield "in-flight", None, {"workload.in_flight": str(servers)}
    for packets in (5, 10, 20, 40, 80, 160, 320):
        yield "dctcp", "dctcp", {"ecn_threshold.k": f"{packets} packets"}
        thresholds = {"red.min_th": f"{packets} packets", "red.max_th": f"{3 * packets} packets"}
        yield "red-ecn", f"{scheme}+red+ecn", thresholds
        yield "red", f"{scheme}+red", thresholds


class Grid:
    """Changes of one cluster by command, with the time under each seed, and their total cost."""

    def __init__(self, today, cluster, folder, pool):
        self.today, self.folder, self.pool = shlex.split(today), folder, pool
        load = cluster["workload"]
        n = cluster["sweep"]["fan_in"][0]
        kib = lambda size: 1024 * int(size.split()[0])
        self.bytes = n * kib(load["fragment"]) if "fragment" in load else kib(load["block"]) if "block" in load else None
        self.times, self.spent = {}, 0

    def command(self, change):
        """Today's command with a change: of (scheme or None, settings)."""
        scheme, settings = change
        words = list(self.today)
        if scheme:
            words[words.index("--schemes") + 1] = scheme
        more = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
        return shlex.join(words[:words.index("--seeds")] + more)

    def run(self, command, seeds):
        """`fanin compare` by a remedy's command, under other seeds; None where it cannot be."""
        words = shlex.split(command)
        words = words[1:words.index("--seeds")] if "--seeds" in words else words[1:]
        done = subprocess.run(
            [FANIN, *words, "--first-seed", str(seeds[0]), "--seeds", str(len(seeds)), "--json", "--no-cache", "--jobs", "1"],
            cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode == 2:
            return None
        if done.returncode:
            raise SystemExit(f"advise-bench: `{command}` failed:\n{done.stderr[-1000:]}")
        return json.loads(done.stdout)

    def time(self, command, seed):
        """A client's time for a round of today's, in ms, as the advice has it, and the packets that it cost; infinite where it cannot be."""
        told = self.run(command, [seed])
        if told is None:
            return float("inf"), 0
        (row,) = told["rows"]
        time = self.bytes * 8 / 1e3 / max(row["goodput_mbps"]["mean"], 1e-6) if self.bytes else row["qct_ms"]["mean"]
        return time, row["data_packets"]

    def try_out(self, commands, seeds, most):
        """Run each command under one more seed until it has `seeds`; stop once the budget is spent."""
        for i in range(seeds):
            lacking = [command for command in commands if len(self.times.get(command, [])) <= i]
            if i > 0 and self.spent >= most:
                return
            for command, (time, packets) in zip(lacking, self.pool.map(lambda command: self.time(command, i + 1), lacking)):
                self.times.setdefault(command, []).append(time)
                self.spent += packets

    def mean(self, command):
        return sum(self.times[command]) / len(self.times[command])

    def best(self, cluster, budget):
        """The command of the best change, or of none."""
        (scheme,) = cluster[""]["schemes"]
        singles = {self.command(change): (family, change) for family, *change in levels(cluster, scheme)}
        today = self.command((None, {}))
        self.try_out([today, *singles], 3, budget // 3)
        order = sorted(singles, key=self.mean)
        of_family = {}
        for command in order:
            of_family.setdefault(singles[command][0], []).append(singles[command][1])
        paired = [(family, change) for family, changes in list(of_family.items())[:PAIRED] for change in changes[:2]]
        pairs = {self.command((a[0] or b[0], {**a[1], **b[1]}))
                 for i, (one, a) in enumerate(paired) for other, b in paired[i + 1:]
                 if one != other and not (a[0] and b[0])}
        self.try_out(sorted(pairs), 3, budget * 2 // 3)
        finalists = sorted(self.times, key=self.mean)[:FINALISTS]
        self.try_out(finalists, 16, budget)
        return min(finalists, key=self.mean)

    def anew(self, command):
        """The mean time under fresh seeds."""
        return sum(time for time, _ in self.pool.map(lambda seed: self.time(command, seed), FRESH)) / len(FRESH)


def packets(text):
    scale = {"k": 1e3, "M": 1e6, "G": 1e9}.get(text[-1], 1)
    return int(float(text.rstrip("kMG")) * scale)


def is_impaired(told):
    """Whether a cluster is impaired, by rules independent of the advice."""
    (row,) = told["rows"]
    return state(row) in ("collapsed", "degrades")


def judged(seed, budget, jobs):
    """Compare the advice for a cluster with the grid's results."""
    KEPT.mkdir(parents=True, exist_ok=True)
    cluster, file = draw(seed), f"cluster-{seed}.toml"
    (KEPT / file).write_text(text_of(cluster))
    done = subprocess.run([FANIN, "advise", file, "--json", "--budget", budget, "--no-cache", "--jobs", str(jobs)],
                          cwd=KEPT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        return {"right": False, "says": f"no advice: {done.stderr.strip()[-300:]}"}
    advice = json.loads(done.stdout)
    wrong = list(contradictions(advice))
    if wrong:
        return {"right": False, "says": "contradictions: " + "; ".join(wrong)}
    with ThreadPoolExecutor(jobs) as pool:
        grid = Grid(advice["today"]["run"], cluster, KEPT, pool)
        impaired = is_impaired(grid.run(advice["today"]["run"], FRESH))
        if not impaired or not advice["needed"]:
            right = impaired == advice["needed"]
            return {"right": right, "impaired": impaired, "says": "is impaired" if impaired else "is not impaired", "told": "change" if advice["needed"] else "nothing needs changing"}
        first = next((remedy for remedy in advice["remedies"] if remedy["apart"] is None), None)
        told = first["run"] if first else advice["today"]["run"]
        best = grid.best(cluster, 4 * packets(budget))
        spent = round(grid.spent)
        today, mine, theirs = (grid.anew(command) for command in (advice["today"]["run"], told, best))
    ratio = mine / theirs
    return {
        "right": ratio <= AS_GOOD, "impaired": True, "ratio": round(ratio, 4), "told": first["says"] if first else "nothing helps", "run": told, "grid": best,
        "ms": [round(time, 4) for time in (today, mine, theirs)], "spent": [advice["spent_packets"], spent],
        "says": f"{mine / today:.1%} of today's time, the grid's best {theirs / today:.1%}",
    }


def shape(seed):
    cluster = draw(seed)
    link, switch, load = cluster["link"], cluster["switch"], cluster["workload"]
    memory = switch.get("buffer") or f"{switch['shared_buffer']} at {switch['alpha']}"
    size = load.get("fragment") or load.get("block") or f"{cluster['key_value']['per_request']} objects"
    return f"{load['kind']}, {cluster['sweep']['fan_in'][0]} servers, {size}, {link['rate']}, {memory}, RTOmin {cluster['tcp']['rto_min']}"


def one_line(seed, result):
    line = f"{seed:>3} {'right' if result['right'] else 'WRONG'}: {shape(seed)}: {result['says']}"
    line += f"; told: {result['told']}" if "told" in result else ""
    if not result["right"] and "grid" in result:
        line += f"\n      the advice's: {result['run']}\n      the grid's:   {result['grid']}"
    return line


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seeds", nargs="*", type=int, help="clusters, by what draws them; 1 to 24 unless told")
    parser.add_argument("--budget", default="250M", help="the advice's; the grid has four times as much")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    seeds = arguments.seeds or range(1, 25)
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for seed in seeds:
        key = f"{seed} at {arguments.budget}"
        if key not in known:
            known[key] = judged(seed, arguments.budget, arguments.jobs)
            part = RESULTS.with_suffix(".part")
            part.write_text(json.dumps(known, indent=1) + "\n")
            part.rename(RESULTS)
        print(one_line(seed, known[key]), flush=True)
    results = [known[f"{seed} at {arguments.budget}"] for seed in seeds]
    impaired = [result for result in results if result.get("impaired")]
    healthy = [result for result in results if result.get("impaired") is False]
    right = lambda some: sum(result["right"] for result in some)
    print(f"{right(impaired)} of {len(impaired)} impaired clusters have a first remedy within 5 % of the grid's best; "
          f"{right(healthy)} of {len(healthy)} that are not are told that nothing needs changing; {len(results) - len(impaired) - len(healthy)} have no advice")
    sys.exit(right(results) < len(results))


if __name__ == "__main__":
    main()
