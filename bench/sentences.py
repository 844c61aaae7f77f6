"""Contradictions between the texts of `fanin advise`, `diagnose`, `plan` and `reproduce` and their JSON.

Each section has a table of its texts (templates: texts.py). Every line of a text has to match a template, an exact string of JSON, or a line
without figures, and every figure has to agree with JSON. Verdicts are derived here again from the figures.
"""

import re

from findings import state
from texts import Text, UNITS, compiled, contradictions, near, number

TIME = r"([\d.]+) (us|ms|s)"


# Advice (crates/cli/src/advice.rs, crates/advise/src).

# States: as JSON and as the text of the advice name them.
ADVISED = {"holds": ("holds", "sustains"), "slow": ("is slow", "is slow with"), "sags": ("sags", "degrades at"),
           "collapsed": ("is collapsed", "collapses at")}
STANDING = "{scheme:word} {verb:text} {servers:integer} servers: {goodput:figure} Mbit/s[ of at most {allowed:figure}][, [{least:at least} ]" \
           "{mean:time} per round]"
ADVICE = {
    "today": "{scenario:text}: " + STANDING,
    "grown": "After growth, " + STANDING + "; the rest refers to this",
    "onset": "[In simulation, goodput <falls below half of its best from {onset:integer} servers on|{flat:stays above half of its best} with "
             "smaller numbers of servers, from 2 to {most:integer}>. ]By the closed form, initial windows overflow from {model:figure} servers on.",
    "limit": "  limited by   {what:text}: {says:text}",
    "goal": "The goal, {goal:text}, <{met:is met}|is not met> today: {reached:text}.[ This link rate cannot meet it: a round's packets alone take "
            "{wire:time} on the client's link.]",
    "unmet": "No available remedy[ {tried:that was tried}] meets the goal, {goal:text}[; {untried:integer} were not tried].[ {nearest:text} comes "
             "closest: {reached:text}.][ Of the other options, {other:text} meets it.]",
    "nothing helps": "No remedy that was tried and is available today helps.",
    "remedies": "Remedies, best first by a client's time for the same bytes; equals by side effects and effort",
    "options": "Other options: purchases, other workloads, or not available today",
    "remedy": "  {place:rank}   {says:text}: {share:figure} % of today's time, {goodput:figure} Mbit/s[, {mean:time} per round][ (p99 {p99:time})]; "
              "{words:text}",
    "packets": "{packets:large} data packets simulated",
}
# Sentences that follow one another in a line.
NO_CHANGE = "Nothing needs changing."
MARGINS = {
    "edge": "It {would:text} with {edge:text} instead of {now:text}.",
    "same": "It would be the same with {now:text} to {tried_to:text}.",
}
WOULD = {True: "would no longer be impaired", False: "would be impaired"}
ASSUMPTIONS = {
    "turns": "This depends on the assumption {key:word} = {now:text}: with {turns:text}, {otherwise:text}.",
    "others": "Other assumptions do not change it; tried values in brackets: {all:text}.",
}
OTHERWISE = {True: "it would not be impaired", False: "it would be impaired"}
# Parts of a remedy's line behind its effort.
REMEDY = {
    "touches": "affects other traffic", "met": {True: "meets the goal: ", False: "misses the goal: "},
    "robust": {True: "same rank under other assumptions", False: "rank depends on assumptions"},
}
IN_FULL = {"touches": "  affects   ", "harms": "  harms   ", "harmless": "  It harms background long and small flows by less than 10 %."}
PLACES = r"  (apply|undo|verify) (on every server|on the client|on the switch \((SONiC|EOS)\)|in the application)"
# Harms: their figures, and whether these are a harm. Effects of less than a tenth are none.
HARMS = [
    (r"long flow gets ([\d.]+) Mbit/s\D+([\d.]+)", lambda now, before: now < 0.91 * before),
    (r"p99 slowdown of ([\d.]+)×\D+([\d.]+)×", lambda now, before: now > 1.09 * before),
    (r"([\d.]+[kM]?) timeouts \D+([<\d.]+[kM]?) ", lambda timeouts, lost: timeouts > 1.9 * lost),
]
# Families of remedies that change the requests, so that goodput is not comparable.
OTHER_WORK = {"answer-size", "servers", "server-window", "placement", "sicc"}


def count(text):
    return number(text.lstrip("<"))[0]


def value(digits):
    return float(digits.replace(",", ""))


def in_ms(says):
    """All times of a text."""
    return [UNITS[unit] * value(digits) for digits, unit in re.findall(TIME, says)]


def standing(of, row):
    """Contradictions between a cluster's state and its row in a comparison."""
    found = state(row)
    if of["state"] != ADVISED[found][0]:
        yield f"{of['state']}, and its row {found}"
    if of["hurt"] != (found in ("sags", "collapsed")):
        yield f"{of['state']}, and hurt is {of['hurt']}"
    # Without fixed sizes, requests may ask for more than expected.
    bound = row["allowed_mbps"] and row["goodput_mbps"]["mean"] <= row["allowed_mbps"]
    if of["allowed_mbps"] != (row["allowed_mbps"] if bound else None):
        yield f"at most {of['allowed_mbps']}, and {row['allowed_mbps']} in its row"
    for key in ("goodput_mbps", "qct_ms"):
        if of[key] != row[key]:
            yield f"{key} differs from its row"
    mean, wire = row["qct_ms"]["mean"], of["wire_ms"]
    if mean is not None and wire and row["qct_ms"]["at_least"] is None and mean < wire * (1 - 1e-5):
        yield f"a round takes {mean} ms, its packets alone {wire} ms"


def fares(of, row):
    """Values of STANDING."""
    return {"scheme": of["scheme"], "verb": ADVISED[state(row)][1], "servers": of["servers"], "goodput": of["goodput_mbps"]["mean"],
            "allowed": of["allowed_mbps"], "mean": of["qct_ms"]["mean"], "least": of["qct_ms"]["mean"] is not None and of["qct_ms"]["at_least"]}


def ranked(advice):
    return [remedy for remedy in advice["remedies"] if remedy["apart"] is None and remedy["deployable"]]


def order(advice):
    """Contradictions within JSON: of limits, remedies and their order."""
    before = advice["grown"] or advice["today"]
    for limit in advice["limits"]:
        after, than = in_ms(limit["says"])[-2:]
        # Goodput may stay the same if requests have fixed times, or ask for objects.
        if after >= than or limit["goodput_mbps"]["mean"] < 0.9 * before["goodput_mbps"]["mean"]:
            yield f"limited by {limit['what']}: {limit['says']}, at {limit['goodput_mbps']['mean']} of {before['goodput_mbps']['mean']} Mbit/s"
        if before["wire_ms"] and after < before["wire_ms"] * 0.995 and limit["what"] not in ("uplink",):
            yield f"{limit['says']}: the packets alone take {before['wire_ms']} ms"
    for remedy in advice["remedies"]:
        if remedy["of_today"] >= 1:
            yield f"{remedy['says']} helps: {remedy['of_today']} of today's time"
        families = set(remedy["family"].split("+"))
        if not families & OTHER_WORK and before["goodput_mbps"]["mean"] > 1.1 * remedy["goodput_mbps"]["mean"]:
            yield f"{remedy['says']} helps: goodput falls from {before['goodput_mbps']['mean']} to {remedy['goodput_mbps']['mean']}"
        yield from (what for harm in remedy["harms"] or [] for what in of_harm(harm))
    own = ranked(advice)
    if own != advice["remedies"][:len(own)]:
        yield "other options come before available remedies"
    met = [bool(remedy["goal"] and remedy["goal"]["met"]) for remedy in own]
    if met != sorted(met, reverse=True):
        yield "remedies that meet the goal are not first"
    for first, second in zip(own, own[1:]):
        # Within 5 % and with overlapping CIs, effort and side effects decide.
        if first["of_today"] > 1.051 * second["of_today"] and not (first["goal"] and first["goal"]["met"]):
            yield f"{first['says']} comes before {second['says']}: {first['of_today']} of today's time, {second['of_today']}"
    hurt = advice["today"]["hurt"] or before["hurt"] or bool(advice["goal"] and not advice["goal"]["met"])
    if advice["needed"] != hurt or (advice["remedies"] and not hurt):
        yield f"needed is {advice['needed']}"


def of_harm(harm):
    """Contradictions within a harm, which has no figures in JSON."""
    for pattern, harmful in HARMS:
        if match := re.search(pattern, harm):
            if not harmful(*map(count, match.groups())):
                yield harm
            return
    yield f"no pattern for: {harm}"


def advice(told, text, goal, rows):
    """Contradictions in `fanin advise`. `rows`: of the command of today's cluster, and of the grown cluster's if there is one."""
    yield from order(told)
    lines, before = Text.lines(text), told["grown"] or told["today"]
    for name, of, row in (("today", told["today"], rows[0]), ("grown", told["grown"], rows[-1])):
        if of:
            yield from standing(of, row)
        yield from lines.judge(ADVICE[name], {"scenario": told["scenario"], **fares(of, row)} if of else None)
    model, flat = told["onset_model"], told["onset_searched"] and told["onset"] is None
    yield from lines.judge(ADVICE["onset"], None if model is None else {
        "onset": told["onset"], "flat": flat, "most": 4 * before["servers"] if flat else None, "model": int(model)})
    yield from margins(lines, told, before)
    yield from assumptions(lines, told, before)
    for limit in told["limits"]:
        yield from lines.judge(ADVICE["limit"], {"what": limit["what"], "says": limit["says"]})
    yield from goals(lines, told, goal, before)
    yield from remedies(lines, told, set(lines.left))
    for caveat in told["caveats"]:
        if not lines.take_exactly(caveat):
            yield f"missing: {caveat}"
    yield from lines.judge(ADVICE["packets"], {"packets": told["spent_packets"]})
    yield from lines.unknown()


def series(lines, templates):
    """The first line whose first sentence matches one of these templates, as sentences. It is removed."""
    for line in lines.left:
        sentences = Text.sentences(line)
        if any(compiled(template)[0].fullmatch(sentences.left[0]) for template in templates):
            lines.take_exactly(line)
            return sentences
    return Text([])


def margins(lines, told, before):
    """The nearest values with another verdict. The line also has the verdict if nothing needs changing."""
    says = series(lines, [NO_CHANGE, *MARGINS.values()])
    yield from says.judge(NO_CHANGE, None if told["needed"] else {})
    for margin in told["margins"]:
        of, now, edge, tried_to = (margin[key] for key in ("of", "now", "edge", "tried_to"))
        changed, same = {"would": WOULD[before["hurt"]], "edge": f"{of} {edge}", "now": now}, {"now": f"{of} from {now}", "tried_to": tried_to}
        yield from says.judge(MARGINS["edge" if edge else "same"], changed if edge else same)
    yield from says.unknown()


def assumptions(lines, told, before):
    """Assumed values, first those that would change the verdict."""
    turning, others = ([of for of in told["hangs_on"] if bool(of["turns"]) == turns] for turns in (True, False))
    if any(not set(of["turns"]) <= set(of["tried"]) or of["now"] in of["tried"] for of in told["hangs_on"]):
        yield "the verdict depends on values that were not tried"
    says = series(lines, ASSUMPTIONS.values())
    for of in turning:
        yield from says.judge(ASSUMPTIONS["turns"], {
            "key": of["key"], "now": of["now"], "turns": " or ".join(of["turns"]), "otherwise": OTHERWISE[before["hurt"]]})
    same = ", ".join(f"{of['key']} = {of['now']} ({' and '.join(of['tried'])})" for of in others)
    yield from says.judge(ASSUMPTIONS["others"], {"all": same} if others else None)
    yield from says.unknown()


def goals(lines, told, goal, before):
    """The goal, whether it is met today, whether it can be met at all, and the closest remedy."""
    if not goal:
        yield from lines.judge(ADVICE["goal"], None)
        yield from lines.judge(ADVICE["unmet"], None)
        return
    reached = told["goal"]
    measure, limit = re.match(r"([\w.]+) [<>] (.*)", goal).groups()
    if measure == "goodput":
        bound = before["allowed_mbps"] or None
        met = None if bound is None else before["goodput_mbps"]["mean"] / bound >= value(limit.rstrip(" %")) / 100
        possible = True
    else:
        mean = before["qct_ms"]["p999" if measure == "p99.9" else measure]
        met = mean is not None and mean <= in_ms(limit)[0]
        possible = before["wire_ms"] is None or in_ms(limit)[0] > before["wire_ms"]
    if met not in (None, reached["met"]) or possible != reached["possible"]:
        yield f"{goal}: met is {met} and possible is {possible} by the figures, and {reached}"
    yield from lines.judge(ADVICE["goal"], {
        "goal": goal, "met": reached["met"], "reached": reached["reached"], "wire": None if possible else before["wire_ms"]})
    own = ranked(told)
    wanted = told["needed"] and not reached["met"] and not any(remedy["goal"]["met"] for remedy in own)
    other = next((remedy["says"] for remedy in told["remedies"] if remedy["goal"]["met"]), None)
    yield from lines.judge(ADVICE["unmet"], {
        "goal": goal, "tried": told["untried"] > 0, "untried": told["untried"] or None, "nearest": own[0]["says"] if own else None,
        "reached": own[0]["goal"]["reached"] if own else None, "other": other} if wanted else None)


def remedies(lines, told, printed):
    """A line per remedy, and all commands, notes and side effects of the first five. `printed`: all lines of the text."""
    own = ranked(told)
    others = [remedy for remedy in told["remedies"] if remedy not in own]
    for head, wanted in (("remedies", own), ("options", others), ("nothing helps", told["needed"] and not own)):
        yield from lines.judge(ADVICE[head], {} if wanted else None)
    for rank, remedy in [*enumerate(own, 1), *((0, remedy) for remedy in others)]:
        goal, robust = remedy["goal"], remedy["robust"]
        words = [remedy["effort"], REMEDY["touches"] if remedy["touches"] else None, remedy["apart"],
                 REMEDY["met"][goal["met"]] + goal["reached"] if goal else None, REMEDY["robust"].get(robust)]
        yield from lines.judge(ADVICE["remedy"], {
            "place": f"{rank or '':>2}", "says": remedy["says"], "share": 100 * remedy["of_today"], "goodput": remedy["goodput_mbps"]["mean"],
            "mean": remedy["qct_ms"]["mean"], "p99": remedy["qct_ms"]["p99"], "words": "; ".join(filter(None, words))})
    for rank, remedy in enumerate(own[:5], 1):
        harms = remedy["harms"] or []
        whole = [f"{rank}. {remedy['says']}", *("    " + line["line"] for what in ("apply", "undo", "verify") for line in remedy[what]),
                 *("  " + note for note in remedy["notes"]), *(IN_FULL["touches"] + touched for touched in remedy["touches"]),
                 *(IN_FULL["harms"] + harm for harm in harms), *([IN_FULL["harmless"]] if remedy["harms"] == [] else [])]
        for line in whole:
            lines.take_exactly(line)
            if line.rstrip() not in printed:
                yield f"missing: {line}"
    # A command is printed with its limit or its remedy.
    for line in [line for line in lines.left if line.strip() in {of["run"] for of in (*told["limits"], *own)}]:
        lines.take_exactly(line)
    lines.take_all(PLACES)


# Diagnosis (crates/diagnose/src/verdict.rs, crates/cli/src/diagnose.rs).

# Causes of stalls as the verdict names them. The first list is incast.
LOSSES = {
    "rto": "responses waited for retransmission timeouts", "syn": "connections waited for lost SYNs",
    "tlp": "responses waited for tail-loss probes", "recovery": "responses waited for loss recovery without timeouts",
}
SIGNATURES = {
    **LOSSES, "link-fault": "packets were lost without a full queue: a faulty link, not incast",
    "delayed-ack": "responses waited for delayed ACKs, which is not the network's fault",
    "zero-window": "the client's receive window was closed, which is not the network's fault",
    "slow-server": "servers responded late, which is not the network's fault",
    "application-pause": "servers paused within their responses, which is not the network's fault",
}
# Causes for which the verdict names servers.
OF_SERVERS = ("slow-server", "application-pause")
LOST = "[; <{least:integer} to |>{most:integer} <lost segments were retransmitted quickly|segments were lost independently of load: a {faulty:faulty link}>]"
VERDICTS = {
    "harmless": "no harmful incast: {rounds:integer} rounds of up to {fan_in:integer} servers were idle for {idle:figure} % of their time; one took "
                "{mean:time} on average, {goodput:figure} Mbit/s" + LOST,
    "stalled": "[{no:no} ]incast: {stalled:integer} of {rounds:integer} rounds of up to {fan_in:integer} servers stalled, because {cause:text}.",
    "median": "The median stalled round took {took:time} instead of {should:time} and was idle for {stall:time}.",
    "lost": "They lost[ {least:integer} to] {most:integer} segments.",
    "all": "All rounds took {mean:time} on average, {goodput:figure} Mbit/s.",
    "server": "{server:word} caused {own:integer} of {all:integer} such stalls, {stall:time} in all.",
    "unfinished": "no verdict: no round ended within the capture of {packets:integer} packets and {span:time}, with requests to up to {most:integer} "
                  "servers at once. Record for longer",
    "too few": "no verdict: only {alone:integer} responses in {packets:integer} TCP packets and {span:time}. Record for longer",
    "single, idle": "no incast: no host requested from several servers at once; {cause:text}" + LOST,
    "single": "no incast: no host requested from several servers at once, and connections were almost never idle" + LOST,
}
NO_PACKETS = r".*Counters do not show simultaneous responses.*"
DIAGNOSIS = {
    "confidence": "confidence {confidence:figure} %",
    "rounds": "{rounds:integer} rounds, {clean:integer} without idle time[{more:, longest idle times first}]",
    "columns": "at s servers bytes took ms ideal ms idle ms waiting lost cause confidence",
    "simulated": "  simulated   {servers:integer} servers: {simulated:figure} Mbit/s; measured: {measured:figure} ({off:figure} %).[ {far:Do not rely on "
                 "this scenario.}]",
    "path": "Path to the client",
    "rate": "  rate   {rate:figure} Mbit/s ({how:word}, {confidence:figure} %)",
    "round trip": "  round trip   {us:figure} us ({how:word}, {confidence:figure} %)",
    "buffer": "  buffer   {least:integer} to {most:integer} B ({how:word}, {confidence:figure} %)",
    "no buffer": "  buffer   unknown: no losses at a full queue",
    "lost": "  lost   {least:integer} to {most:integer} segments; {reordered:integer} out of order, {marked:integer} marked",
    "background": "  background   {share:figure} % of the bytes to the client belong to no round",
    "points": "  by servers   {points:text}",
    "point": "{servers:integer}: {goodput:figure} Mbit/s",
    "collapse": "  collapse   at {servers:integer} servers",
    "hosts": "Hosts",
    "host": "  {host:word}[ and {others:integer} others]   {stack:text}",
    "more hosts": "  and {groups:integer} other groups (see --json)",
    "next": "Use --out DIR to write a matching scenario and a picture, or --advise to continue with advice",
}
STACK = "{role:word}[, {sack:SACK}][, {no_sack:no SACK}][, {timestamps:timestamps}][, {no_timestamps:no timestamps}][, {ecn:ECN}][, {no_ecn:no ECN}]" \
        "[, initial window {window:integer}][, minimum RTO {rto_min:figure} ms][, {per_ack:figure} segments per ACK][, {zero_windows:integer} zero " \
        "windows][, {offloads:segments larger than packets (offloads)}]"
# Rounds and kinds of hosts that are listed.
SHOWN = 8


def median(values):
    return sorted(values)[len(values) // 2] if values else 0.0


def diagnosis(told, text):
    """Contradictions in `fanin diagnose`: of its text, and within JSON."""
    rounds, verdict, of = told["episodes"], told["verdict"], told["rounds"]
    stalled = [one for one in rounds if one["signature"] != "none"]
    took = sum(one["took_s"] for one in rounds)
    if rounds and of["count"] == len(rounds):
        truth = {
            "fan_in": max(one["fan_in"] for one in rounds), "stalled": len(stalled), "mean_took_s": took / len(rounds),
            "goodput_mbps": sum(one["bytes"] for one in rounds) * 8 / took / 1e6,
            **{f"stalled_{key}": median([one[key] for one in stalled]) for key in ("took_s", "should_s", "stall_s")},
        }
        for key, expected in truth.items():
            if abs(of[key] - expected) > 1e-3 * abs(expected) + 1e-6:
                yield f"rounds.{key} is {of[key]}, not {expected}"
        if told["slowest"] and told["slowest"][0]["took_s"] < max(one["took_s"] for one in rounds) - 1e-9:
            yield "the slowest round is not the slowest"
        for one in rounds:
            if abs(sum(stall["took_s"] for stall in one["stalls"]) - one["stall_s"]) > 1e-6 or one["stall_s"] > one["took_s"] + 1e-6:
                yield f"a round of {one['took_s']} s is idle for {one['stall_s']}"
    for stall in (stall for one in rounds for stall in one["stalls"]):
        # Hosts may differ. A client's own retransmission waited for the client's timer.
        least = told["hosts"].get(stall["server"], {}).get("rto_min_s")
        if least and stall["signature"] == "rto" and 0 < max(stall["took_s"], stall["timer_s"]) < 0.5 * least:
            yield f"a wait of {stall['took_s']} s, {stall['timer_s']} s after the timer's start, is a timeout of at least {least}"
    yield from verdict_of(told, rounds, stalled, took)
    lines = Text.lines(text)
    judge = lambda name, values: lines.judge(DIAGNOSIS[name], values)
    if not lines.take_exactly(verdict["says"]):
        yield "the verdict is not printed"
    yield from judge("confidence", None if verdict["incast"] is None else {"confidence": 100 * verdict["confidence"]})
    for caution in told["cautions"]:
        if not lines.take_exactly("note: " + caution):
            yield f"missing: {caution}"
    for counted in told["counters"]:
        if not lines.take_exactly("  " + counted):
            yield f"missing: {counted}"
    yield from judge("rounds", {"rounds": of["count"], "clean": of["count"] - of["stalled"], "more": of["count"] > SHOWN} if rounds else None)
    yield from table_of(lines, rounds)
    for one in told["simulated"]:
        off = one["simulated_mbps"] / one["measured_mbps"] - 1
        yield from judge("simulated", {
            "servers": one["fan_in"], "simulated": one["simulated_mbps"], "measured": one["measured_mbps"], "off": 100 * off, "far": abs(off) > 0.2})
    yield from path_to_client(lines, told)
    yield from hosts(lines, told)
    # A hint without figures.
    lines.take(DIAGNOSIS["next"])
    yield from lines.unknown()


def table_of(lines, rounds):
    """The rounds with the longest idle times, as a table."""
    worst = sorted(rounds, key=lambda one: (-one["stall_s"], one["start_s"]))[:SHOWN]
    heads = [line for line in lines.left if " ".join(line.split()) == DIAGNOSIS["columns"]]
    if bool(heads) != bool(rounds):
        yield "the columns of rounds"
    for line in heads:
        lines.take_exactly(line)
    rows = [re.split(r" {2,}", line) for line in lines.left if re.match(r"\d+\.\d{6} ", line)]
    lines.left = [line for line in lines.left if not re.match(r"\d+\.\d{6} ", line)]
    if len(rows) != len(worst):
        yield f"{len(rows)} rows of {len(worst)} rounds"
    for cells, one in zip(rows, worst):
        lost, waiting = one["lost"], [stall["waiting"] for stall in one["stalls"]]
        expected = [str(one["fan_in"]), *([str(max(waiting))] if waiting else []), str(lost[0]) if lost[0] == lost[1] else f"{lost[0]}-{lost[1]}", one["signature"]]
        figures = [one["start_s"], one["bytes"], 1e3 * one["took_s"], 1e3 * one["should_s"], 1e3 * one["stall_s"], 100 * one["confidence"]]
        shown = [cells[0], *cells[2:6], cells[-1].rstrip(" %")]
        if [cells[1], *cells[6:-1]] != expected or not all(map(near, shown, figures)):
            yield f"{'  '.join(cells)}: {one}"


def path_to_client(lines, told):
    """The rate, round trip, buffer and losses on the path to the client, and goodput by fan-in."""
    path, judge = told["way"], lambda name, values: lines.judge(DIAGNOSIS[name], values)
    yield from judge("path", {})
    for name, key, of in (("rate", "rate_mbps", lambda rate: {"rate": rate}), ("round trip", "round_trip_s", lambda seconds: {"us": 1e6 * seconds}),
                          ("buffer", "buffer_bytes", lambda ends: dict(zip(("least", "most"), ends)))):
        known = path[key]
        yield from judge(name, {**of(known["value"]), "how": known["how"], "confidence": 100 * known["confidence"]} if known else None)
    yield from judge("no buffer", None if path["buffer_bytes"] else {})
    yield from judge("lost", {**dict(zip(("least", "most"), told["losses"])), "reordered": told["reordered"], "marked": path["marked"]})
    yield from judge("background", {"share": 100 * path["background"]} if path["background"] > 0.01 else None)
    several = len(told["points"]) > 1
    listed = lines.take(DIAGNOSIS["points"])
    points = Text(listed["points"].split(", ") if listed else [])
    for point in told["points"] if several else []:
        yield from points.judge(DIAGNOSIS["point"], {"servers": point["fan_in"], "goodput": point["goodput_mbps"]})
    yield from points.unknown()
    yield from judge("collapse", {"servers": told["onset"]} if several and told["onset"] else None)


def three(ms):
    """A value with three digits, as equal hosts print it, but at most two behind the point."""
    return round(ms, 2 if ms < 9.995 else 1 if ms < 99.95 else 0)


def hosts(lines, told):
    """Properties of the hosts' TCP: equal hosts share a line."""
    yield from lines.judge(DIAGNOSIS["hosts"], {})
    groups = {}
    for name, host in told["hosts"].items():
        values = {key: bool(host[key]) for key in ("sack", "timestamps", "ecn")} | {f"no_{key}": host[key] is False for key in ("sack", "timestamps", "ecn")}
        rto_min = host["rto_min_s"]
        values |= {"role": host["role"], "window": host["initial_window"], "rto_min": rto_min and three(1e3 * rto_min),
                   "per_ack": host["segments_per_ack"] if host["role"] == "client" else None, "zero_windows": host["zero_windows"] or None,
                   "offloads": host["offloads"]}
        groups.setdefault(tuple(values.items()), []).append(name)
    for values, names in list(groups.items())[:SHOWN]:
        match = lines.take(DIAGNOSIS["host"])
        if not match or match["host"] != names[0] or int(match["others"] or 0) != len(names) - 1:
            yield f"{names}: {match and match[0]}"
        else:
            yield from Text([match["stack"]]).judge(STACK, dict(values))
    yield from lines.judge(DIAGNOSIS["more hosts"], {"groups": len(groups) - SHOWN} if len(groups) > SHOWN else None)


def verdict_of(told, rounds, stalled, took):
    """The verdict."""
    verdict, causes = told["verdict"], {}
    for stall in (stall for one in rounds for stall in one["stalls"]):
        causes[stall["signature"]] = causes.get(stall["signature"], 0.0) + stall["took_s"]
    idle, main = sum(causes.values()), max(causes, key=causes.get, default="none")
    goodput = sum(one["bytes"] for one in rounds) * 8 / took / 1e6 if rounds else None
    every = {"rounds": len(rounds), "fan_in": max((one["fan_in"] for one in rounds), default=0), "goodput": goodput,
             "mean": 1e3 * took / max(len(rounds), 1)}
    if not rounds:
        yield from without_rounds(told)
    elif idle <= 0.05 * took:
        if verdict["incast"] is not False:
            yield f"idle for {idle} of {took} s: {verdict['says']}"
        yield from Text([verdict["says"]]).judge(VERDICTS["harmless"], {**every, "idle": 100 * idle / took, **losses(told)})
    else:
        if verdict["cause"] != main or verdict["incast"] != (main in LOSSES):
            yield f"{verdict['cause']}, and stalls are longest for {main}: {verdict['says']}"
        yield from stalls_of(Text.sentences(verdict["says"]), rounds, stalled, main, every)


def losses(told):
    """Losses that did no harm."""
    (least, most), faulty = told["losses"], told["way"]["faulty"]
    return {"least": least if most and least != most and not faulty else None, "most": most or None, "faulty": bool(most) and faulty}


def stalls_of(says, rounds, stalled, main, every):
    """The sentences about rounds with stalls."""
    judge = lambda name, values: says.judge(VERDICTS[name], values)
    own = [stall for one in rounds for stall in one["stalls"] if stall["signature"] == main]
    least, most = (sum(one["lost"][end] for one in stalled) for end in (0, 1))
    yield from judge("stalled", {**every, "stalled": len(stalled), "cause": SIGNATURES[main], "no": main not in LOSSES})
    yield from judge("median", {key: 1e3 * median([one[f"{key}_s"] for one in stalled]) for key in ("took", "should", "stall")})
    yield from judge("lost", {"least": least if least != most else None, "most": most} if most else None)
    yield from judge("all", every)
    named = 0
    while match := says.take(VERDICTS["server"]):
        theirs = [stall["took_s"] for stall in own if stall["server"] == match["server"]]
        named += 1
        yield from contradictions(VERDICTS["server"], match, {"own": len(theirs), "all": len(own), "stall": 1e3 * sum(theirs)})
    if named != (min(3, len({stall["server"] for stall in own})) if main in OF_SERVERS else 0):
        yield f"{named} servers are named"
    yield from says.unknown()


def without_rounds(told):
    """The verdict on a capture without a finished round of several servers."""
    verdict, says, alone = told["verdict"], Text([told["verdict"]["says"]]), {}
    for stall in told["alone_stalls"]:
        alone[stall["signature"]] = alone.get(stall["signature"], 0.0) + stall["took_s"]
    span = max((one["span_s"] for one in told["inputs"]), default=0.0)
    packets = sum(one["tcp"] for one in told["inputs"])
    idle = sum(alone.values()) > 0.05 * span
    cause = "link-fault" if told["way"]["faulty"] else max(alone, key=alone.get) if idle else "none"
    unfinished, most = told["unfinished"]
    some = {"packets": packets, "span": 1e3 * span}
    if packets == 0:
        known = bool(says.take_all(NO_PACKETS))
    elif unfinished:
        known = None
        yield from says.judge(VERDICTS["unfinished"], {**some, "most": most})
    elif packets < 1000 and told["alone"] < 10:
        known = None
        yield from says.judge(VERDICTS["too few"], {**some, "alone": told["alone"]})
    else:
        known = True
        yield from says.judge(VERDICTS["single" if cause == "none" else "single, idle"], {**losses(told), "cause": SIGNATURES.get(cause)})
    expected = None if packets == 0 or known is None else False
    if verdict["incast"] is not expected or (expected is False and verdict["cause"] != cause):
        yield f"incast is {verdict['incast']} with cause {verdict['cause']}, not {expected} with {cause}: {verdict['says']}"
    yield from says.unknown()


# Plans (crates/cli/src/plan.rs, crates/fanin/src/plan.rs).

PLAN = {
    "log": "{log:text}: {queries:large} queries for {keys:large} keys, {per_query:figure} keys each on average",
    "plan": "The plan, from the first {planned:large} queries: {moves:large} replicas move, {bytes:bytes} in all, to {servers:large} servers.",
    "servers head": "Servers per query, over the other {held:large} queries, which the plan has not seen",
    "servers": "  {name:text} mean {mean:figure}, p50 {p50:integer}, p99 {p99:integer}; load of the busiest server {busiest:figure}× the mean",
    "times head": "Time of a query, simulated on this cluster ({simulated:large} queries)",
    "times": "  {name:text} mean {mean:time}, p50 {p50:time}, p99 {p99:time}, {dropped:large} packets dropped",
    "moving": "Moving takes {moving:time} at 10 % of a server's link rate; it <pays for itself after {pays:time}|{never:never pays for itself}>. Its benefit "
              "<declines: at the log's rate of change, none is left after {lasts:time}|{steady:did not decline in the second half of the log}>.",
}
COLUMNS = r"  servers before after"
BAR = r"  (\d+)(?: to (\d+))?(?: #+)*"
# Conclusions: yes or no, and the figures of each. The figures are those of JSON in this order.
DO, DO_NOT = "do it: ", "do not: "
DROPPED = r"[^\d]*(\d+) packets[^\d]*(\d+)\D*"
BUSIEST = r"\D*the busiest server would \D*([\d.]+)× the mean\D*([\d.]+)\D*"


def plan(told, text):
    """Contradictions in `fanin plan`: of its text, and within JSON."""
    text = "\n".join(re.sub(r"(?<=\S) +", " ", line) for line in text.splitlines())
    lines, log = Text.lines(text), told["log"]
    judge = lambda name, values: lines.judge(PLAN[name], values)
    moves, per_query = told["moves"]["popular"] + told["moves"]["correlated"], told["servers_a_query"]
    yield from judge("log", {"queries": log["queries"], "keys": log["keys"], "per_query": log["requests"] / log["queries"]})
    yield from judge("plan", {"planned": told["planned_from_queries"], "moves": moves, "bytes": told["bytes_moved"], "servers": told["gathering_servers"]})
    yield from judge("servers head", {"held": told["held_against_queries"]})
    yield from judge("times head", {"simulated": told["simulated_queries"]})
    if len(lines.take_all(COLUMNS)) != 1:
        yield "no histogram"
    following = 0
    for bar in lines.take_all(BAR):
        if int(bar[1]) != following:
            yield f"{bar[0]} follows {following - 1}"
        following = int(bar[2] or bar[1]) + 1
    if following <= per_query["before"]["p99"]:
        yield f"the histogram ends at {following - 1}"
    popular = [("popular only", per_query["popular_alone"], None)] if per_query["popular_alone"] else []
    for name, of, busiest in [("before", per_query["before"], told["busiest_before"]), *popular, ("after", per_query["after"], told["busiest_after"])]:
        # JSON has no load of the plan for popular objects only.
        yield from judge("servers", {"name": name, **of, **({"busiest": busiest} if busiest is not None else {})})
    for name in ("before", "after"):
        of = told[f"query_ms_{name}"]
        yield from judge("times", {"name": name, "mean": of["mean"], "p50": of["p50"], "p99": of["p99"], "dropped": of["dropped_packets"]})
    in_ms = lambda seconds: None if seconds is None else 1e3 * seconds
    yield from judge("moving", {
        "moving": in_ms(told["moving_s"]), "pays": in_ms(told["pays_after_s"]), "never": told["pays_after_s"] is None, "lasts": in_ms(told["lasts_s"]),
        "steady": told["lasts_s"] is None} if moves > 0 else None)
    if not lines.take_exactly(told["why"]):
        yield "the conclusion is not printed"
    yield from conclusion(told, moves)
    yield from lines.unknown()


def conclusion(told, moves):
    """Whether the plan is recommended, and the figures of the reason."""
    slow, fast, why = told["query_ms_before"], told["query_ms_after"], told["why"]
    worse = any(fast[key] > 1.05 * slow[key] for key in ("mean", "p99"))
    if told["recommended"] and (worse or moves == 0 or told["servers_after"] >= told["servers_before"]):
        yield f"{why}: servers {told['servers_before']} to {told['servers_after']}, times {slow} to {fast}"
    if not why.startswith(DO if told["recommended"] else DO_NOT):
        yield f"recommended is {told['recommended']}: {why}"
    fewer = told["recommended"] and fast["dropped_packets"] < slow["dropped_packets"]
    dropped, busiest = re.fullmatch(DROPPED, why), re.fullmatch(BUSIEST, why)
    if bool(dropped) != fewer or (dropped and [int(n) for n in dropped.groups()] != [fast["dropped_packets"], slow["dropped_packets"]]):
        yield f"{fast['dropped_packets']} packets dropped, {slow['dropped_packets']} before: {why}"
    if busiest and (not near(busiest[1], told["busiest_after"]) or value(busiest[1]) <= value(busiest[2])):
        yield f"the busiest server gets {told['busiest_after']}: {why}"
    if re.search(r"\d", why) and not dropped and not busiest:
        yield f"no pattern for: {why}"


# Scorecards (crates/cli/src/reproduce.rs, crates/papers/src/scorecard.rs).

VERBS = {"pass": "passes", "fail": "fails", "undecided": "is undecided"}
SCORECARD = {
    "claim": "{verdict:word} {id:word}[, {fragile:fragile}][, repeats {repeats:word}][, {own:the project's own}]",
    "fragile": "Fragile: the verdict depends on parameters that the paper leaves open. It {verb:text} as in the scenarios, {there:text}.",
    "changes": "Parameters that the paper leaves open change the verdict, but not from pass to fail. It {verb:text} as in the scenarios, "
               "{there:text}.",
    "spared": "{figure:word}: {early:integer} of {points:integer} points stopped early, at a precision of {percent:figure} %, saving "
              "{spared:integer} of {runs:integer} runs",
    # The rest differs between the runs with and without --json: times and cached runs.
    "all": "{held:integer} of {all:integer} claims hold, {undecided:integer} are undecided, {fragile:integer} are fragile{rest:text}",
}
# Figures with measured times: the runs with and without --json have different ones.
TIMED = ("P-7b.", "S-10.")


def scorecard(told, text):
    """Contradictions in `fanin reproduce`."""
    figures = [figure for paper in told["papers"] for figure in paper["figures"]]
    # The lines of a claim are indented behind its head.
    blocks, others = [], []
    for line in text.splitlines():
        if re.match(r"  \S", line):
            blocks.append([line.strip()])
        elif line.startswith("       ") and blocks:
            blocks[-1].append(line.strip())
        else:
            others.append(" ".join(line.split()))
    lines = Text(others)
    by_claim = iter(blocks)
    for claim in (claim for figure in figures for claim in figure["claims"]):
        head, *rest = next(by_claim, [""])
        yield from Text([head]).judge(SCORECARD["claim"], {
            "verdict": claim["verdict"], "id": claim["id"], "fragile": claim["robust"] is False, "repeats": claim.get("repeats"), "own": claim.get("own")})
        yield from (f"{claim['id']}: {what}" for what in of_claim(claim, " ".join(rest)))
    yield from (f"no claim: {block[0]}" for block in by_claim)
    for paper in told["papers"]:
        lines.take_exactly(paper["paper"])
    for figure in figures:
        if not lines.take_exactly(" ".join(f"{figure['id']} {figure['title']}".split())):
            yield f"no title of {figure['id']}"
        spared = figure.get("spared")
        if spared:
            match = lines.take(SCORECARD["spared"].replace("{figure:word}", figure["id"]))
            yield from contradictions(SCORECARD["spared"].replace("{figure:word}", figure["id"]), match, {
                **{key: spared[key] for key in ("early", "points", "spared", "runs")}, "percent": 100 * spared["precision"]}) if match else [f"no {spared}"]
    counted = [claim for figure in figures for claim in figure["claims"] if not claim.get("repeats") and not claim.get("own")]
    number_of = lambda of: sum(1 for claim in counted if of(claim))
    yield from lines.judge(SCORECARD["all"], {
        "all": len(counted), "held": number_of(lambda c: c["verdict"] == "pass"), "undecided": number_of(lambda c: c["verdict"] == "undecided"),
        "fragile": number_of(lambda c: c["robust"] is False)})
    yield from lines.unknown()


def of_claim(claim, text):
    """Contradictions in a claim's text: its statement, its measured value, its verdict under other settings, and its notes."""
    plain = lambda words: " ".join(words.replace("`", "").split())
    there = plain(", ".join(f"{VERBS[on['verdict']]} with {on['setting']}" for on in claim.get("hangs_on", [])))
    verdicts = {claim.get("tried_beside"), *(on["verdict"] for on in claim.get("hangs_on", []))}
    flips = {"pass", "fail"} <= verdicts
    if claim["robust"] is not None and claim["robust"] == flips:
        yield f"robust is {claim['robust']}, and its verdicts are {verdicts}"
    parts = [plain(claim[key]) for key in ("says", "why", "note") if claim.get(key)]
    for part in parts:
        if part not in text:
            yield f"missing: {part}"
        text = text.replace(part, "\n", 1)
    measured = f"; passes with {plain(claim['expected'])}"
    found = re.search((r"measured .*?" if claim["id"].startswith(TIMED) else re.escape(f"measured {plain(claim['measured'])}")) + re.escape(measured), text)
    if not found:
        yield f"missing: measured {claim['measured']}{measured}"
    says = Text([part.strip() for part in (text.replace(found[0], "\n", 1) if found else text).split("\n")])
    for name, wanted in (("fragile", flips), ("changes", not flips)):
        yield from says.judge(SCORECARD[name], {"verb": VERBS.get(claim.get("tried_beside")), "there": there} if there and wanted else None)
    yield from says.unknown()
