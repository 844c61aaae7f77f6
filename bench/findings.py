"""Contradictions between the findings of `fanin compare` and its rows: states, causes and figures are derived here again from the rows."""

import math
import re

from texts import Text, contradictions

# Texts of findings (crates/lab/src/findings).

# States from best to worst, with the verdict and the verbs of each. The second list has the verbs of a state that the CI does not confirm.
STATES = {
    "holds": ("holds", ["sustains", "recovers"], ["may sustain", "may recover"]),
    "slow": ("slow", ["is slow"], ["may be slow"]),
    "sags": ("sags", ["degrades"], ["may degrade"]),
    "collapsed": ("collapses", ["collapses"], ["may collapse"]),
}
# Causes of stalls, as JSON and as sentences name them.
CAUSES = {
    "rto": "retransmission timeouts", "tlp": "tail-loss probes", "reordering": "RACK's reordering window", "syn": "lost SYNs",
    "delayed-ack": "delayed ACKs", "zero-window": "closed receive windows", "link-fault": "packets that faults.loss lost",
    "host": "crashed or slow hosts", "application": "applications",
}
UNKNOWN = "unknown causes"

HEADS = [
    r"(?P<verb>{verb}) (?:with )?(?P<only>\d+)(?: senders)?, the only fan-in tried",
    r"(?P<verb>{verb}) (?P<all>\d+), the largest fan-in tried",
    r"(?P<verb>{verb}) at (?P<every>every) fan-in tried",
]
PART = r"(?P<verb>{verb})(?: at| from)? (?P<at>\d+)(?: to (?P<to>\d+)|(?P<on> on))?"

SENTENCES = {
    "level": "[Goodput falls from {before:rate} {earlier:at} to ]{goodput:rate} {place:at}[ ({share:figure} % of the {allowed:rate} that the "
             "network allows)][, because rounds wait for {cause:text}].",
    "doubt": "Its 95 % CI, {low:figure} to {high:figure}, is too wide for a verdict: run more seeds.",
    "run": "A run has {timeouts:count} timeouts, {drops:count} drops, {marks:count} marks[, {lost:count} packets lost by faults]"
           "[; Jain's index of their goodputs is {jain:figure}].",
    "run idle": "The port is idle {stalls:times}, {stalled:time} in all[, waiting {causes:text}].",
    "round": "An average round takes [{least:at least} ]{mean:time}, with {drops:some} drops[, {lost:some} packets lost by faults], "
             "{marks:some} marks and {timeouts:some} timeouts.",
    "round with timeouts": "An average round takes [{least:at least} ]{mean:time}, with {timeouts:timeouts} of at least {rto_min:text}.",
    "no round": "No round ended[ in {longest:time}], after {timeouts:count} timeouts per run.",
    "idle": "It is idle {stalls:times}, {stalled:time} in all[, waiting {causes:text}].",
    "seldom idle": "In {begun:count} rounds the client is idle {stalls:times}, {stalled:time} in all[, waiting {causes:text}].",
    "unfinished": "{open:count} of {begun:count} rounds per run were unfinished after up to {longest:time}.",
    "tail": "The median is {p50:time}, p99 [{least:at least} ]{p99:time}.",
    "marks limit": "Without losses or idle time, marks reduce its windows.",
    "nothing lost": "There are no losses and no idle time.",
    "latency limits": "Without losses or idle time, latency limits it: a round takes at least {whole:time}, [{round_trips_ms:time} for round trips]"
                      "[, ][{work_ms:time} for the servers' processing][, ][{requests_ms:time} for sending the requests][, ]"
                      "[{wire_ms:time} for its bytes on the wire].",
    "queue": "The queue at the client's port peaked at {share:figure} % of its {buffer:text}.",
    "first drops": "Drops start {place:at}.",
    "hangs on": "This verdict depends on {count:integer} of {of:integer} rounds (<round|rounds> {named:text}): without <it|them>, goodput is "
                "{goodput:rate}[{cold:; set `workload.warm_up` to exclude the first rounds}].",
    "within": "The fall from {best:figure} ({best_low:figure} to {best_high:figure}) to {fallen:figure} ({low:figure} to {high:figure}) at "
              "{place:integer} is within the 95 % CIs, so it is not a collapse point.",
    "collapse point": "Its collapse point, where goodput is under half of its earlier best, is {place:integer}.",
}
OVERALL = {
    "single": "one fan-in tried",
    "none": "no scheme sustains the first fan-in",
    "every": "every scheme sustains {far:integer}[, the {last:largest} fan-in tried]",
    "some": "{names:text} <sustains|sustain> {far:integer}[, the {last:largest} fan-in tried]<: {factor:figure}× {next:text}'s "
            "{next_far:integer}|; {sustains_none:text} sustains none>",
    "says": "{place:at}, {best:text} reaches {goodput:rate}[, {factor:figure}× {worst:text}'s][{equal:; the others are equal within their 95 % CIs}][; {stopped:text} delivers nothing]"
            "[; its p99 round time is [{best_least:at least} ]{best_p99:time}, against [{worst_least:at least} ]{worst_p99:time}].",
}
# Any-to-any workloads.
SPREAD_HEADS = {
    "took": "[collapses {where:at}: ]takes [{least:at least} ]{mean:time}[ {place:at}]",
    "slowdown": "[collapses {where:at}: ]has a median slowdown of {p50:figure}×, p99 {p99:figure}×[ {place:at}]",
    "nothing": "[collapses {where:at}: ]has no finished flow[ {place:at}]",
}
SPREAD = {
    "fall": "{place:at} it reaches {fallen:rate}, {best:rate} {earlier:at}: {factor:figure}× less per host, with timeouts.",
    "counts": "{hosts:integer} hosts reach {goodput:rate}[ of an offered {offered:rate}], with {timeouts:count} timeouts, {drops:count} drops and "
              "{marks:count} marks per run.",
    "median": "The median slowdown of flows is {p50:figure}×, p99 {p99:figure}×.",
    "worst": "Flows of {sizes:text} are slowed most: p99 {worst:figure}×.",
    "unfinished": "{unfinished:integer} flows did not finish.",
    "first": "{place:at} it {head:text}.",
}
SPREAD_OVERALL = {
    "finishes": "{first:text} finishes first",
    "times": "It takes [{least:at least} ]{time:time} on average; {last:text} takes [{last_least:at least} ]{last_time:time}.",
    "slows": "{first:text} slows flows least",
    "slowdowns": "The mean slowdown of flows is {least:figure}×, with {last:text} {most:figure}×.",
}

RANK = list(STATES)


def begun(row):
    return row["rounds"] + row["rounds_open"]


def per_round(row, count):
    """A count per started round, or per run without rounds."""
    return count / begun(row) if begun(row) > 0 else count


def is_bound(spread, name):
    """Whether a percentile is a lower bound."""
    rising = ["p50", "p95", "p99", "p999", "max"]
    return spread["at_least"] is not None and rising.index(name) >= rising.index(spread["at_least"])


def deficit(row, goodput):
    """Share of the upper bound, and the missing part of one client's time in ms. Bursts start at fixed times, so their durations count."""
    if row["allowed_mbps"]:
        part, whole = goodput / row["allowed_mbps"], row["measured_ms"]
    elif row["least"] and row["qct_ms"]["mean"]:
        part, whole = row["least"]["whole_ms"] / row["qct_ms"]["mean"], row["qct_ms"]["mean"] * begun(row)
    else:
        return None
    return part, whole * (1 - part)


def by_goodput(row, goodput):
    """The state of a point with this goodput, without regard to how often it is idle."""
    trouble = max(row["stalled_ms"], row["repair_ms"]) / max(row["clients"], 1)
    lossy = row["drops"] + row["lost"] + row["timeouts"] + row["stalls"] > 0
    found = deficit(row, goodput)
    if found is None:
        mean = row["qct_ms"]["mean"]
        whole = row["measured_ms"] if mean is None else mean * begun(row) / max(row["clients"], 1)
        if 0 < trouble >= 0.5 * whole:
            return "collapsed"
        return "sags" if begun(row) > 0 and row["timeouts"] / begun(row) >= 0.3 else "holds"
    part, missing = found
    if part >= 0.8:
        return "holds"
    if not lossy:
        return "slow"
    return "collapsed" if part < 0.5 and trouble >= 0.5 * missing else "sags"


def state(row, goodput=None):
    """The state of a point: by goodput, but it does not hold if it is idle in three of ten rounds."""
    found = by_goodput(row, row["goodput_mbps"]["mean"] if goodput is None else goodput)
    idle = begun(row) > 0 and row["stalls"] / begun(row) >= 0.3
    return "sags" if found == "holds" and idle else found


def sure(row):
    """Whether the other end of the CI has the same state, or at least does not collapse if the mean holds."""
    if state(row) == "holds":
        return by_goodput(row, row["goodput_mbps"]["lo"]) != "collapsed"
    return state(row, row["goodput_mbps"]["hi"]) == state(row)


def main_cause(row):
    """The longest cause of stalls, if its time is at least half of the deficit of a point that degrades or collapses."""
    counted = [(of["ms"], cause) for cause, of in row["stalls_by_cause"].items() if of["count"] > 0]
    found = deficit(row, row["goodput_mbps"]["mean"])
    if not counted or not found or state(row) not in ("sags", "collapsed") or row["qct_ms"]["mean"] is None:
        return None
    ms, cause = max(counted)
    return CAUSES[cause] if ms / max(row["clients"], 1) >= 0.5 * found[1] else None


def shares_of_causes(row, says):
    """Contradictions in `waiting ...`: causes of at least 5 % of the idle time, with their shares."""
    share = {cause: of["ms"] / row["stalled_ms"] for cause, of in row["stalls_by_cause"].items() if row["stalled_ms"] and of["count"] > 0}
    rest = 1 - sum(share.values())
    named = {CAUSES[cause]: part for cause, part in share.items() if part > 0.05}
    if says is None:
        if any(part > 0.0501 for part in share.values()):
            yield f"waiting for nothing, and {share}"
        return
    if says.startswith("for "):
        if named.get(says[4:], 0) < 0.9499:
            yield f"waiting {says}, and {share}"
        return
    said = {cause: int(part) for part, cause in re.findall(r"(\d+) % for ([^,]+)", says)}
    for cause, part in {**named, UNKNOWN: rest}.items():
        if part > 0.0501 and cause not in said:
            yield f"{cause} is not named, {100 * part:.1f} %: {says}"
    for cause, percent in said.items():
        part = rest if cause == UNKNOWN else next((part for word, part in share.items() if CAUSES[word] == cause), -1)
        if abs(percent - 100 * part) > 0.51:
            yield f"{percent} % for {cause}, not {100 * part:.1f} %"


class Judge:
    """One comparison's object. `scenario` has the keys of the scenario's sections; `random`: round times vary by chance."""

    def __init__(self, told, scenario=None, random=True):
        self.told, self.random = told, random
        self.rows, self.findings = told["rows"], told["findings"]
        self.scenario = scenario or {}
        kind = self.key("workload", "kind")
        self.any_to_any = kind in ("shuffle", "poisson", "all-reduce")

    def key(self, section, key):
        return self.scenario.get(section, {}).get(key)

    def figures(self):
        """Rows that contradict themselves."""
        for row in self.rows:
            name = "%s at %s" % (row["scheme"], row["point"])
            causes = row["stalls_by_cause"].values()
            if sum(cause["count"] for cause in causes) > row["stalls"] * (1 + 1e-4) + 1e-4:
                yield f"more stalls by cause than in all: {name}"
            if sum(cause["ms"] for cause in causes) > row["stalled_ms"] * (1 + 1e-4) + 1e-4:
                yield f"longer stalls by cause than in all: {name}"
            if row["stalled_ms"] > (row["measured_ms"] * row["clients"]) * 1.05 + 1.0:
                yield f"stalls longer than the measured time: {name}"
            # A round's time varies by no more than its mean. Three standard errors are chance.
            scatter = 1.8 / math.sqrt(max(1, row["rounds"] * row["seeds"])) if self.random else 0
            if row["allowed_mbps"] and row["goodput_mbps"]["mean"] > (1 + 1e-5 + scatter) * row["allowed_mbps"]:
                yield f"{row['goodput_mbps']['mean']} of at most {row['allowed_mbps']} Mbit/s: {name}"

    def of(self, scheme):
        return [row for row in self.rows if row["scheme"] == scheme]

    def judge(self, text):
        """All contradictions. `text` is the text of the same command."""
        bad = list(self.figures())
        flat = " ".join(text.split())
        for finding in self.findings:
            whole = " ".join(filter(None, [finding["scheme"], f"{finding['head']}.", finding["says"]]))
            if " ".join(whole.split()) not in flat:
                bad.append(f"not in the text: {whole}")
            judge = self.scheme if finding["scheme"] else self.overall
            if self.any_to_any:
                judge = self.spread if finding["scheme"] else self.spread_overall
            bad += [f"{finding['scheme'] or 'all'}: {what}" for what in judge(finding)]
        return bad

    # A scheme's finding: its head gives each point's state, and its sentences describe one point.

    def scheme(self, finding):
        rows = self.of(finding["scheme"])
        if not rows:
            return
        states = [(state(row), sure(row)) for row in rows]
        said = list(self.states_of(finding["head"], rows))
        if said != states:
            yield f"states are {states}, not {said}: {finding['head']}"
        certain = {found for found, certain in states if certain}
        worst = max(certain, key=RANK.index, default="holds")
        verdict = STATES[worst][0] if worst != "holds" else "holds" if all(certain for _, certain in states) else "open"
        if finding["verdict"] != verdict:
            yield f"verdict is {verdict}, not {finding['verdict']}"
        worst = max((found for found, _ in states), key=RANK.index)
        first = [row for row, of in zip(rows, states) if of == (worst, True)] or [row for row, of in zip(rows, states) if of[0] == worst]
        yield from self.sentences(rows, first[0] if worst != "holds" else rows[-1], finding["says"])

    def states_of(self, head, rows):
        """Each point's state by a head; None for a point that it omits."""
        verbs = {verb: (name, certain) for name, (_, *lists) in STATES.items() for certain, verbs in zip((True, False), lists) for verb in verbs}
        verb = "|".join(sorted(verbs, key=len, reverse=True))
        for pattern in HEADS:
            if match := re.fullmatch(pattern.format(verb=verb), head):
                only, last = match.groupdict().get("only"), match.groupdict().get("all")
                right = (not only or len(rows) == 1) and (only or last) in (None, str(rows[-1]["point"]["fan_in"]))
                return [verbs[match["verb"]] if right else None] * len(rows)
        ticks = [row["point"]["fan_in"] for row in rows]
        found = [None] * len(rows)
        for place, part in enumerate(head.split(", ")):
            match = re.fullmatch(PART.format(verb=verb), part)
            if not match or int(match["at"]) not in ticks:
                return found
            of, at = verbs[match["verb"]], ticks.index(int(match["at"]))
            # The first part sustains up to a point; a collapse lasts until the next part.
            to = len(rows) - 1 if match["on"] or of[0] == "collapsed" else ticks.index(int(match["to"])) if match["to"] else at
            found[0 if place == 0 and of[0] == "holds" else at:to + 1] = [of] * (to + 1 - (0 if place == 0 and of[0] == "holds" else at))
        return found

    def sentences(self, rows, row, says):
        """Contradictions between the sentences about a point and its row."""
        text, of = Text.sentences(says), lambda of: of["point"]["fan_in"]
        goodput, q = row["goodput_mbps"], row["qct_ms"]
        judge = lambda name, values: text.judge(SENTENCES[name], values)
        best = max(rows[:rows.index(row)], key=lambda other: other["goodput_mbps"]["mean"], default=None)
        worse = best and goodput["mean"] < best["goodput_mbps"]["mean"] and RANK.index(state(row)) > RANK.index(state(best))
        allowed = row["allowed_mbps"]
        yield from judge("level", {
            "before": best["goodput_mbps"]["mean"] if worse else None, "earlier": of(best) if worse else None, "goodput": goodput["mean"],
            "place": of(row), "allowed": allowed, "share": 100 * goodput["mean"] / allowed if allowed else None, "cause": main_cause(row)})
        yield from judge("doubt", None if sure(row) else {"low": goodput["lo"], "high": goodput["hi"]})
        if begun(row) == 0:
            yield from judge("run", {key: row[key] for key in ("timeouts", "drops", "marks", "jain")} | {"lost": row["lost"] or None})
            yield from self.idle(text, row, "run idle", row["stalls"] > 0)
        elif row["rounds"] > 0 and q["mean"] is not None:
            timeouts = per_round(row, row["timeouts"])
            least = {"least": q["at_least"] is not None, "mean": q["mean"], "timeouts": timeouts}
            few = {key: per_round(row, row[key]) for key in ("drops", "marks")} | {"lost": per_round(row, row["lost"]) if row["lost"] > 0 else None}
            rto_min = {"rto_min": self.key("tcp", "rto_min")} if self.key("tcp", "rto_min") else {}
            yield from judge("round", least | few if timeouts < 0.05 else None)
            yield from judge("round with timeouts", least | rto_min if timeouts >= 0.05 else None)
            yield from self.idle(text, row, "idle", per_round(row, row["stalls"]) >= 0.05)
            yield from self.idle(text, row, "seldom idle", 0 < per_round(row, row["stalls"]) < 0.05)
            longest = q["max"] if q["at_least"] else None
            yield from judge("unfinished", {"open": row["rounds_open"], "begun": begun(row), "longest": longest} if longest else None)
            tail = q["p50"] and q["p99"] and q["p99"] >= 3 * q["p50"]
            yield from judge("tail", {"p50": q["p50"], "p99": q["p99"], "least": is_bound(q, "p99")} if tail else None)
        else:
            yield from judge("no round", {"longest": q["max"], "timeouts": row["timeouts"]})
            yield from self.idle(text, row, "idle", per_round(row, row["stalls"]) >= 0.05)
            yield from self.idle(text, row, "seldom idle", 0 < per_round(row, row["stalls"]) < 0.05)
        yield from self.limits(text, row)
        buffer = self.key("switch", "buffer")
        if buffer and row["clients"] == 1:
            digits, size = buffer.split()
            share = 100 * row["queue_max_bytes"] / (float(digits) * {"KiB": 2**10, "MiB": 2**20}[size])
            yield from judge("queue", {"share": share, "buffer": buffer})
        dropping = [other for other in rows if other["drops"] > 0]
        yield from judge("first drops", {"place": of(dropping[0])} if dropping and dropping[0] is not rows[0] else None)
        better = lambda some: some and RANK.index(state(row, some["goodput_mbps"])) < RANK.index(state(row))
        cold, slowest = better(row["cold"]), better(row["slowest"])
        few = row["cold"] if cold else row["slowest"]
        yield from judge("hangs on", {
            "count": few["count"], "of": few["of"], "goodput": few["goodput_mbps"], "cold": cold, "named": self.named(row, few)} if cold or slowest else None)
        yield from self.onset(text, rows)
        yield from text.unknown()

    def idle(self, text, row, name, there):
        """The idle time of a round, or of a run if idle periods are rare, and its causes."""
        share = (lambda value: value) if name in ("run idle", "seldom idle") else (lambda value: per_round(row, value))
        match = text.take(SENTENCES[name])
        if bool(match) != bool(there):
            yield f"idle: {row['stalls']} times in {begun(row)} rounds: {match and match[0]}"
        elif match:
            yield from contradictions(SENTENCES[name], match, {"begun": begun(row), "stalls": share(row["stalls"]), "stalled": share(row["stalled_ms"])})
            yield from shares_of_causes(row, match["causes"])

    def limits(self, text, row):
        """The limit of a slow point without losses and idle time."""
        slow, least = state(row) == "slow", row["least"]
        if slow and row["drops"] + row["lost"] + row["stalls"] + row["timeouts"] > 0:
            yield "slow, with losses or idle time"
        parts = {key: least[key] if least[key] >= 0.01 * least["whole_ms"] else None for key in least if key != "whole_ms"} if least else {}
        yield from text.judge(SENTENCES["marks limit"], {} if slow and row["marks"] > 0 else None)
        yield from text.judge(SENTENCES["nothing lost"], {} if slow and row["marks"] == 0 and not least else None)
        yield from text.judge(SENTENCES["latency limits"], {"whole": least["whole_ms"], **parts} if slow and row["marks"] == 0 and least else None)

    def named(self, row, few):
        """The rounds of a note as it names them."""
        names = [str(one) if row["seeds"] == 1 else f"{one} (seed {seed})" for seed, one in few["rounds"]]
        return ", ".join(names + ["..."] * (few["count"] > len(names)))

    def onset(self, text, rows):
        """The collapse point of JSON, if the states do not show it, or if it is within the CIs."""
        place = self.told["onset"].get(rows[0]["scheme"])
        row = next((row for row in rows if row["point"]["fan_in"] == place), None)
        before = rows[:rows.index(row)] if row else []
        best = max(before, key=lambda other: other["goodput_mbps"]["mean"], default=None)
        within = best and row["goodput_mbps"]["hi"] >= best["goodput_mbps"]["lo"]
        collapsed = next((other for other in rows if state(other) == "collapsed"), None)
        ends = lambda of, names: {name: of["goodput_mbps"][end] for name, end in zip(names, ("mean", "lo", "hi"))}
        yield from text.judge(SENTENCES["within"], {
            **ends(best, ("best", "best_low", "best_high")), **ends(row, ("fallen", "low", "high")), "place": place} if within else None)
        yield from text.judge(SENTENCES["collapse point"], {"place": place} if best and not within and collapsed not in (None, row) else None)

    # Comparisons of all schemes.

    def overall(self, finding):
        """The schemes that sustain the largest fan-in, and the best and the worst goodput there."""
        text, schemes = Text([finding["head"]]), list(dict.fromkeys(row["scheme"] for row in self.rows))
        fan_ins = sorted({row["point"]["fan_in"] for row in self.rows})
        at = {(row["scheme"], row["point"]["fan_in"]): row for row in self.rows}
        fan_ins = [fan_in for fan_in in fan_ins if all((scheme, fan_in) in at for scheme in schemes)]
        far = {}
        for scheme in schemes:
            held = [state(at[scheme, fan_in]) == "holds" for fan_in in fan_ins]
            far[scheme] = fan_ins[held.index(False) - 1] if False in held and held[0] else None if False in held else fan_ins[-1]
        best = max(filter(None, far.values()), default=None)
        judge = lambda name, values: text.judge(OVERALL[name], values)
        last = best == fan_ins[-1]
        names = [scheme for scheme in schemes if far[scheme] == best]
        others = [scheme for scheme in schemes if far[scheme] != best]
        yield from judge("single", {} if len(fan_ins) == 1 else None)
        yield from judge("none", {} if len(fan_ins) > 1 and best is None else None)
        yield from judge("every", {"far": best, "last": last} if len(fan_ins) > 1 and best and not others else None)
        second = max(others, key=lambda scheme: far[scheme] or 0, default=None)
        less = far[second] if second else None
        yield from judge("some", {
            "names": ", ".join(names), "far": best, "last": last, "factor": best / less if less else None, "next": second if less else None,
            "next_far": less, "sustains_none": None if less else second} if len(fan_ins) > 1 and best and others else None)
        yield from text.unknown()
        there = [at[scheme, best or fan_ins[0]] for scheme in schemes]
        yield from self.best_and_worst(there, finding["says"])

    def best_and_worst(self, there, says):
        mean = lambda row: row["goodput_mbps"]["mean"]
        best, worst = max(there, key=mean), min(there, key=mean)
        # Among equals any may be named.
        text = Text([says])
        match = text.take(OVERALL["says"])
        if not match:
            yield from text.unknown()
            return
        for row, name in ((best, match["best"]), (worst, match["worst"] or match["stopped"])):
            if name is not None and not any(other["scheme"] == name and mean(other) == mean(row) for other in there):
                yield f"{row['scheme']} has {mean(row)}: {says}"
        factor = mean(best) / mean(worst) if mean(worst) else math.inf if mean(best) else 1
        alike = factor < 1.05 or best["goodput_mbps"]["lo"] <= worst["goodput_mbps"]["hi"]
        times = {"best": best["qct_ms"]["p99"], "worst": worst["qct_ms"]["p99"]}
        timed = factor >= 1.05 and None not in times.values()
        yield from contradictions(OVERALL["says"], match, {
            "place": best["point"]["fan_in"], "goodput": mean(best), "equal": alike, "factor": factor if not alike and math.isfinite(factor) else None,
            **{f"{of}_p99": times[of] if timed else None for of in times},
            **{f"{of}_least": timed and is_bound(row["qct_ms"], "p99") for of, row in (("best", best), ("worst", worst))}})

    # Any-to-any workloads: durations and slowdowns instead of rounds and states.

    def spread_head(self, row):
        """The head of a row, by its template and values."""
        q, all_sizes = row["qct_ms"], row["slowdown"][0] if row["slowdown"] else None
        if q["mean"] is not None:
            return "took", {"mean": q["mean"], "least": q["at_least"] is not None}
        if all_sizes and all_sizes["p50"] is not None:
            return "slowdown", {"p50": all_sizes["p50"], "p99": all_sizes["p99"]}
        return "nothing", {}

    def spread(self, finding):
        rows = self.of(finding["scheme"])
        hosts = lambda row: row["point"]["fan_in"] + 1
        per_host = lambda row: row["goodput_mbps"]["mean"] / hosts(row)
        fallen = best = None
        for row in rows:
            if best and row["goodput_mbps"]["hi"] / hosts(row) < per_host(best) / 2 and row["timeouts"] > 0:
                fallen = row
                break
            best = max(filter(None, (best, row)), key=per_host)
        row = fallen or rows[-1]
        if finding["verdict"] != ("collapses" if fallen else "open"):
            yield f"verdict {finding['verdict']}"
        name, values = self.spread_head(row)
        heads, text = Text([finding["head"]]), Text.sentences(finding["says"])
        yield from heads.judge(SPREAD_HEADS[name], {
            **values, "where": hosts(row) if fallen else None, "place": hosts(row) if not fallen and len(rows) > 1 else None})
        yield from heads.unknown()
        judge = lambda name, values: text.judge(SPREAD[name], values)
        yield from judge("fall", {
            "place": hosts(row), "fallen": row["goodput_mbps"]["mean"], "best": best["goodput_mbps"]["mean"], "earlier": hosts(best),
            "factor": per_host(best) / per_host(row) if per_host(row) else math.inf} if fallen else None)
        load = self.key("workload", "load")
        rate = {"100 Mbit/s": 100, "1 Gbit/s": 1000, "10 Gbit/s": 10000}[self.key("link", "rate")]
        yield from judge("counts", {
            "hosts": hosts(row), "goodput": row["goodput_mbps"]["mean"], "offered": load * rate * hosts(row) if load else None,
            **{key: row[key] for key in ("timeouts", "drops", "marks")}})
        sizes = row["slowdown"] or [dict.fromkeys(("p50", "p99"), None) | {"unfinished": 0}]
        yield from judge("median", {key: sizes[0][key] for key in ("p50", "p99")} if begun(row) > 0 and sizes[0]["p99"] is not None else None)
        worst = max((of for of in sizes[1:] if of["p99"] is not None), key=lambda of: of["p99"], default=None)
        yield from judge("worst", {"sizes": re.sub("^to ", "up to ", worst["sizes"]), "worst": worst["p99"]} if worst else None)
        yield from judge("unfinished", {"unfinished": sizes[0]["unfinished"]} if sizes[0]["unfinished"] else None)
        if not fallen and len(rows) > 1:
            name, values = self.spread_head(rows[0])
            match = text.take(SPREAD["first"])
            then = Text([match["head"] if match else ""])
            yield from contradictions(SPREAD["first"], match, {"place": hosts(rows[0])}) if match else ["no first point"]
            yield from then.judge(SPREAD_HEADS[name], {**values, "where": None, "place": None})
        yield from text.unknown()

    def spread_overall(self, finding):
        """The first and the last by duration, or by mean slowdown."""
        last = max(row["point"]["fan_in"] for row in self.rows)
        there = [row for row in self.rows if row["point"]["fan_in"] == last]
        timed = [(row["qct_ms"]["mean"], row) for row in there if row["qct_ms"]["mean"] is not None]
        slowed = [(row["slowdown"][0]["mean"], row) for row in there if row["slowdown"] and row["slowdown"][0]["mean"] is not None]
        values = timed if len(timed) > 1 else slowed
        kinds = ("finishes", "times") if len(timed) > 1 else ("slows", "slowdowns")
        of = {row["scheme"]: value for value, row in values}
        least, most = min(of.values()), max(of.values())
        head, says = (Text([part]).take(SPREAD_OVERALL[kind]) for part, kind in zip((finding["head"], finding["says"]), kinds))
        if not head or not says:
            yield f"no template for: {finding['head']}: {finding['says']}"
            return
        if of.get(head["first"]) != least or of.get(says["last"]) != most or head["first"] == says["last"]:
            yield f"{of}: {finding['head']}: {finding['says']}"
        bound = {row["scheme"]: row["qct_ms"]["at_least"] is not None for row in there}
        yield from contradictions(SPREAD_OVERALL[kinds[1]], says, {
            "time": least, "last_time": most, "most": most, **({"least": least} if kinds[0] == "slows" else
            {"least": bound[head["first"]], "last_least": bound.get(says["last"])})})
