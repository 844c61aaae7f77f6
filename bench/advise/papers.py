#!/usr/bin/env python3
"""Writes docs/advised.md: the advice of `fanin advise` for the papers' own settings."""

import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from figures import FANIN, ROOT

PAGE = ROOT / "docs" / "advised.md"
SETTINGS = [
    ("M21", "papers/m21/fixed-fragment.toml", []),
    ("Gentle slow start", "papers/gss/web-search.toml", []),
    ("Queues under Hadoop", "papers/aqm/terasort.toml", ["--budget", "1G"]),
    ("SICC", "papers/sicc/testbed.toml", []),
    ("PICC", "papers/picc/testbed.toml", []),
    ("DCTCP", "papers/dctcp/incast.toml", []),
]
SHOWN = 4
# States of JSON in the words of the advice.
VERBS = {"sustains": "sustains", "slow": "is slow with", "degrades": "degrades at", "collapsed": "collapses at"}


def figure(number):
    return f"{number:,.3g}" if number < 1000 else f"{number:,.0f}"


def of_one(name, scenario, more):
    """A section of the page."""
    command = ["fanin", "advise", scenario, *more]
    done = subprocess.run([FANIN, *command[1:], "--json", "--no-cache"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"advise-papers: {scenario}: {done.stderr.strip()[-300:]}")
    told = json.loads(done.stdout)
    today = told["today"]
    flat = "goodput stays above half of its best at all tested numbers of servers"
    onset = f"goodput falls below half of its best at {told['onset']} servers" if told["onset"] else flat
    allowed = f" of at most {figure(today['allowed_mbps'])}" if today["allowed_mbps"] else ""
    yield f"## {name}\n"
    yield f"`{' '.join(command)}`\n"
    yield f"{today['scheme']} {VERBS[today['state']]} {today['servers']} servers: {figure(today['goodput_mbps']['mean'])} Mbit/s{allowed}; {onset}.\n"
    for limit in told["limits"]:
        yield f"- limited by {limit['what']}: {limit['says']}"
    yield from (f"- {caveat}" for caveat in told["caveats"])
    if not told["needed"]:
        yield "\nNothing needs changing.\n"
        return
    main = [remedy for remedy in told["remedies"] if remedy["apart"] is None and remedy["deployable"]]
    apart = [remedy for remedy in told["remedies"] if remedy not in main]
    if not main:
        yield "\nNo remedy that was tried and is available today helps.\n"
    for title, some in (("remedy", main[:SHOWN]), ("other option", apart[:SHOWN])):
        if some:
            yield f"\n| {title} | share of today's time | Mbit/s | effort | robust | harms |\n| --- | ---: | ---: | --- | --- | --- |"
        for remedy in some:
            stands = {True: "yes", False: "no", None: ""}[remedy["robust"]]
            harms = "" if remedy["harms"] is None else "; ".join(remedy["harms"]) or "none"
            why = f" ({remedy['apart']})" if remedy["apart"] else ""
            effort = remedy["effort"] + (", affects other traffic" if remedy["touches"] else "")
            yield (f"| {remedy['says']}{why} | {100 * remedy['relative_to_current']:.1f} % | {figure(remedy['goodput_mbps']['mean'])} | "
                   f"{effort} | {stands} | {harms} |")
    yield ""


def main():
    text = ["# Advice on the papers' settings\n",
            "`make advise-papers` generates this page: the advice of `fanin advise` for a setting of each paper, within the default budget unless the",
            "command sets another. The current state is the scenario's first scheme at its largest fan-in. [advising.md](advising.md) explains the terms.\n"]
    for one in SETTINGS:
        text += of_one(*one)
        print(f"advise-papers: {one[0]}", flush=True)
    PAGE.write_text("\n".join(text).rstrip() + "\n")


if __name__ == "__main__":
    main()
