"""What `fanin advise`, `diagnose`, `plan` and `reproduce` say, judged anew: every sentence is read back and held against the figures of
`--json`, by rules of its own. Each function yields what a text says that the figures refute, or that no rule here knows."""

import re

UNITS = {"us": 1e-3, "ms": 1.0, "s": 1e3}
TIME = r"([\d.]+) (us|ms|s)"


def number(text):
    """A figure as it is printed, and how far what it stands for may lie from it."""
    digits, _, unit = text.replace(",", "").partition(" ")
    scale = {"k": 1e3, "M": 1e6, "G": 1e9}.get(unit or digits[-1:], 1.0)
    digits = digits.rstrip("kM")
    step = scale * 10.0 ** -(len(digits.split(".")[1]) if "." in digits else 0)
    shown = float(digits) * scale
    return shown, 0.5001 * step + 1e-5 * abs(shown)


def near(text, value):
    if value is None:
        return False
    shown, slack = number(text)
    # Three digits of what is larger.
    return abs(shown - value) <= max(slack, 0.0051 * abs(value) if abs(value) >= 100 and "." not in text else slack)


def same_time(digits, unit, ms):
    if ms is None:
        return False
    shown, slack = number(digits)
    return abs(shown * UNITS[unit] - ms) <= slack * UNITS[unit]


class Lines:
    """A text's lines, each of which some rule has to take."""

    def __init__(self, text):
        self.left = [line.rstrip() for line in text.splitlines() if line.strip()]

    def take(self, pattern):
        """The matches of all lines of a kind, which are then taken."""
        found = [(line, re.fullmatch(pattern, line)) for line in self.left]
        self.left = [line for line, match in found if not match]
        return [match for _, match in found if match]

    def one(self, pattern):
        found = self.take(pattern)
        return found[0] if found else None


# Advice

def standing(match, told, judge, row):
    """A sentence of how a cluster fares, its object, and its row as a comparison has it."""
    scheme, servers, state, goodput, allowed, least, digits, unit = match
    if (scheme, int(servers), state) != (told["scheme"], told["servers"], told["state"]):
        yield f"{scheme} with {servers} {state}"
    words = {"holds": "holds", "slow": "is slow", "sags": "sags", "collapsed": "is collapsed"}
    if words[judge.state(row, row["goodput_mbps"]["mean"])] != state:
        yield f"{state}, and is {judge.state(row, row['goodput_mbps']['mean'])}"
    if told["hurt"] != (state in ("sags", "is collapsed")):
        yield f"{state}, and hurt is {told['hurt']}"
    if not near(goodput, told["goodput_mbps"]["mean"]) or told["goodput_mbps"] != row["goodput_mbps"]:
        yield f"{goodput} Mbit/s"
    if allowed and (not near(allowed, row["allowed_mbps"]) or told["allowed_mbps"] != row["allowed_mbps"]):
        yield f"of {allowed} that could be"
    if told["qct_ms"] != row["qct_ms"] or bool(digits) != (row["qct_ms"]["mean"] is not None):
        yield "times of rounds are not those of the comparison"
    elif digits and (not same_time(digits, unit, row["qct_ms"]["mean"]) or bool(least) != (row["qct_ms"]["at_least"] is not None)):
        yield f"a round takes {digits} {unit}"
    if digits and told["wire_ms"] and row["qct_ms"]["at_least"] is None and row["qct_ms"]["mean"] < told["wire_ms"] * (1 - 1e-5):
        yield f"a round takes {digits} {unit}, and its packets alone {told['wire_ms']} ms"


def ranked(advice):
    return [remedy for remedy in advice["remedies"] if remedy["apart"] is None and remedy["deployable"]]


def order(advice):
    """What the figures of advice refute, whatever its text says."""
    before = advice["grown"] or advice["today"]
    for limit in advice["limits"]:
        after, than = (UNITS[unit] * float(digits.replace(",", "")) for digits, unit in re.findall(rf"{TIME}", limit["says"])[-2:])
        # Requests that come when they come, or for objects, take less time at the same goodput.
        if after >= than or limit["goodput_mbps"]["mean"] < 0.9 * before["goodput_mbps"]["mean"]:
            yield f"held up by {limit['what']}: {limit['says']}, at {limit['goodput_mbps']['mean']} of {before['goodput_mbps']['mean']} Mbit/s"
        if before["wire_ms"] and after < before["wire_ms"] * 0.995 and limit["what"] not in ("uplink",):
            yield f"{limit['says']}: the packets alone take {before['wire_ms']} ms"
    for remedy in advice["remedies"]:
        if remedy["of_today"] >= 1:
            yield f"{remedy['says']} helps: {remedy['of_today']} of the time"
        same_question = remedy["apart"] not in ("number of servers", "answer size") and not re.search("placement|server-window|sicc", remedy["family"])
        if same_question and before["goodput_mbps"]["mean"] > 1.1 * remedy["goodput_mbps"]["mean"]:
            yield f"{remedy['says']} helps: goodput falls from {before['goodput_mbps']['mean']} to {remedy['goodput_mbps']['mean']}"
        for harm in remedy["harms"] or []:
            if (told := re.search(r"has ([\d.,]+) Mbit/s, ([\d.,]+) today", harm)) and number(told[1])[0] > 0.91 * number(told[2])[0]:
                yield harm
            if (told := re.search(r"take ([\d.,]+) times their least in 99 %, ([\d.,]+) today", harm)) and number(told[1])[0] < 1.09 * number(told[2])[0]:
                yield harm
    own = ranked(advice)
    if own != advice["remedies"][:len(own)]:
        yield "what stands apart is ranked before what can be made today"
    met = [bool(remedy["goal"] and remedy["goal"]["met"]) for remedy in own]
    if met != sorted(met, reverse=True):
        yield "what meets the goal is not first"
    for first, second in zip(own, own[1:]):
        # 5 % and an overlap are a tie, which effort and what else it touches break.
        if first["of_today"] > 1.051 * second["of_today"] and not (first["goal"] and first["goal"]["met"]):
            yield f"{first['says']} comes before {second['says']}: {first['of_today']} of the time, {second['of_today']}"
    hurt = advice["today"]["hurt"] or before["hurt"] or bool(advice["goal"] and not advice["goal"]["met"])
    if advice["needed"] != hurt or (advice["remedies"] and not hurt):
        yield f"needed is {advice['needed']}"


def advice(told, text, goal, judge, rows):
    """What refutes the text of `fanin advise`. `rows`: those of today's command, and of that of the grown cluster where there is one."""
    yield from order(told)
    lines, before = Lines(text), told["grown"] or told["today"]
    fares = rf"(\S+) with (\d+) servers (holds|is slow|sags|is collapsed): ([\d.]+) Mbit/s(?: of ([\d.]+) that could be)?(?:, a round takes (at least )?{TIME})?"
    for pattern, of, row in [(rf"{re.escape(told['scenario'])}: {fares}", told["today"], rows[0]),
                             (rf"Grown, {fares}; the rest is of that", told["grown"], rows[-1])]:
        match = lines.one(pattern)
        if bool(match) != bool(of):
            yield "no sentence of where it stands"
        elif match:
            yield from standing(match.groups(), of, judge, row)
    match = lines.one(r"(?:By simulation goodput (?:falls to under half of its best from (\d+) servers on|(nowhere) falls to under half of its best with fewer servers, "
                      r"from 2 to (\d+)); by|By) the closed form first windows overflow from ([\d.]+) servers on\.")
    if bool(match) != (told["onset_model"] is not None):
        yield "the collapse point"
    elif match:
        onset, nowhere, most, model = match.groups()
        if (int(onset) if onset else None) != told["onset"] or bool(nowhere) != (told["onset_searched"] and told["onset"] is None):
            yield match[0]
        if (most and int(most) != 4 * before["servers"]) or not near(model, float(int(told["onset_model"]))):
            yield match[0]
    yield from margins(lines, told, before)
    yield from hinges(lines, told, before)
    says = [f"  held up by   {limit['what']}: {limit['says']}" for limit in told["limits"]]
    if [match[0] for match in lines.take("  held up by   .*")] != says:
        yield "what holds it up"
    yield from goals(lines, told, goal, before)
    yield from remedies(lines, told)
    for caveat in told["caveats"]:
        if not lines.take(re.escape(caveat)):
            yield f"no word of: {caveat}"
    match = lines.one(r"([\d.]+(?: [kMG])?) data packets simulated")
    if not match or not near(match[1], told["spent_packets"]):
        yield "what was spent"
    yield from (f"no rule knows: {line}" for line in lines.left)


def margins(lines, told, before):
    would = "would no longer be held up" if before["hurt"] else "would be held up"
    one = lambda of: (f"It {would} with {of['edge']} ({of['of']}) in place of {of['now']}." if of["edge"]
                      else f"It fares the same with anything from {of['now']} to {of['tried_to']} ({of['of']}).")
    says = " ".join(map(one, told["margins"]))
    pattern = re.escape(says) if told["needed"] else r"Nothing needs changing\. ?" + re.escape(says)
    if (says or not told["needed"]) and not lines.take(pattern):
        yield f"no word of: {says}"


def hinges(lines, told, before):
    otherwise = "it would not be held up" if before["hurt"] else "it would be held up"
    turning = [of for of in told["hangs_on"] if of["turns"]]
    others = [of for of in told["hangs_on"] if not of["turns"]]
    if any(not set(of["turns"]) <= set(of["tried"]) or of["now"] in of["tried"] for of in told["hangs_on"]):
        yield "a verdict hangs on what was not tried"
    says = [f"This hangs on {of['key']} = {of['now']}: with {' or '.join(of['turns'])} {otherwise}." for of in turning]
    if others:
        same = ", ".join(f"{of['key']} = {of['now']} ({' and '.join(of['tried'])})" for of in others)
        says.append(f"It is the same with other values, in brackets, of {same}.")
    if says and not lines.take(re.escape(" ".join(says))):
        yield f"no word of: {' '.join(says)}"


def goals(lines, told, goal, before):
    """The goal, how near the best comes, and whether it can be met at all."""
    match = lines.one(r"The goal, (.*), (is|is not) met without a change: (.*?)\.(?: At this link rate it cannot be: a round's packets alone take "
                      + TIME + r" on the client's link\.)?")
    if bool(match) != bool(goal):
        yield "the goal"
        return
    unmet = lines.one(r"Nothing that (?:(was tried and) )?can be made today meets the goal, (.*?)(?:; (\d+) changes were not tried)?\."
                      r"(?: (.*) comes nearest: (.*?)\.)?(?: Of what stands apart, (.*) meets it\.)?")
    if not goal:
        return
    measure, limit = re.match(r"([\w.]+) [<>] (.*)", goal).groups()
    if measure == "goodput":
        bound = before["allowed_mbps"] or None
        met = None if bound is None else before["goodput_mbps"]["mean"] / bound >= float(limit.rstrip(" %")) / 100
        possible = True
    else:
        ms = UNITS[limit.split()[1]] * float(limit.split()[0])
        value = before["qct_ms"]["p999" if measure == "p99.9" else measure]
        met = value is not None and value <= ms
        possible = before["wire_ms"] is None or ms > before["wire_ms"]
        if match[4] and not same_time(match[4], match[5], before["wire_ms"]):
            yield match[0]
    if match[1] != goal or match[3] != told["goal"]["reached"] or (match[2] == "is") != told["goal"]["met"]:
        yield match[0]
    if met is not None and met != told["goal"]["met"]:
        yield f"{match[0]}: by its figures that is {met}"
    if possible != told["goal"]["possible"] or bool(match[4]) != (not possible):
        yield f"{match[0]}: possible is {possible}"
    own = ranked(told)
    wanted = told["needed"] and not told["goal"]["met"] and not any(remedy["goal"]["met"] for remedy in own)
    if bool(unmet) != wanted:
        yield "whether anything meets the goal"
    elif unmet:
        if int(unmet[3] or 0) != told["untried"] or bool(unmet[1]) != (told["untried"] > 0):
            yield unmet[0]
        if own and (unmet[4], unmet[5]) != (own[0]["says"], own[0]["goal"]["reached"]):
            yield unmet[0]
        apart = next((remedy["says"] for remedy in told["remedies"] if remedy["goal"]["met"]), None)
        if unmet[6] != apart:
            yield unmet[0]


def remedies(lines, told):
    """A line for each remedy, and all lines of the first five."""
    own = ranked(told)
    heads = [r"What helps, by a client's time.*", r"Apart: to be bought.*", r"Nothing that was tried and can be made today helps\."]
    wanted = [bool(own) and told["needed"], len(told["remedies"]) > len(own), told["needed"] and not own]
    for head, want in zip(heads, wanted):
        if bool(lines.take(head)) != want:
            yield f"the head {head}"
    for rank, remedy in [*enumerate(own, 1), *((0, remedy) for remedy in told["remedies"] if remedy not in own)]:
        match = lines.one(rf"  {rank or '':>2}   {re.escape(remedy['says'])}: ([\d.]+) % of the time without it, ([\d.]+) Mbit/s(?:, a round {TIME})?(?: \(p99 {TIME}\))?; (.*)")
        if not match:
            yield f"no line of {remedy['says']}"
            continue
        q = remedy["qct_ms"]
        if not near(match[1], 100 * remedy["of_today"]) or not near(match[2], remedy["goodput_mbps"]["mean"]):
            yield match[0]
        for digits, unit, ms in [(match[3], match[4], q["mean"]), (match[5], match[6], q["p99"])]:
            if bool(digits) != (ms is not None) or (digits and not same_time(digits, unit, ms)):
                yield match[0]
        words = [remedy["effort"], *(["touches more than these flows"] if remedy["touches"] else []), *([remedy["apart"]] if remedy["apart"] else [])]
        if remedy["goal"]:
            words.append(f"{'meets' if remedy['goal']['met'] else 'misses'} the goal: {remedy['goal']['reached']}")
        if remedy["robust"] is not None:
            words.append("its rank is the same with other assumed values" if remedy["robust"] else "its rank changes with other assumed values")
        if match[7] != "; ".join(words):
            yield f"{match[7]}, not {'; '.join(words)}"
    for rank, remedy in enumerate(own[:5], 1):
        yield from in_full(lines, rank, remedy)
    for command in [told["today"]["run"], *(limit["run"] for limit in told["limits"]), *(remedy["run"] for remedy in own)]:
        lines.take(" *" + re.escape(command))
    lines.take(r"  (apply|undo|verify) (on every server|on the client|on the switch \((SONiC|EOS)\)|in the application)")


def in_full(lines, rank, remedy):
    """Every line that makes a remedy stands there whole, and what else is said of it."""
    if not lines.take(rf"{rank}\. {re.escape(remedy['says'])}"):
        yield f"no part of {remedy['says']}"
    whole = [line["line"] for what in ("apply", "undo", "verify") for line in remedy[what]]
    for text in dict.fromkeys([*("    " + line for line in whole), *("  " + note for note in remedy["notes"])]):
        lines.take(re.escape(text))
        lines.seen = getattr(lines, "seen", set()) | {text}
    for touched in remedy["touches"]:
        lines.take(r"  touches   " + re.escape(touched))
    if remedy["harms"] == []:
        lines.take(r"  Beside a long flow and small flows nothing was harmed by a tenth or more\.")
    for harm in remedy["harms"] or []:
        if f"  harms   {harm}" not in lines.left and harm not in getattr(lines, "harms", set()):
            yield f"no word of: {harm}"
        lines.take(r"  harms   " + re.escape(harm))
        lines.harms = getattr(lines, "harms", set()) | {harm}


# Diagnosis

CAUSES = {
    "rto": "answers waited for retransmission timeouts", "tail-loss-probe": "answers waited for probes of a lost tail",
    "recovery": "answers waited until losses were found and sent again, sooner than by a timeout",
    "link-fault": "packets were lost where no queue can have been full: a fault of a link, not incast",
    "delayed-ack": "acknowledgements that were kept back held answers up: not the network",
    "zero-window": "the client had no room for what came: not the network",
    "slow-server": "servers took their time before they answered: not the network",
    "application-pause": "servers paused within their answers: not the network",
}
# A time as a diagnosis prints it.
SHORT = r"([\d.]+ (?:us|ms|s))"


def is_time(text, seconds):
    return same_time(*text.split(), 1e3 * seconds)


def median(values):
    return sorted(values)[len(values) // 2] if values else 0.0


def losses(rounds):
    least, most = (sum(one["lost"][end] for one in rounds) for end in (0, 1))
    return "" if most == 0 else f"{least}" if least == most else f"{least} to {most}"


def diagnosis(told, text):
    """What refutes the text of `fanin diagnose`, or its figures one another."""
    rounds, verdict, of = told["episodes"], told["verdict"], told["rounds"]
    stalled = [one for one in rounds if one["signature"] != "none"]
    took = sum(one["took_s"] for one in rounds)
    if rounds and of["count"] == len(rounds):
        truth = {
            "fan_in": max(one["fan_in"] for one in rounds), "stalled": len(stalled), "mean_took_s": took / len(rounds),
            "goodput_mbps": sum(one["bytes"] for one in rounds) * 8 / took / 1e6,
            **{f"stalled_{key}": median([one[key] for one in stalled]) for key in ("took_s", "should_s", "stall_s")},
        }
        for key, value in truth.items():
            if abs(of[key] - value) > 1e-3 * abs(value) + 1e-6:
                yield f"rounds.{key} is {of[key]}, not {value}"
        if told["slowest"] and told["slowest"][0]["took_s"] < max(one["took_s"] for one in rounds) - 1e-9:
            yield "the slowest round is not the slowest"
        for one in rounds:
            if abs(sum(stall["took_s"] for stall in one["stalls"]) - one["stall_s"]) > 1e-6 or one["stall_s"] > one["took_s"] + 1e-6:
                yield f"a round of {one['took_s']} s is idle for {one['stall_s']}"
    for stall in (stall for one in rounds for stall in one["stalls"]):
        # Hosts may differ. What a client sent again waited for a timer of its own.
        least = told["hosts"].get(stall["server"], {}).get("rto_min_s")
        if least and stall["signature"] == "rto" and 0 < max(stall["took_s"], stall["timer_s"]) < 0.5 * least:
            yield f"a wait of {stall['took_s']} s, behind {stall['timer_s']} s, is put down to a timeout of at least {least}"
    yield from verdict_of(told, rounds, stalled, took)
    lines = Lines(text)
    if not lines.take(re.escape(verdict["says"])):
        yield "the verdict is not printed"
    if bool(lines.take(rf"confidence {100 * verdict['confidence']:.0f} %")) != (verdict["incast"] is not None):
        yield "the confidence"
    match = lines.one(r"(\d+) rounds, (\d+) of them without a stall(, those that stood still longest first)?")
    if bool(match) != bool(rounds):
        yield "no table of rounds"
    elif match and (int(match[1]), int(match[2])) != (of["count"], of["count"] - of["stalled"]):
        yield match[0]
    for caution in told["cautions"]:
        if not lines.take("note: " + re.escape(caution)):
            yield f"no word of: {caution}"
    for one in told["simulated"]:
        match = lines.one(rf"  simulated   {one['fan_in']} servers: ([\d.]+) Mbit/s; measured: ([\d.]+) \(([+-]\d+) %\)\.( What follows from the scenario is doubtful\.)?")
        off = one["simulated_mbps"] / one["measured_mbps"] - 1
        if not match or not near(match[1], one["simulated_mbps"]) or not near(match[2], one["measured_mbps"]):
            yield f"no word of {one}"
        elif abs(int(match[3]) - 100 * off) > 0.51 or bool(match[4]) != (abs(off) > 0.2):
            yield match[0]
    yield from path_to_client(lines, told)


def path_to_client(lines, told):
    way = told["way"]
    if match := lines.one(r"  buffer   (\d+) to (\d+) B \(.*\)"):
        if [int(match[1]), int(match[2])] != way["buffer_bytes"]["value"]:
            yield match[0]
    elif way["buffer_bytes"]:
        yield "no word of the buffer"
    match = lines.one(r"  lost   (\d+) to (\d+) segments; (\d+) came out of order; (\d+) were marked")
    if not match or [int(n) for n in match.groups()] != [*told["losses"], told["reordered"], way["marked"]]:
        yield "what was lost"
    if match := lines.one(r"  rate   ([\d.]+) Mbit/s \(.*\)"):
        if not near(match[1], way["rate_mbps"]["value"]):
            yield match[0]
    if match := lines.one(r"  round trip   ([\d.]+) us \(.*\)"):
        if not near(match[1], 1e6 * way["round_trip_s"]["value"]):
            yield match[0]


def verdict_of(told, rounds, stalled, took):
    """The sentence that all comes to."""
    verdict, says = told["verdict"], told["verdict"]["says"]
    idle = sum(stall["took_s"] for one in rounds for stall in one["stalls"])
    if not rounds:
        if verdict["incast"]:
            yield "incast without a round"
        if verdict["incast"] is None and not re.match("too little to tell|.*Counters do not say", says):
            yield f"no verdict, and says: {says}"
        return
    if idle <= 0.05 * took:
        match = re.match(rf"no harmful incast: (\d+) rounds of up to (\d+) servers were idle for ([\d.]+) % of their time; one took {SHORT} on average, ([\d.]+) Mbit/s", says)
        if not match or verdict["incast"] is not False:
            yield f"idle for {idle} of {took} s: {says}"
        elif int(match[1]) != len(rounds) or not near(match[3], 100 * idle / took) or not is_time(match[4], took / len(rounds)):
            yield says
        return
    causes = {}
    for stall in (stall for one in rounds for stall in one["stalls"]):
        causes[stall["signature"]] = causes.get(stall["signature"], 0.0) + stall["took_s"]
    main = max(causes, key=causes.get)
    if verdict["cause"] != main or verdict["incast"] != (main in ("rto", "tail-loss-probe", "recovery")):
        yield f"{verdict['cause']} in place of {main}: {says}"
    match = re.match(rf"(no )?incast: (\d+) of (\d+) rounds of up to (\d+) servers had a stall: (.*?)\. One of these took {SHORT} \(median\) in place of {SHORT}, and was idle for "
                     rf"{SHORT}\.(?: (\d+(?: to \d+)?) segments were lost in these\.)? All rounds took {SHORT} on average, ([\d.]+) Mbit/s\.(.*)", says)
    if not match:
        yield f"no rule knows: {says}"
        return
    if bool(match[1]) == verdict["incast"] or [int(match[n]) for n in (2, 3, 4)] != [len(stalled), len(rounds), max(one["fan_in"] for one in rounds)] or match[5] != CAUSES[main]:
        yield says
    for place, key in ((6, "took_s"), (7, "should_s"), (8, "stall_s")):
        if not is_time(match[place], median([one[key] for one in stalled])):
            yield f"{match[place]} is no median of {key}"
    if (match[9] or "") != losses(stalled):
        yield f"{match[9]} segments"
    if not is_time(match[10], took / len(rounds)) or not near(match[11], sum(one["bytes"] for one in rounds) * 8 / took / 1e6):
        yield f"{match[10]} on average, {match[11]} Mbit/s"
    named = re.findall(rf"(\S+) was waited for in (\d+) of (\d+) stalls of that kind, for {SHORT} in all\.", match[12])
    own = [stall for one in rounds for stall in one["stalls"] if stall["signature"] == main]
    if bool(named) != (main in ("slow-server", "application-pause")):
        yield f"who was waited for: {match[12]}"
    for server, count, all_, text in named:
        theirs = [stall for stall in own if stall["server"] == server]
        if (int(count), int(all_)) != (len(theirs), len(own)) or not is_time(text, sum(stall["took_s"] for stall in theirs)):
            yield f"{server} was waited for in {count} of {all_}"


# Plans

def plan(told, text):
    """What refutes the text of `fanin plan`, or its figures one another."""
    lines, log = Lines(text), told["log"]
    figures = r"(\d[\d.]*(?: [kMG])?)"
    match = lines.one(rf".*: {figures} queries for {figures} keys, ([\d.]+) keys each on average")
    if not match or not near(match[1], log["queries"]) or not near(match[2], log["keys"]) or not near(match[3], log["requests"] / log["queries"]):
        yield f"the log: {match and match[0]}"
    match = lines.one(rf"The plan, from the first {figures} queries: {figures} replicas move, ([\d.]+) (KB|MB|GB) in all, to {figures} servers\.")
    scale = {"KB": 1e3, "MB": 1e6, "GB": 1e9}
    moves = told["moves"]["popular"] + told["moves"]["correlated"]
    if not match:
        yield "what moves"
    elif not near(match[2], moves) or not near(match[3], told["bytes_moved"] / scale[match[4]]) or not near(match[5], told["gathering_servers"]):
        yield match[0]
    a_query = told["servers_a_query"]
    for name, of, busiest in [("before", a_query["before"], told["busiest_before"]), ("after", a_query["after"], told["busiest_after"])]:
        match = lines.one(rf"  {name} +([\d.]+) on average, (\d+) in half of them, (\d+) at most in 99 %; the busiest server has ([\d.]+) times the mean")
        if not match or not near(match[1], of["mean"]) or [int(match[2]), int(match[3])] != [of["p50"], of["p99"]] or not near(match[4], busiest):
            yield f"servers {name}"
        ms = told[f"query_ms_{name}"]
        match = lines.one(rf"  {name} +{TIME} on average, +{TIME} in half of them, +{TIME} at most in 99 %, {figures} packets dropped")
        if not match or not all(same_time(match[i], match[i + 1], ms[key]) for i, key in ((1, "mean"), (3, "p50"), (5, "p99"))) or not near(match[7], ms["dropped_packets"]):
            yield f"times {name}"
    slow, fast = told["query_ms_before"], told["query_ms_after"]
    worse = any(fast[key] > 1.05 * slow[key] for key in ("mean", "p99"))
    if told["recommended"] and (worse or moves == 0 or told["servers_after"] >= told["servers_before"]):
        yield f"do it: servers {told['servers_before']} to {told['servers_after']}, times {slow} to {fast}"
    if told["recommended"] != told["why"].startswith("do it"):
        yield told["why"]
    if (match := re.search(r"(\d+) packets are dropped in place of (\d+)", told["why"])) and [int(n) for n in match.groups()] != [fast["dropped_packets"], slow["dropped_packets"]]:
        yield told["why"]
    if not lines.take(re.escape(told["why"])):
        yield "the conclusion is not printed"
    match = lines.one(rf"Moving takes {TIME} at a tenth of a server's link; (?:after {TIME} queries have saved as many questions as that took|queries never save what that takes)"
                      rf"(?:\. What it saves falls: in the log's way nothing is left after {TIME}|\. What it saves did not fall in the log's second half)\.")
    if bool(match) != (moves > 0):
        yield "what moving takes"
    elif match:
        for place, seconds in ((1, told["moving_s"]), (3, told["pays_after_s"]), (5, told["lasts_s"])):
            if bool(match[place]) != (seconds is not None) or (match[place] and not same_time(match[place], match[place + 1], 1e3 * seconds)):
                yield match[0]


# Papers

# Figures of which the machine's time is measured: the two runs that give the object and the text have one each.
TIMED = ("P-7b.", "S-10.")


def scorecard(told, text):
    """What refutes the text of `fanin reproduce`."""
    unwrapped = re.sub(r"\n {7}(?=\S)", "\n       ", text)
    claims = [claim for paper in told["papers"] for figure in paper["figures"] for claim in figure["claims"]]
    flat = " ".join(unwrapped.split())
    for claim in claims:
        words = claim["verdict"] + " " + claim["id"] + (", fragile" if claim["robust"] is False else "")
        if words not in flat:
            yield f"no {words}"
        if not claim["id"].startswith(TIMED) and (says := f"measured {claim['measured']}; passes with {claim['expected']}".replace("`", "")) and " ".join(says.split()) not in flat:
            yield f"{claim['id']}: no {says}"
        words = {"pass": "passes", "fail": "fails", "undecided": "is undecided"}
        there = ", ".join(f"{words[on['verdict']]} with {on['setting']}" for on in claim.get("hangs_on", []))
        beside = words.get(claim.get("tried_beside"))
        decides = f"Fragile, since what the paper leaves open decides: it {beside} as the scenarios have it, {there}." in flat
        changes = f"What the paper leaves open changes it, though not from holding to failing: it {beside} as the scenarios have it, {there}." in flat
        verdicts = {claim.get("tried_beside"), *(on["verdict"] for on in claim.get("hangs_on", []))}
        flips = {"pass", "fail"} <= verdicts
        if there and (decides, changes) != (flips, not flips):
            yield f"{claim['id']}: what it hangs on, {there}"
        if claim["robust"] is not None and claim["robust"] == flips:
            yield f"{claim['id']}: robust is {claim['robust']}, and its verdicts are {verdicts}"
    counted = [claim for claim in claims if not claim.get("repeats") and not claim.get("own")]
    count = lambda of: sum(1 for claim in counted if of(claim))
    held, undecided, fragile = count(lambda c: c["verdict"] == "pass"), count(lambda c: c["verdict"] == "undecided"), count(lambda c: c["robust"] is False)
    if f"{held} of {len(counted)} claims hold, {undecided} are undecided, {fragile} are fragile" not in flat:
        yield f"{held} of {len(counted)} hold, {undecided} undecided, {fragile} fragile"


