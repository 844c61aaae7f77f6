"""Independent judgements of figures in JSON: the state of a point, and whether a comparison or an advice contradicts itself.

Texts are compared with figures in one way only (`unknown_figures`): every rate and time in a sentence is a rounding of a figure beside it.
Snapshots and the pages of docs/ guard the words.
"""

import math
import re

# States from best to worst, as JSON names them.
STATES = ["sustains", "slow", "degrades", "collapsed"]
# Families of remedies that change the requests, so that goodput is not comparable.
OTHER_WORK = {"answer-size", "servers", "server-window", "placement", "sicc"}
# Base units: milliseconds and Mbit/s.
SCALES = {"us": 1e-3, "ms": 1.0, "s": 1e3, "min": 6e4, "kbit/s": 1e-3, "Mbit/s": 1.0, "Gbit/s": 1e3}
FIGURE = re.compile(r"(?<![\w.])(\d[\d,]*(?:\.\d+)?) (us|ms|s|[kMG]bit/s)\b")


def begun(row):
    return row["rounds"] + row["rounds_open"]


def deficit(row):
    """Share of the upper bound, and the missing part of one client's time in ms; None without a bound."""
    goodput = row["goodput_mbps"]["mean"]
    if row["allowed_mbps"]:
        part, whole = goodput / row["allowed_mbps"], row["measured_ms"]
    elif row["least"] and row["qct_ms"]["mean"]:
        part, whole = row["least"]["whole_ms"] / row["qct_ms"]["mean"], row["qct_ms"]["mean"] * begun(row)
    elif goodput == 0:
        part, whole = 0, row["measured_ms"]
    else:
        return None
    return part, whole * (1 - part)


def trouble(row):
    """One client's time in stalls, or in rounds with a timeout."""
    return max(row["stalled_ms"], row["repair_ms"]) / max(row["clients"], 1)


def by_times(row):
    """The state by stalls and timeouts alone."""
    mean = row["qct_ms"]["mean"]
    whole = row["measured_ms"] if mean is None else mean * begun(row) / max(row["clients"], 1)
    if 0 < trouble(row) >= 0.5 * whole:
        return "collapsed"
    return "degrades" if begun(row) > 0 and row["timeouts"] / begun(row) >= 0.3 else "sustains"


def by_goodput(row):
    """The state by goodput, regardless of idle rounds."""
    found = deficit(row)
    if found is None:
        return by_times(row)
    part, missing = found
    if part >= 0.8:
        return "sustains"
    if row["drops"] + row["lost"] + row["timeouts"] + row["stalls"] == 0:
        return "slow"
    return "collapsed" if part < 0.5 and trouble(row) >= 0.5 * missing else "degrades"


def state(row):
    """The state of a point. It does not sustain its load if it is idle in three of ten rounds. Requests with start times of their own are also
    judged by their times and timeouts."""
    found = by_goodput(row)
    idle, spread = begun(row) > 0 and row["stalls"] / begun(row) >= 0.3, row["qct_ms"]
    late = row["open_loop"] and row["timeouts"] > 0 and spread["p50"] and spread["p99"] and spread["p99"] >= 3 * spread["p50"]
    found = "degrades" if found == "sustains" and (idle or late) else found
    return max(found, by_times(row), key=STATES.index) if row["open_loop"] else found


def numbers(value):
    """All numbers in JSON, those in its texts too, in base units."""
    if isinstance(value, dict):
        for key, part in value.items():
            scale = 1e3 if key.endswith("_s") else 1.0
            yield from (scale * number for number in numbers(part))
    elif isinstance(value, list):
        for part in value:
            yield from numbers(part)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield float(value)


def is_rounding(digits, unit, known):
    """Whether a printed figure is a rounding of one of the known numbers."""
    step = SCALES[unit] * 10.0 ** -len(digits.partition(".")[2])
    shown = float(digits.replace(",", "")) * SCALES[unit]
    return any(abs(shown - number) <= 0.5001 * step + 1e-5 * abs(shown) for number in known)


def unknown_figures(text, known):
    """Rates and times of a text that are no rounding of a known number."""
    for digits, unit in FIGURE.findall(text):
        if not is_rounding(digits, unit, known):
            yield f"{digits} {unit} is none of its figures: {text}"


def per_round(row):
    """The figures of a row, and those per started round."""
    own = list(numbers(row))
    return own + [number / begun(row) for number in own] if begun(row) else own


def comparison(told, chance=True, to_one=True, settings=()):
    """Contradictions in `fanin compare --json`. `chance`: whether round times vary randomly. `to_one`: whether servers send to clients; between
    any hosts, a scheme is judged by its points together. `settings`: figures of the scenario that sentences name,
    in ms and Mbit/s."""
    for row in told["rows"]:
        yield from (f"{row['scheme']} at {row['point']}: {what}" for what in of_row(row, chance))
    schemes = {finding["scheme"]: finding for finding in told["findings"] if finding["scheme"]}
    everything = [number for row in told["rows"] for number in per_round(row)]
    for finding in told["findings"]:
        own = [row for row in told["rows"] if row["scheme"] == finding["scheme"]]
        known = [number for row in own for number in per_round(row)] if own else everything
        yield from unknown_figures(finding["says"], [*known, *settings])
    for scheme, finding in schemes.items():
        own = [row for row in told["rows"] if row["scheme"] == scheme]
        if not to_one:
            right = "collapsed" if falls(own) else "open"
            if finding["verdict"] != right:
                yield f"{scheme}: {finding['verdict']}, not {right}"
            continue
        worst = max((state(row) for row in own), key=STATES.index, default="sustains")
        # Seeds that disagree weaken a verdict, but never worsen it.
        if finding["verdict"] in STATES and STATES.index(finding["verdict"]) > STATES.index(worst):
            yield f"{scheme}: {finding['verdict']}, and its worst point {worst}"


def falls(rows):
    """Whether goodput per host falls below half of its earlier best, with timeouts, between any hosts."""
    hosts = lambda row: row["point"]["fan_in"] + 1
    best = 0.0
    for row in rows:
        if row["goodput_mbps"]["hi"] / hosts(row) < best / 2 and row["timeouts"] > 0:
            return True
        best = max(best, row["goodput_mbps"]["mean"] / hosts(row))
    return False


def of_row(row, chance):
    """Contradictions between the figures of a row."""
    causes = row["stalls_by_cause"].values()
    if sum(cause["count"] for cause in causes) > row["stalls"] * (1 + 1e-4) + 1e-4:
        yield "more stalls by cause than in all"
    if sum(cause["ms"] for cause in causes) > row["stalled_ms"] * (1 + 1e-4) + 1e-4:
        yield "longer stalls by cause than in all"
    if row["stalled_ms"] > row["measured_ms"] * row["clients"] * 1.05 + 1.0:
        yield "stalls longer than the measured time"
    # A round's time varies by no more than its mean. Three standard errors are chance.
    scatter = 1.8 / math.sqrt(max(1, row["rounds"] * row["seeds"])) if chance else 0
    if row["allowed_mbps"] and row["goodput_mbps"]["mean"] > (1 + 1e-5 + scatter) * row["allowed_mbps"]:
        yield f"{row['goodput_mbps']['mean']} of at most {row['allowed_mbps']} Mbit/s"


def standing(of, row):
    """Contradictions between a cluster's state in the advice and its row in a comparison."""
    found = state(row)
    if of["state"] != found:
        yield f"{of['state']}, and its row {found}"
    if of["impaired"] != (found in ("degrades", "collapsed")):
        yield f"{of['state']}, and impaired is {of['impaired']}"
    for key in ("goodput_mbps", "qct_ms"):
        if of[key] != row[key]:
            yield f"{key} differs from its row"
    mean, wire = row["qct_ms"]["mean"], of["wire_ms"]
    if mean is not None and wire and row["qct_ms"]["at_least"] is None and mean < wire * (1 - 1e-5):
        yield f"a round takes {mean} ms, its packets alone {wire} ms"


def in_ms(says):
    """All times of a text."""
    return [SCALES[unit] * float(digits) for digits, unit in re.findall(r"([\d.]+) (us|ms|s)\b", says)]


def advice(told):
    """Contradictions in `fanin advise --json`: of limits, remedies and their order."""
    today, grown = told["today"], told["grown"]
    before = grown if grown and (grown["impaired"] or not today["impaired"]) else today
    base = told["base"] or before
    for limit in told["limits"]:
        after, than = in_ms(limit["says"])[-2:]
        # Goodput may stay the same if requests have fixed times, or ask for objects.
        if after >= than or limit["goodput_mbps"]["mean"] < 0.9 * base["goodput_mbps"]["mean"]:
            yield f"limited by {limit['what']}: {limit['says']}, at {limit['goodput_mbps']['mean']} of {base['goodput_mbps']['mean']} Mbit/s"
        if before["wire_ms"] and after < before["wire_ms"] * 0.995 and limit["what"] != "uplink":
            yield f"{limit['says']}: the packets alone take {before['wire_ms']} ms"
    for remedy in told["remedies"]:
        if remedy["relative_to_current"] >= 1:
            yield f"{remedy['says']} helps: {remedy['relative_to_current']} of today's time"
        if not set(remedy["family"].split("+")) & OTHER_WORK and base["goodput_mbps"]["mean"] > 1.1 * remedy["goodput_mbps"]["mean"]:
            yield f"{remedy['says']} helps: goodput falls from {base['goodput_mbps']['mean']} to {remedy['goodput_mbps']['mean']}"
    yield from ranks(told)
    impaired = today["impaired"] or before["impaired"] or bool(told["goal"] and not told["goal"]["met"])
    if told["needed"] != impaired or (told["remedies"] and not impaired):
        yield f"needed is {told['needed']}"
    if any(not set(of["reversed_by"]) <= set(of["tried"]) or of["now"] in of["tried"] for of in told["depends_on"]):
        yield "the verdict depends on values that were not tried"


def ranks(told):
    """Contradictions in the order of the remedies."""
    own = [remedy for remedy in told["remedies"] if remedy["apart"] is None and remedy["deployable"]]
    if own != told["remedies"][:len(own)]:
        yield "other options come before available remedies"
    met = [bool(remedy["goal"] and remedy["goal"]["met"]) for remedy in own]
    if met != sorted(met, reverse=True):
        yield "remedies that meet the goal are not first"
    for first, second in zip(own, own[1:]):
        # Within 5 % and with overlapping CIs, effort and side effects decide.
        if first["relative_to_current"] > 1.051 * second["relative_to_current"] and not (first["goal"] and first["goal"]["met"]):
            yield f"{first['says']} comes before {second['says']}: {first['relative_to_current']} of today's time, {second['relative_to_current']}"


def median(values):
    return sorted(values)[len(values) // 2] if values else 0.0


def diagnosis(told):
    """Contradictions in `fanin diagnose --json`."""
    rounds, of = told["episodes"], told["rounds"]
    stalled = [one for one in rounds if one["signature"] != "none"]
    took = sum(one["took_s"] for one in rounds)
    if rounds and of["count"] == len(rounds):
        expected = {
            "fan_in": max(one["fan_in"] for one in rounds), "stalled": len(stalled), "mean_took_s": took / len(rounds),
            "goodput_mbps": sum(one["bytes"] for one in rounds) * 8 / took / 1e6,
            **{f"stalled_{key}": median([one[key] for one in stalled]) for key in ("took_s", "should_s", "stall_s")},
        }
        for key, value in expected.items():
            if abs(of[key] - value) > 1e-3 * abs(value) + 1e-6:
                yield f"rounds.{key} is {of[key]}, not {value}"
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
    # Servers are named with the sum of their stalls.
    by_server = {}
    for stall in [stall for one in rounds for stall in one["stalls"]] + told["alone_stalls"]:
        for key in (stall["server"], (stall["server"], stall["cause"])):
            by_server[key] = by_server.get(key, 0.0) + 1e3 * stall["took_s"]
    alone = 1e3 * sum(stall["took_s"] for stall in told["alone_stalls"])
    yield from unknown_figures(told["verdict"]["says"], [*numbers(told), *by_server.values(), alone])


def plan(told):
    """Contradictions in `fanin plan --json`."""
    slow, fast, why = told["query_ms_before"], told["query_ms_after"], told["why"]
    moves = told["moves"]["popular"] + told["moves"]["correlated"]
    worse = any(fast[key] > 1.05 * slow[key] for key in ("mean", "p99"))
    if told["recommended"] and (worse or moves == 0 or told["servers_after"] >= told["servers_before"]):
        yield f"{why}: servers {told['servers_before']} to {told['servers_after']}, times {slow} to {fast}"
    if not why.startswith("do it: " if told["recommended"] else "do not: "):
        yield f"recommended is {told['recommended']}: {why}"


def scorecard(told):
    """Contradictions in `fanin reproduce --json`."""
    for claim in (claim for paper in told["papers"] for figure in paper["figures"] for claim in figure["claims"]):
        verdicts = {claim.get("baseline"), *(on["verdict"] for on in claim.get("depends_on", []))}
        if claim["robust"] is not None and claim["robust"] == ({"pass", "fail"} <= verdicts):
            yield f"{claim['id']}: robust is {claim['robust']}, and its verdicts are {verdicts}"
