#!/usr/bin/env python3
"""Compares fanin with Linux 6.12 in time travel at each point of bench/reference/linux-instant-6.12.json.

The kernel's range at a point is over its variants. Printed are the shares of points at which fanin's goodput is within 15 % of that range, its
99th percentile of a round within 30 %, and its verdict one of the kernel's; by region: below collapse the kernel always has 80 % of what the
network allows, past it never half; at it is the remainder. The verdict is by these shares on both sides. FANIN names the program.
"""

import argparse
import collections
import concurrent.futures
import json
import math
import os
import pathlib
import statistics
import subprocess

from instant import FRAME, quantity

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
REFERENCE = ROOT / "bench" / "reference" / "linux-instant-6.12.json"
FANIN = os.environ.get("FANIN", ROOT / "target" / "release" / "fanin")
REGIONS = ["below", "at", "past"]
HOLDS, HALF = 0.8, 0.5


def request_gap(settings):
    """The gap between requests: that of the point, and where connections are new the 1 us that a connect takes on the kernel's machine (its SYNs
    in a capture are 1 us apart)."""
    if settings.get("workload.connections") != "new":
        return {}
    return {"workload.request_gap": f"{quantity(settings.get('workload.request_gap', '0 s')) / 1000 + 1:g} us"}


def settings_of(point):
    """--set for every key. fanin runs as many rounds as the kernel did, so that percentiles are of alike numbers; by time alone a round of the
    warm-up that hangs for a timeout would be cut, and the remainder counted. Linux's CoDel has a limit in packets, however small; all hosts of
    the kernel's machine have one clock."""
    settings = dict(point["set"])
    settings |= {"workload.kind": "web-search", "workload.queries": max(run["rounds"] for run in point["kernel"].values()), "workload.duration": "100 s",
                 "workload.connections": settings.get("workload.connections", "standing"), "tcp.delayed_ack": settings.get("tcp.delayed_ack", 2),
                 "tcp.ticks_together": True}
    if "codel" in point["scheme"]:
        settings["switch.buffer"] = f"{round(quantity(settings['switch.buffer']) / FRAME)} packets"
    settings |= request_gap(settings)
    return [word for key, value in settings.items() for word in ("--set", f"{key}={json.dumps(value) if isinstance(value, bool) else value}")]


def variants_of(point):
    """Settings of fanin for the kernel's variants; another seed gives another order of requests."""
    settings, slower = point["set"], {}
    port = float(settings.get("link.client_rate", settings["link.rate"]).removesuffix(" Gbit/s"))
    for percent in (0.3, 0.6):
        slower[f"rate-{percent}%"] = [f"link.client_rate={round(port * 1e6 * (1 - percent / 100))} kbit/s"]
    return {"base": [], "jitter-5us": ["host.service_jitter=5 us"], "jitter-50us": ["host.service_jitter=50 us"], **slower}


def run(point, seeds, more):
    """fanin's row for a point."""
    more = [word for setting in more for word in ("--set", setting)]
    command = [FANIN, "compare", "bench/scenarios/linux-instant.toml", "--schemes", point["scheme"], "--fan-in", str(point["fan_in"]),
               "--seeds", str(seeds), "--jobs", "1", "--no-cache", "--json", *settings_of(point), *more]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise SystemExit(f"judge: fanin failed at {point['scheme']}, {point['fan_in']}: {done.stderr}")
    (row,) = json.loads(done.stdout)["rows"]
    return row


def fanin(point, seeds, sets, variants):
    """Goodput, p99 of a round and the network's upper bound: of one set of seeds, or means over the kernel's variants."""
    rows = [run(point, seeds, sets + more) for more in (variants_of(point).values() if variants else [[]])]
    return {
        "goodput": statistics.mean(row["goodput_mbps"]["mean"] for row in rows), "allowed": rows[0]["allowed_mbps"],
        "p99": statistics.median([row["qct_ms"]["p99"] for row in rows if row["qct_ms"]["p99"] is not None] or [None]),
        "range": rows[0].get("goodput_range_mbps")}


def verdict(goodput, allowed):
    return "sustains" if goodput >= HOLDS * allowed else "degrades" if goodput >= HALF * allowed else "collapses"


def off(value, span, tolerance):
    """Relative distance of a value from a range with its tolerance; 0 inside."""
    low, high = span
    if value is None or low * (1 - tolerance) <= value <= high * (1 + tolerance):
        return 0.0
    return value / (low if value < low else high) - 1


def judge(point, row):
    """A point's region and how fanin does at it."""
    runs = list(point["kernel"].values())
    spans = {name: (min(run[name] for run in runs), max(run[name] for run in runs)) for name in ("goodput_mbps", "p99_round_ms")}
    verdicts = [verdict(run["goodput_mbps"], row["allowed"]) for run in runs]
    region = {("sustains",): "below", ("collapses",): "past"}.get(tuple(sorted(set(verdicts))), "at")
    mine = row["goodput"]
    return {
        "region": region, "range": row["range"], "runs": [run["goodput_mbps"] for run in runs], "span": spans["goodput_mbps"], "mean": statistics.mean(run["goodput_mbps"] for run in runs), "fanin": mine, "p99_span": spans["p99_round_ms"], "p99": row["p99"],
        "goodput_off": off(mine, spans["goodput_mbps"], 0.15), "p99_off": off(row["p99"], spans["p99_round_ms"], 0.3),
        "verdict": verdict(mine, row["allowed"]), "right": verdict(mine, row["allowed"]) in verdicts, "verdicts": sorted(set(verdicts))}


def judge_all(seeds, sets=(), variants=False):
    """Every recorded point with how fanin does at it."""
    points = json.loads(REFERENCE.read_text())["points"]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = pool.map(lambda point: fanin(point, seeds, list(sets), variants), points)
        return [(point, judge(point, row)) for point, row in zip(points, rows)]


def share(judged, inside):
    return f"{sum(map(inside, judged))} of {len(judged)} ({sum(map(inside, judged)) / max(1, len(judged)):.0%})"


def groups_of(judged):
    """Judged points by region and by setting, in the order of the output."""
    groups = collections.defaultdict(list)
    for point, found in judged:
        settings = point["set"]
        for name in ("all", found["region"], point["scheme"], settings.get("link.client_rate", settings["link.rate"]),
                     "RTOmin " + settings["tcp.rto_min"], "request gap " + settings.get("workload.request_gap", "0 s"),
                     settings["workload.fragment"] + " a server", "connections " + settings.get("workload.connections", "standing"),
                     "quickack" if settings.get("tcp.delayed_ack") == 1 else "delayed ACKs"):
            groups[name].append(found)
    order = ["all", *REGIONS]
    return {name: groups.get(name, []) for name in order + sorted(set(groups) - set(order))}


def shares(found):
    """How many have goodput within 15 %, p99 within 30 %, the verdict right."""
    return [share(found, inside) for inside in (
        lambda one: one["goodput_off"] == 0, lambda one: one["p99_off"] == 0, lambda one: one["right"])]


def show(judged):
    """Prints the shares by region and by setting."""
    print(f"{'points':24}{'goodput in 15 %':>22}{'p99 in 30 %':>22}{'verdict right':>22}   too kind, too harsh")
    for name, found in groups_of(judged).items():
        kind, harsh = sum(one["goodput_off"] > 0 for one in found), sum(one["goodput_off"] < 0 for one in found)
        print(f"{name:24}{''.join(f'{one:>22}' for one in shares(found))}   {kind}, {harsh}")


def factor_of(found):
    """Factor between fanin's goodput and the mean of the kernel's variants, whichever is larger."""
    return max(found["fanin"] / found["mean"], found["mean"] / found["fanin"])


def show_factors(judged):
    """Prints the factor within which goodput is at half and at nine of ten points, by region."""
    for region in REGIONS:
        factors = sorted(factor_of(found) for _, found in judged if found["region"] == region)
        half, most = (factors[math.ceil(len(factors) * part) - 1] for part in (0.5, 0.9))
        print(f"{region}: goodput within a factor of {half:.2f} of the kernel's mean at half of the points, of {most:.2f} at nine of ten")


def show_coverage(judged):
    """Prints how many of the kernel's runs are in fanin's range of single runs (wanted: four of five), and how wide it is beside the kernel's."""
    for region in REGIONS:
        found = [one for _, one in judged if one["region"] == region and one["range"]]
        runs = [(run, one["range"]) for one in found for run in one["runs"]]
        if not runs:
            continue
        inside = sum(low["p10"] <= run <= low["p90"] for run, low in runs)
        widths = [one["range"]["p90"] / max(one["range"]["p10"], 1e-3) for one in found]
        theirs = [max(one["runs"]) / max(min(one["runs"]), 1e-3) for one in found]
        print(f"{region}: {inside} of {len(runs)} runs of the kernel ({inside / len(runs):.0%}) in fanin's range of four of five; it spans a factor of "
              f"{statistics.median(widths):.2f} in the median, the kernel's runs one of {statistics.median(theirs):.2f}")


def show_worst(judged, count):
    """The points that are furthest off."""
    worst = sorted(judged, key=lambda pair: -abs(math.log(max(1e-3, 1 + pair[1]["goodput_off"]))))
    for point, found in worst[:count]:
        low, high = found["span"]
        settings = " ".join(f"{key.split('.')[1]}={value}" for key, value in point["set"].items() if key != "workload.duration")
        print(f"{found['fanin']:9.1f} against {low:.1f} to {high:.1f} ({found['region']}): {point['scheme']} {point['fan_in']} {settings}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--variants", action="store_true", help="run fanin in the kernel's variants, too, --seeds of each, and take the mean")
    parser.add_argument("--worst", type=int, default=10, help="points that are furthest off, to print")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE",
                        help="set a key for fanin at every point, such as host.packet_jitter=none")
    parser.add_argument("--json", metavar="FILE", help="write what was judged")
    given = parser.parse_args()
    judged = judge_all(given.seeds, given.set, given.variants)
    show(judged)
    show_factors(judged)
    show_coverage(judged)
    if given.worst:
        print("\nfurthest off, Mbit/s:")
        show_worst(judged, given.worst)
    if given.json:
        pathlib.Path(given.json).write_text(json.dumps([{key: point[key] for key in ("scheme", "fan_in", "set")} | found for point, found in judged]))


if __name__ == "__main__":
    main()
