#!/usr/bin/env python3
"""Holds what `fanin` says of random scenarios against the figures beside it, by rules of its own: no sentence may be refuted.

Each case is a scenario over some workload and settings, drawn from its number alone. Its comparison's findings and rows are judged here
anew, plainly: shares of what is allowed, counts a round, causes of stalls, how far schemes hold and their order. So are the advice on it,
the diagnosis of a capture of it, and a plan for a random log (sentences.py), and in the end the scorecards of all papers. Prints what
refutes a sentence, with the scenario that replays it.
"""

import argparse
import json
import math
import os
import pathlib
import random
import re
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import sentences

ROOT = pathlib.Path(__file__).resolve().parent.parent
FANIN = os.environ.get("FANIN", ROOT / "target" / "release" / "fanin")
KINDS = ["barrier"] * 5 + ["web-search"] * 2 + ["one-shot", "long", "key_value", "key_value", "bursts", "shuffle", "poisson", "all-reduce"]
PACKET = ["newreno", "cubic", "dctcp", "newreno+m21", "newreno+gss", "newreno+red+ecn", "newreno+codel", "newreno+ictcp"]
OBJECTS = ["one-all", "sicc", "ictcp-window", "sw", "dctcp"]
BURSTS = "gap_us,fan_in,bytes\n2000,4,40000\n500,8,200000\n8000,12,30000\n"


def scenario(draw, folder):
    """A scenario's text, of at most two points and two schemes."""
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
    return text


def number(text):
    """A count as it is printed, and how far what it stands for may lie from it."""
    scale = {"k": 1e3, "M": 1e6}.get(text[-1], 1.0)
    digits = text.rstrip("kM")
    shown = float(digits) * scale
    step = scale * 10.0 ** -(len(digits.split(".")[1]) if "." in digits else 0)
    return shown, 0.5001 * step + 1e-5 * abs(shown)


def near(text, value):
    shown, slack = number(text)
    return abs(shown - value) <= slack


UNITS = {"us": 1e-3, "ms": 1.0, "s": 1e3}


def same_time(number_and_unit, ms):
    digits, unit = number_and_unit
    shown, slack = number(digits)
    return abs(shown * UNITS[unit] - ms) <= slack * UNITS[unit]


class Judge:
    """One comparison's object, and what refutes its sentences."""

    def __init__(self, told, drawn):
        self.drawn = drawn
        self.rows = told["rows"]
        self.findings = told["findings"]
        self.bad = []

    def refute(self, what, says):
        self.bad.append("%s: %s" % (what, says))

    def share(self, row, goodput):
        if row["allowed_mbps"]:
            return goodput / row["allowed_mbps"], row["measured_ms"]
        if row["least"] and row["qct_ms"]["mean"]:
            mean = row["qct_ms"]["mean"]
            return row["least"]["whole_ms"] / mean, mean * (row["rounds"] + row["rounds_open"])
        return None

    def state(self, row, goodput):
        """holds, slow, sags or collapsed: by share of what is allowed, and what explains the rest."""
        begun = row["rounds"] + row["rounds_open"]
        trouble = max(row["stalled_ms"], row["repair_ms"]) / max(row["clients"], 1)
        lossy = row["drops"] + row["lost"] + row["timeouts"] + row["stalls"] > 0
        share = self.share(row, goodput)
        if share is None:
            whole = (row["qct_ms"]["mean"] or 0) * begun / max(row["clients"], 1) if row["qct_ms"]["mean"] is not None else row["measured_ms"]
            if trouble > 0 and trouble >= 0.5 * whole:
                return "collapsed"
            if begun > 0 and row["timeouts"] / begun >= 0.3:
                return "sags"
            return "sags" if begun > 0 and row["stalls"] / begun >= 0.3 else "holds"
        part, whole = share
        if part >= 0.8:
            return "sags" if begun > 0 and row["stalls"] / begun >= 0.3 else "holds"
        if not lossy:
            return "slow"
        if trouble >= 0.5 * whole * (1 - part):
            return "sags" if part >= 0.5 else "collapsed"
        return "sags"

    def figures(self):
        """What no row may say, whatever its sentences."""
        for row in self.rows:
            name = "%s at %s" % (row["scheme"], row["point"])
            causes = row["stalls_by_cause"].values()
            if sum(cause["count"] for cause in causes) > row["stalls"] * (1 + 1e-4) + 1e-4:
                self.refute("more stalls by cause than in all", name)
            if sum(cause["ms"] for cause in causes) > row["stalled_ms"] * (1 + 1e-4) + 1e-4:
                self.refute("longer stalls by cause than in all", name)
            if row["stalled_ms"] > (row["measured_ms"] * row["clients"]) * 1.05 + 1.0:
                self.refute("stalls for longer than was measured", name)
            # A round's own time scatters by no more than its mean, and three standard errors are chance.
            scatter = 1.8 / math.sqrt(max(1, row["rounds"] * row["seeds"])) if self.drawn else 0
            if row["allowed_mbps"] and row["goodput_mbps"]["mean"] > (1 + 1e-5 + scatter) * row["allowed_mbps"]:
                self.refute("%.1f of %.1f allowed" % (row["goodput_mbps"]["mean"], row["allowed_mbps"]), name)

    def scheme(self, finding):
        rows = [row for row in self.rows if row["scheme"] == finding["scheme"]]
        if not rows or rows[0]["along_hosts"]:
            return
        head, says = finding["head"], finding["says"]
        states = [self.state(row, row["goodput_mbps"]["mean"]) for row in rows]
        words = {"holds": r"\bhold", "slow": "slow", "sags": r"\bsags?\b", "collapsed": "collapse"}
        for state, word in words.items():
            if (state in states) != bool(re.search(word, head)):
                self.refute("heads %s of points that are %s" % (head, states), finding["scheme"])
        worst = max(states, key=["holds", "slow", "sags", "collapsed"].index)
        row = rows[states.index(worst)] if worst != "holds" else rows[-1]
        # What may be is less sure than what is: the sentence may be of either.
        told = [r for r, s in zip(rows, states) if s == worst] if worst != "holds" else rows[-1:]
        if not any(not self.sentences(r, says, s == "slow") for r, s in [(r, worst) for r in told]):
            self.refute("; ".join(self.sentences(row, says, worst == "slow")), "%s %s: %s" % (finding["scheme"], head, says))

    def sentences(self, row, says, slow):
        """What of a scheme's sentences this row refutes."""
        bad = []
        begun = row["rounds"] + row["rounds_open"]
        a_round = lambda count: count / begun if begun > 0 else count
        if (m := re.search(r"([\d.]+) % of the ([\d.]+) that the network allows", says)):
            unit = 1e3 if "Gbit/s" in says.split("%")[0] else 1.0
            share = 100 * row["goodput_mbps"]["mean"] / row["allowed_mbps"] if row["allowed_mbps"] else math.nan
            if not near(m[1], share) or not near(m[2], (row["allowed_mbps"] or math.nan) / unit):
                bad.append("%s %% of %s" % (m[1], m[2]))
        elif row["allowed_mbps"]:
            bad.append("nothing said of what is allowed")
        if (m := re.search(r"A round takes (?:at least )?([\d.]+) (us|ms|s) on average", says)) and not same_time(m.groups(), row["qct_ms"]["mean"]):
            bad.append("takes %s %s" % m.groups())
        for what, key in [("drops", "drops"), ("marks", "marks"), ("packets lost by faults", "lost")]:
            if (m := re.search(r"(?:with|and) ([\d.]+[kM]?) %s\b" % what, says)) and begun and not near(m[1], a_round(row[key])):
                bad.append("%s %s" % (m[1], what))
            if re.search(r"\bno %s\b" % what, says) and row[key] > 0:
                bad.append("no %s" % what)
        if re.search(r"\bno timeout", says) and row["timeouts"] > 0 or re.search("hardly a timeout", says) and not row["timeouts"] > 0:
            bad.append("timeouts")
        if (m := re.search(r"has ([\d.]+[kM]?) timeouts? of", says)) and not near(m[1], a_round(row["timeouts"])):
            bad.append("%s timeouts" % m[1])
        if (m := re.search(r"it stands still ([\d.]+[kM]?) times, for ([\d.]+) (us|ms|s)(?! in all)", says)):
            if not near(m[1], a_round(row["stalls"])) or not same_time(m.groups()[1:], a_round(row["stalled_ms"])):
                bad.append("stands still %s times for %s %s" % m.groups())
        if "stands still" not in says.replace("nothing stands still", "") and row["stalls"] > 0 and row["qct_ms"]["mean"] is not None and row["rounds"] > 0:
            bad.append("no word of stalls")
        bad += self.causes(row, says)
        if slow and ("Nothing is lost and nothing stands still" not in says or row["drops"] + row["lost"] + row["stalls"] + row["timeouts"] > 0):
            bad.append("slow")
        if "bound by latency" in says and (row["marks"] > 0 or not slow):
            bad.append("bound by latency")
        return bad

    def causes(self, row, says):
        words = {
            "rto": "timeouts", "probe": "tail-loss probes", "reordering": "RACK's patience", "syn": "lost SYNs", "delayed_ack": "delayed ACKs",
            "zero_window": "closed receive windows", "injected_loss": "packets that faults.loss lost", "host": "crashed or slow hosts",
            "application": "applications",
        }
        bad = []
        of = lambda cause: row["stalls_by_cause"][cause]["ms"] / row["stalled_ms"] if row["stalled_ms"] else 0.0
        waits = re.search(r": it waits (.*?)\.(?: |$)", says.replace("faults.loss", "faults!loss"))
        for cause, word in words.items():
            word = word.replace("faults.loss", "faults!loss")
            if waits and (m := re.search(r"(\d+) % for " + re.escape(word), waits[1])) and abs(float(m[1]) / 100 - of(cause)) > 0.006:
                bad.append("%s %% for %s" % (m[1], word))
            if waits and waits[1] == "for " + word and of(cause) < 0.94:
                bad.append("for %s alone" % word)
            if row["stalls"] > 0 and of(cause) > 0.06 and (not waits or word not in waits[1]):
                bad.append("%s is not named" % word)
        return bad

    def overall(self, finding):
        """Who holds furthest, and who moves most there."""
        head = finding["head"]
        schemes = list(dict.fromkeys(row["scheme"] for row in self.rows))
        if self.rows[0]["along_hosts"]:
            return
        points = sorted({json.dumps(row["point"]) for row in self.rows}, key=lambda p: json.loads(p)["fan_in"])
        at = {(row["scheme"], json.dumps(row["point"])): row for row in self.rows}
        points = [p for p in points if all((s, p) in at for s in schemes)]
        far = {}
        for scheme in schemes:
            far[scheme] = -1
            for place, point in enumerate(points):
                row = at[(scheme, point)]
                if self.state(row, row["goodput_mbps"]["mean"]) != "holds":
                    break
                far[scheme] = place
        best = max(far.values())
        if len(points) > 1 and best < 0 and not head.startswith("no scheme holds at the first"):
            self.refute("some hold", head)
        if len(points) > 1 and best >= 0:
            names = {s for s in schemes if far[s] == best}
            said = "every scheme" if names == set(schemes) else ", ".join(s for s in schemes if s in names)
            if not head.startswith("%s hold" % said) or " to %d" % json.loads(points[best])["fan_in"] not in head:
                self.refute("%s hold furthest, to %s" % (said, points[best]), head)
        if (m := re.search(r"(\S+) moves ([\d.]+) ([MG]bit/s)(?:, ([\d.]+) times as much as (\S+?)[.;])?", finding["says"])):
            there = [at[(s, points[max(best, 0)])] for s in schemes]
            most = max(there, key=lambda row: row["goodput_mbps"]["mean"])
            mine = next((row for row in there if row["scheme"] == m[1]), None)
            if mine is None or mine["goodput_mbps"]["mean"] < most["goodput_mbps"]["mean"]:
                self.refute("%s moves most" % most["scheme"], finding["says"])
            elif m[4]:
                other = next(row for row in there if row["scheme"] == m[5])
                if not near(m[4], mine["goodput_mbps"]["mean"] / other["goodput_mbps"]["mean"]):
                    self.refute("%s times" % m[4], finding["says"])

    def judge(self):
        self.figures()
        for finding in self.findings:
            self.scheme(finding) if finding["scheme"] else self.overall(finding)
        return self.bad


def ran(folder, *arguments):
    """The object that `fanin` prints, and its text in one line a sentence; None where it refuses."""
    place = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "COLUMNS": "4000"}
    said = []
    for more in (["--json"], []):
        done = subprocess.run([FANIN, *arguments, *more], cwd=folder, capture_output=True, text=True, timeout=600, env=place)
        if done.returncode == 2:
            return None
        if done.returncode:
            raise Failed("%s: exit %d: %s" % (" ".join(arguments), done.returncode, done.stderr.strip()[-300:]))
        said.append(done.stdout)
    return json.loads(said[0]), said[1]


class Failed(Exception):
    """A command that ended otherwise than well or with a refusal."""


def row_of(folder, command):
    """The only row of a command that advice prints."""
    words = shlex.split(command)[1:]
    done = subprocess.run([FANIN, *words, "--json"], cwd=folder, capture_output=True, text=True, timeout=600, check=True,
                          env={**os.environ, "XDG_CACHE_HOME": str(folder / "cache")})
    return json.loads(done.stdout)["rows"][0]


def advised(draw, folder):
    """What refutes the advice on the scenario."""
    goal = draw.choice([None, None, "p99 < 10 ms", "mean < 50 us", "goodput > 80 %"])
    grow = ["--grow-to", "48"] if draw.random() < 0.2 else []
    said = ran(folder, "advise", "random.toml", "--budget", "3M", "--jobs", "1", *(["--goal", goal] if goal else []), *grow)
    if said is None:
        return []
    told, text = said
    rows = [row_of(folder, of["run"]) for of in (told["today"], told["grown"]) if of]
    for row in rows:
        row["along_hosts"] = False
    return ["advise: " + what for what in sentences.advice(told, text, goal, Judge({"rows": rows, "findings": []}, True), rows)]


def diagnosed(draw, folder, scheme):
    """What refutes the diagnosis of a capture of one run."""
    made = subprocess.run([FANIN, "trace", "random.toml", "--scheme", scheme, "--fan-in", draw.choice(["3", "8", "16"]), "--set", "workload.duration=100 ms", "--out", "t.pcapng"],
                          cwd=folder, capture_output=True, text=True, timeout=600)
    said = ran(folder, "diagnose", "t.pcapng") if made.returncode == 0 else None
    return ["diagnose: " + what for what in sentences.diagnosis(*said)] if said else []


def planned(draw, folder):
    """What refutes the plan for a random log on a random cluster."""
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
    said = ran(folder, "plan", "log.csv", "--cluster", "cluster.toml", "--method", draw.choice(["groups", "picc"]))
    return ["plan: " + what for what in sentences.plan(*said)] if said else []


def compared(text, folder):
    """What refutes the comparison of the scenario; None where it is none."""
    said = ran(folder, "compare", "random.toml", "--jobs", "1")
    if said is None:
        return None
    told = said[0]
    between = any('kind = "%s"' % kind in text for kind in ("shuffle", "poisson", "all-reduce"))
    for row in told["rows"]:
        row["along_hosts"] = between
    drawn = "key_value" in text or "jitter" in text.replace('packet_jitter = "none"', "") or "packet_jitter" not in text
    return Judge(told, drawn).judge()


def case(number_, commands):
    """What refutes the sentences of a case; None where it is no scenario."""
    draw = random.Random(number_)
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        text = scenario(draw, folder)
        (folder / "random.toml").write_text(text)
        scheme = json.loads(text.splitlines()[0].partition("= ")[2])[0]
        bad, judged = [], False
        for command, judge in [("compare", lambda: compared(text, folder)), ("advise", lambda: advised(draw, folder)),
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
    """What refutes the scorecards of all papers, quickly run."""
    with tempfile.TemporaryDirectory() as place:
        runs = [subprocess.run([FANIN, "reproduce", "all", "--quick", *more], cwd=ROOT, capture_output=True, text=True,
                               env={**os.environ, "XDG_CACHE_HOME": place}) for more in (["--json"], [])]
    # 1: a verdict is not the recorded one, as the timings of a busy machine are not.
    if any(run.returncode not in (0, 1) for run in runs):
        return [run.stderr.strip() for run in runs]
    return list(sentences.scorecard(json.loads(runs[0].stdout), runs[1].stdout))


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
    print("%d scenarios, %d of them can be; %d have a sentence that their figures refute" % (len(numbers), judged, refuted))
    if "reproduce" in arguments.commands:
        bad = reproduced()
        refuted += bool(bad)
        print("\n  ".join(["reproduce: %d sentences of the scorecards are refuted" % len(bad), *bad]))
    sys.exit(1 if refuted or judged < len(numbers) / 2 else 0)


if __name__ == "__main__":
    main()
