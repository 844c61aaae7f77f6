"""Compare the endpoint with this machine's kernel, segment by segment, when the same segments arrive (root).

    bench/packetdrill/kernel.py [--seeds FIRST..LAST] [--kinds KIND,...] [--controls CONTROL,...] [--keep DIR] [--json FILE]

A case is drawn by a model of a path and a receiver (crates/scenario/assemble/examples/packetdrill/random.rs). The kernel's ticks have
another phase in each run, on which CUBIC's window depends: where the two differ, the kernel is asked again, and
"as another run" counts cases in which one of its five runs is the endpoint's. The first segment that differs is printed; the shortest
case that differs is kept as a packetdrill script, and the kernel's answers beside it."""

import argparse
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
DRAW = ROOT / "target/release/examples/packetdrill"
KINDS = "loss reordering thinned-acks marks small-window idle writes all".split()
# Cases at a time: they sleep most of the time.
AT_ONCE = 16
MSS = 1000
# Microseconds.
LATE = 1500
RUNS = 5
HEAD = """`sysctl -q net.ipv4.tcp_slow_start_after_idle=1 net.ipv4.tcp_ecn={ecn}
ip link set dev tun0 gso_max_segs 1`
    0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
   +0 setsockopt(3, SOL_TCP, TCP_CONGESTION, "{control}", {length}) = 0
   +0 bind(3, ..., ...) = 0
   +0 listen(3, 1) = 0
   +0 < S{flags} 0:0(0) win 65535 <mss 1000,sackOK,nop,nop,nop,wscale 7>
   +0 > S{answer}. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK,nop,wscale 8>
"""


@dataclass
class Result:
    case: dict
    ours: list
    theirs: list
    # The first segment that differs; None if none does.
    at: int | None
    runs: int


def draw(first, last, kind, control):
    command = [DRAW, "random", str(first), str(last), kind, control]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return [json.loads(line) for line in lines]


def ask_kernel(case):
    # A busy machine delays events; then once more.
    for _ in range(12):
        run = subprocess.run([sys.executable, HERE / "host.py"], input=json.dumps(case), capture_output=True, text=True, timeout=90)
        if run.returncode == 0 and (answer := json.loads(run.stdout))["late"] < LATE:
            return answer["sent"]
    sys.exit(run.stderr.strip() or f"error: events came {answer['late'] / 1000:.0f} ms late: free the machine")


def in_segments(sent):
    """Data by whole segments, each with the number of events before it."""
    parts = []
    for data in sent:
        for seq in range(data["seq"], data["seq"] + data["len"], MSS):
            parts.append((data["event"], seq, data["at"]))
    return parts


def first_difference(ours, theirs):
    pairs = zip(ours, theirs)
    found = next((i for i, (a, b) in enumerate(pairs) if a[:2] != b[:2]), None)
    if found is None and len(ours) != len(theirs):
        found = min(len(ours), len(theirs))
    return found


def script(case, events):
    lines, before = [], 0
    accepted = False
    for event in case["events"][:events]:
        wait = f"+{(event['at'] - before) / 1e6:.6f}"
        before = event["at"]
        if event["write"]:
            lines.append(f"{wait} write(4, ..., {event['write']}) = {event['write']}")
            continue
        sack = " ".join(f"{a}:{b}" for a, b in event["sack"])
        options = f" <sack {sack},nop,nop>" if sack else ""
        flags = "E." if event["ece"] else "."
        lines.append(f"{wait} < {flags} 1:1(0) ack {event['ack']} win {event['window']}{options}")
        if not accepted:
            lines.append("+0 accept(3, ..., ...) = 4")
            accepted = True
    control = case["control"]
    ecn = dict(ecn=2, flags="EW", answer="E") if case["ecn"] else dict(ecn=0, flags="", answer="")
    return HEAD.format(control=control, length=len(control), **ecn) + "\n".join(lines) + "\n"


def compare(case):
    # The kernel is not listened to after the last event.
    last = case["events"][-1]["at"]
    ours = [part for part in in_segments(case["sent"]) if part[2] <= last]
    runs = []
    for _ in range(RUNS):
        theirs = in_segments(ask_kernel(case))
        at = first_difference(ours, theirs)
        runs.append((at, theirs))
        if at is None:
            break
    # The run that goes furthest with the endpoint.
    at, theirs = next((run for run in runs if run[0] is None), None) or max(runs, key=lambda run: run[0])
    return Result(case, ours, theirs, at, len(runs))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seeds", default="1..40", help="FIRST..LAST (1..40)")
    parser.add_argument("--kinds", default=",".join(KINDS), help="kinds of paths, receivers and applications (all)")
    parser.add_argument("--controls", default="cubic,reno", help="congestion controls that this kernel has (cubic,reno)")
    parser.add_argument("--keep", type=Path, help="a folder for the shortest script that differs, of each kind")
    parser.add_argument("--all", action="store_true", help="keep every script that differs")
    parser.add_argument("--json", type=Path, help="a file for the table")
    options = parser.parse_args()
    seeds = re.fullmatch(r"(\d+)\.\.(\d+)", options.seeds)
    if not seeds:
        parser.error(f"--seeds {options.seeds}: give FIRST..LAST, such as 1..1000")
    kinds, controls = options.kinds.split(","), options.controls.split(",")
    if unknown := set(kinds) - set(KINDS):
        parser.error(f"--kinds {','.join(unknown)}: known are {', '.join(KINDS)}")
    have = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    for control in [control for control in controls if control not in have]:
        print(f"skipped: this kernel has no {control} (it has {', '.join(have)})")
    if os.geteuid() != 0 or not Path("/dev/net/tun").exists():
        sys.exit("skipped: needs root and /dev/net/tun")
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    print(f"{'kind':14} {'control':8} {'same':>5} {'as another run':>15} {'parted':>7} {'of':>5}  segments")
    total, rows = [0, 0, 0], []
    for kind in kinds:
        for control in [control for control in controls if control in have]:
            cases = draw(int(seeds[1]), int(seeds[2]), kind, control)
            with ThreadPoolExecutor(AT_ONCE) as pool:
                results = list(pool.map(compare, cases))
            parted = [result for result in results if result.at is not None]
            again = sum(result.at is None and result.runs > 1 for result in results)
            counts = [len(results) - len(parted) - again, again, len(parted)]
            total = [a + b for a, b in zip(total, counts)]
            segments = sum(len(result.ours) for result in results)
            print_row(kind, control, counts, segments)
            rows.append({"kind": kind, "control": control, "counts": counts, "segments": segments})
            for result in parted:
                print(f"  seed {result.case['seed']}: segment {result.at}: {describe(result)}")
            if options.keep and parted:
                for result in parted if options.all else [min(parted, key=lambda result: result.at)]:
                    keep(options.keep / f"{kind}-{control}-{result.case['seed']}", result)
    print_row("all", "", total, "")
    if options.json:
        header = {"kernel": os.uname().release, "seeds": options.seeds, "date": str(date.today())}
        options.json.write_text(json.dumps({"header": header, "rows": rows}, indent=1) + "\n")


def print_row(kind, control, counts, segments):
    same, again, parted = counts
    print(f"{kind:14} {control:8} {same:>5} {again:>15} {parted:>7} {sum(counts):>5}  {segments}", flush=True)


def parts_at(result):
    return [sent[result.at] if result.at < len(sent) else None for sent in (result.ours, result.theirs)]


def describe(result):
    ours, theirs = (f"{part[1]} at {part[2] / 1e6:.3f} (event {part[0]})" if part else "nothing" for part in parts_at(result))
    return f"fanin {ours}, kernel {theirs}"


def keep(path, result):
    events = max(part[0] for part in parts_at(result) if part) + 1
    path.with_suffix(".pkt").write_text(script(result.case, events))
    path.with_suffix(".json").write_text(json.dumps({"fanin": result.ours, "kernel": result.theirs}))


main()
