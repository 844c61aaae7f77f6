#!/usr/bin/env python3
"""Compare the diagnoses of a corpus with the true causes beside each capture. Exit 1 if a measure is missed."""

import argparse
import collections
import json
import pathlib
import subprocess
import sys

from network import server_address

# Of the rounds' time: with less lost there is nothing to find.
LOST = 0.05
# Shares of time within these points of each other are alike.
POINTS = 0.15
# A wait this long without a loss, a closed window or a late ACK is a server's.
LATE_S = 0.02
# The truth has no shorter waits.
RESOLUTION_S = 0.005
# Causes whose true shares are closer than this may change places.
CLOSE = 0.1


def expected(case, truth, span):
    """Shares of the lost time by cause within the span of a capture, as its place shows them, and the server of most of the main cause's time."""
    waits = truth["waits"] if case["place"] != "server" else [wait for wait in truth["waits_of_servers"] if wait[0] == case["server_captured"]]
    begun, ended = span
    within = lambda one: max(0, min(one[1], ended) - max(one[0], begun))
    seconds, by_cause = collections.Counter(), collections.defaultdict(collections.Counter)
    # One response after another has filled the queue.
    name = {"incast": "full-queue"} if len(case["servers"]) == 1 else {}
    for server, *times, shares in waits:
        for cause, took in shares.items():
            # A program that the busy machine let run late is a slow server, too, which no log has.
            cause = "slow-server" if cause == "other" and took > LATE_S else name.get(cause, cause)
            if cause not in ("other", "queue"):
                part = took * within(times) / (times[1] - times[0])
                seconds[cause] += part
                by_cause[cause][server] += part
    total = sum(seconds.values())
    took = sum(map(within, truth["rounds"]))
    if total < LOST * took:
        late = sum(shares.get("other", 0) for _, *times, shares in waits if within(times))
        return ({"slow-server": 0.0} if late > LOST * took else {}), None
    main = max(seconds, key=seconds.get)
    by_server = by_cause[main]
    server = max(by_server, key=by_server.get)
    alone = main in ("bad-link", "slow-server") and by_server[server] > 0.8 * sum(by_server.values())
    return {cause: value / total for cause, value in seconds.items()}, server_address(case, int(server)) if alone else None


def acceptable(shares):
    """Main causes that these shares permit."""
    best = max(shares.values(), default=0)
    return [cause for cause, share in shares.items() if share >= best - CLOSE] + ["none"] * (best == 0)


def short(found):
    """Whether stalls that the truth can resolve are harmless: under load, programs are often late by a few milliseconds."""
    rounds = found.get("episodes", [])
    stalls = [stall["took_s"] for stall in (stall for one in rounds for stall in one["stalls"])] or [stall["took_s"] for stall in found.get("alone_stalls", [])]
    took = sum(one["took_s"] for one in rounds) or max((one["span_s"] for one in found.get("inputs", [])), default=0)
    return sum(value for value in stalls if value >= RESOLUTION_S) <= LOST * took


def judged(case, truth, span, found):
    """How a diagnosis compares with the truth."""
    shares, server = expected(case, truth, span)
    verdict = found.get("verdict", {"incast": None, "cause": "none", "confidence": 0, "causes": [], "servers": []})
    impaired = verdict.get("impaired") or verdict["incast"] is None
    causes = {one["cause"]: one["share"] for one in verdict["causes"]} if impaired else {}
    main = verdict["causes"][0]["cause"] if causes and verdict["incast"] is not None else "none"
    right = verdict["incast"] is not None and (main in acceptable(shares) or (not shares and short(found)))
    shares = shares if max(shares.values(), default=0) else {}
    # Without any response, a diagnosis can only say that this is not enough.
    if case["cut"]["kind"] == "one-direction" and case["cut"]["direction"] == "to-server":
        right, shares = verdict["incast"] is None, {}
    alike = all(abs(causes.get(cause, 0) - shares.get(cause, 0)) <= POINTS for cause in {*causes, *shares})
    named = [one["server"] for one in verdict["servers"]]
    return {
        "right": right, "answered": verdict["incast"] is not None, "confidence": verdict["confidence"], "alike": alike if shares else None,
        "named": (named[:1] == [server]) if server and right and shares else None, "false_incast": verdict["incast"] is True and not truth["queue_drops"],
        "cut": case["cut"]["kind"], "place": case["place"], "main": main, "shares": shares, "causes": causes, "server": server, "servers": named,
    }


def diagnosed(program, files):
    done = subprocess.run([*program, *map(str, files)], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 and done.stdout.startswith("{") else {"error": done.stderr}


def share(rows, key):
    known = [row[key] for row in rows if row[key] is not None]
    return f"{sum(known)} of {len(known)}" + (f" ({sum(known) / len(known):.0%})" if known else "")


def report(rows):
    """Prints the measures. Returns those that are missed."""
    whole, cut = [row for row in rows if row["cut"] == "none"], [row for row in rows if row["cut"] != "none"]
    print(f"main cause right, whole captures: {share(whole, 'right')}; with cuts: {share(cut, 'right')}")
    for key in ("cut", "place"):
        for value, group in sorted(grouped(rows, key).items()):
            print(f"  {key} {value}: {share(group, 'right')}; answered {share(group, 'answered')}")
    print(f"incast without a queue's drop: {sum(row['false_incast'] for row in rows)}")
    bins = [(0.9, 1.01), (0.8, 0.9), (0.7, 0.8), (0.5, 0.7), (0.01, 0.5)]
    for low, high in bins:
        group = [row for row in rows if row["answered"] and low < row["confidence"] <= high]
        print(f"  confidence {low:.2f} to {min(high, 1):.2f}: {share(group, 'right')} right")
    print(f"shares within {100 * POINTS:.0f} points: {share(rows, 'alike')}; server named: {share(rows, 'named')}")
    sure = [row for row in rows if row["confidence"] > 0.9]
    rate = lambda group, key: sum(bool(row[key]) for row in group) / max(1, len(group))
    missed = {
        "main cause": rate(whole, "right") < 0.95, "main cause with cuts": rate(cut, "right") < 0.9, "false incast": rate(rows, "false_incast") > 0,
        "false confidence": rate(sure, "right") < 0.95,
        "shares": rate([row for row in rows if row["alike"] is not None], "alike") < 0.9,
        "server": rate([row for row in rows if row["named"] is not None], "named") < 0.95}
    return [name for name, bad in missed.items() if bad]


def grouped(rows, key):
    groups = collections.defaultdict(list)
    for row in rows:
        groups[row[key]].append(row)
    return groups


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--program", nargs="+", default=["target/release/fanin", "diagnose", "--json"])
    parser.add_argument("--expected", type=pathlib.Path, help="write what is expected of each capture into a file, instead of a diagnosis")
    parser.add_argument("--verbose", action="store_true", help="list captures that are judged wrong")
    asked = parser.parse_args()
    rows, wanted = [], []
    for path in sorted((path for path in asked.folder.glob("*.json") if path.stem.isdigit()), key=lambda path: int(path.stem)):
        both = json.loads(path.read_text())
        case, truth = both["case"], both["truth"]
        span = both["spans"].get("client") or both["spans"]["server"]
        places = ["client", "server"] if case["place"] == "both" else [case["place"]]
        if asked.expected:
            shares, server = expected(case, truth, span)
            one_way = case["cut"]["kind"] == "one-direction" and case["cut"]["direction"] == "to-server"
            wanted.append({"files": [f"{path.stem}-{place}.pcap.gz" for place in places], "causes": [] if one_way else acceptable(shares), "server": server,
                           "queue_drops": truth["queue_drops"]})
            continue
        found = diagnosed(asked.program, [asked.folder / f"{path.stem}-{place}.pcap.gz" for place in places])
        rows.append(judged(case, truth, span, found))
        row = rows[-1]
        wrong = [key for key in ("right", "alike", "named") if row[key] is False] + ["false_incast"] * row["false_incast"]
        if asked.verbose and wrong:
            print(f"{path.stem}: {'+'.join(case['troubles'])}, at the {row['place']}, cut {row['cut']}{', IPv6' * case['v6']}, {case['algorithm']}: {', '.join(wrong)}: "
                  f"true {rounded(row['shares'])} {row['server']}, found {row['main']} {rounded(row['causes'])} {row['servers'][:1]} {row['confidence']:.0%} "
                  f"{str(found.get('verdict', found).get('says', found))[:90]}")
    if asked.expected:
        asked.expected.write_text("[\n" + ",\n".join(json.dumps(one) for one in wanted) + "\n]\n")
        return
    missed = report(rows)
    print("missed: " + ", ".join(missed) if missed else "all measures hold")
    sys.exit(bool(missed))


def rounded(shares):
    return {cause: round(value, 2) for cause, value in shares.items()}


if __name__ == "__main__":
    main()
