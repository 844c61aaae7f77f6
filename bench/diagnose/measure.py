#!/usr/bin/env python3
"""Compare diagnoses of captures that `fanin trace` writes for random scenarios with the output of `fanin run` for the same runs.

Episodes found and invented, numbers of servers, stalls; and what the scenario that was found predicts of the goodput. With --speed:
a capture of a gigabyte at a snap length of 96 bytes, its time and memory. Exit 1 where a bound is missed.
"""

import argparse
import csv
import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import time

USAGE = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, file=sys.stderr)
"""
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PS = 1e-12


def draw(seed):
    """The settings of one scenario."""
    chance = random.Random(seed)
    rate = chance.choice([1, 1, 10, 10, 25])
    fan_in = round(2 ** chance.uniform(1, 6.3))
    fragment = round(2 ** chance.uniform(2, 8)) * 1024
    # About as much for every one: some rounds, and not too many packets.
    rto_min = chance.choice([5, 10, 50, 200])
    span = min(max(40 * fan_in * fragment * 8 / (rate * 1e9), 8e-3 * rto_min, 0.1), 2)
    linux = chance.random() < 0.4
    tcp = {"profile": '"linux"'} if linux else {
        "mss": f'"{chance.choice([576, 1460, 1460])} B"', "initial_window": chance.choice([1, 2, 4, 10]), "sack": chance.choice(["true", "false"]),
        "delayed_ack": chance.choice([1, 2])}
    tcp["rto_min"] = f'"{rto_min} ms"'
    return {
        "scheme": chance.choice(["cubic", "newreno"]), "fan_in": fan_in,
        "link": {"rate": f'"{rate} Gbit/s"', "delay": f'"{chance.randint(2, 30)} us"'},
        "switch": {"buffer": f'"{chance.randint(32, 400)} KiB"'},
        "host": {"service_time": f'"{chance.randint(5, 60)} us"', "service_jitter": f'"{chance.randint(5, 80)} us"'},
        "tcp": tcp,
        "workload": {"kind": '"barrier"', "fragment": f'"{fragment} B"', "duration": f'"{round(1000 * span)} ms"',
                     "pause": f'"{chance.choice([0, 0, 300, 3000])} us"'},
    }


def text_of(drawn):
    lines = [f'schemes = ["{drawn["scheme"]}"]']
    for section in ("link", "switch", "host", "tcp", "workload"):
        lines += [f"[{section}]", *(f"{key} = {value}" for key, value in drawn[section].items())]
    return "\n".join([*lines, "[sweep]", f"fan_in = [{drawn['fan_in']}]", "[run]", "seeds = 1"]) + "\n"


def fanin(program, *arguments):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"fanin {' '.join(map(str, arguments))}: {done.stderr[-500:]}")
    return done.stdout


def rows(file):
    return list(csv.DictReader(file.open())) if file.exists() else []


def truth(folder):
    """Rounds that ended: from when, how long, and how long nothing came of it."""
    stalls = [(int(row["start_ps"]) * PS, int(row["took_ps"]) * PS) for row in rows(folder / "stalls.csv")]
    for row in rows(folder / "queries.csv"):
        if row["qct_ps"]:
            start, took = int(row["start_ps"]) * PS, int(row["qct_ps"]) * PS
            yield start, took, sum(span for at, span in stalls if start - 1e-9 <= at < start + took)


def one(program, seed, keep):
    """Measures of one scenario's diagnosis."""
    drawn = draw(seed)
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(keep or folder) / f"seed{seed}"
        root.mkdir(parents=True, exist_ok=True)
        (root / "drawn.toml").write_text(text_of(drawn))
        scheme = ["--scheme", drawn["scheme"]]
        ran = json.loads(fanin(program, "run", root / "drawn.toml", *scheme, "--out", root / "run", "--json"))
        fanin(program, "trace", root / "drawn.toml", *scheme, "--out", root / "client.pcapng")
        found = json.loads(fanin(program, "diagnose", root / "client.pcapng", "--json", "--out", root / "found"))
        real = list(truth(root / "run"))
        # Here times count from the first packet, there from the first request.
        packets = blocks(root / "client.pcapng")
        first = next(packets)[0]
        zero = (first - next(at for at, kept, whole in packets if whole > 60 and kept[20 + 13] & 2 == 0)) / 1e9
        match = [(start, took, stall, next((e for e in found["episodes"] if abs(e["start_s"] + zero - start) < 2e-5), None)) for start, took, stall in real]
        hits = [(took, stall, e) for _, took, stall, e in match if e]
        result = {
            "seed": seed, "rounds": len(real), "found": len(hits), "invented": len(found["episodes"]) - len(hits),
            "fan_in": sum(abs(e["fan_in"] - drawn["fan_in"]) <= 0.05 * drawn["fan_in"] for _, _, e in hits),
            "stall_real": sum(stall for _, stall, _ in hits), "stall_seen": sum(e["stall_s"] for _, _, e in hits),
        }
        result["goodput_real"] = goodput(program, root / "drawn.toml", drawn)
        if found["scenario"]:
            result["goodput_told"] = goodput(program, found["scenario"], drawn)["mean"]
        return drawn, result, ran


def goodput(program, scenario, drawn):
    """Goodput of a scenario over the captured time: the mean of five seeds and its 95 % CI."""
    told = json.loads(fanin(program, "compare", scenario, "--fan-in", drawn["fan_in"], "--seeds", 5, "--json",
                            "--set", f"workload.duration={drawn['workload']['duration']}"))
    (row,) = told["rows"]
    return row["goodput_mbps"]


def measures(program, count, first, keep):
    wrong, sums, good, offered = [], {"rounds": 0, "found": 0, "invented": 0, "fan_in": 0}, 0, 0
    stalls = known = 0
    for seed in range(first, first + count):
        drawn, got, _ = one(program, seed, keep)
        for key in sums:
            sums[key] += got[key]
        off = got["stall_seen"] - got["stall_real"]
        fine = abs(off) <= 0.1 * got["stall_real"] + 1e-4 * got["rounds"]
        stalls += fine
        real, told = got["goodput_real"], got.get("goodput_told", 0)
        offered += bool(told)
        ratio, near = told / real["mean"], abs(told / real["mean"] - 1) <= 0.15
        good += near
        known += near or real["lo"] <= told <= real["hi"]
        print(f"seed {seed}: {drawn['scheme']} {drawn['fan_in']} servers, {drawn['workload']['fragment']}, {drawn['link']['rate']}, buffer {drawn['switch']['buffer']}, "
              f"RTOmin {drawn['tcp']['rto_min']}: {got['found']} of {got['rounds']} rounds, {got['invented']} invented, fan-in right {got['fan_in']}; stalled "
              f"{got['stall_seen']:.4f} s of {got['stall_real']:.4f}{'' if fine else ' WRONG'}; goodput {f'{ratio:.2f} of the real one' if told else 'not offered'}, which is known to "
              f"{(real['hi'] - real['lo']) / 2 / real['mean']:.0%}", flush=True)
    if sums["found"] < 0.95 * sums["rounds"]:
        wrong.append("episodes found")
    if sums["invented"]:
        wrong.append("episodes invented")
    if sums["fan_in"] < sums["found"]:
        wrong.append("fan-in")
    if stalls < count:
        wrong.append("stalls")
    if good < 0.8 * offered:
        wrong.append("goodput")
    print(f"{sums['found']} of {sums['rounds']} rounds found, {sums['invented']} invented, fan-in within 5 % in {sums['fan_in']}; "
          f"stalls within 10 % in {stalls} of {count}, goodput within 15 % in {good} of {offered} scenarios that are offered, or as "
          f"near as five seeds know the real one in {known}")
    return wrong


def blocks(file):
    """Packets of a pcapng as `fanin trace` writes it: stamps in nanoseconds, and bytes."""
    data, at = file.read_bytes(), 0
    while at + 12 <= len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == 6:
            _, high, low, kept, whole = struct.unpack_from("<IIIII", data, at + 8)
            yield (high << 32) | low, data[at + 28:at + 28 + min(kept, 82)], whole
        at += length


def large(program, root, size):
    """Write a capture of `size` bytes: a trace repeated, each packet with an Ethernet header and cut after 96 bytes."""
    fanin(program, "trace", ROOT / "scenarios/fixed-fragment.toml", "--scheme", "newreno", "--fan-in", 32, "--set", "workload.duration=500 ms",
          "--out", root / "one.pcapng")
    packets = list(blocks(root / "one.pcapng"))
    # So far apart that none is taken for a copy of one before.
    span = packets[-1][0] + 3_000_000_000
    head = bytes(12) + b"\x08\x00"
    with (root / "large.pcap").open("wb") as out:
        out.write(struct.pack("<IHHIIII", 0xa1b23c4d, 2, 4, 0, 0, 96, 1))
        written, turn = 24, 0
        while written < size:
            piece = b"".join(struct.pack("<IIII", *divmod(at + turn * span, 10**9), 14 + len(kept), 14 + whole) + head + kept for at, kept, whole in packets)
            out.write(piece)
            written, turn = written + len(piece), turn + 1
    return root / "large.pcap"


def speed(program, size):
    with tempfile.TemporaryDirectory() as folder:
        file = large(program, pathlib.Path(folder), size)
        began = time.monotonic()
        # A small process starts it: Linux would count this process's peak memory as its child's.
        told = subprocess.run([sys.executable, "-c", USAGE, program, "diagnose", file, "--json"], capture_output=True, text=True, check=True)
        took = time.monotonic() - began
        found, (cpu, memory) = json.loads(told.stdout), map(float, told.stderr.split()[-2:])
        print(f"{file.stat().st_size / 1e9:.2f} GB, {found['inputs'][0]['packets'] / 1e6:.1f} M packets: {took:.1f} s, of them {cpu:.1f} s of a core; "
              f"{memory:.0f} MB at the most; {found['rounds']['count']} episodes")
        return [] if cpu <= 20 * size / 1e9 and memory <= 200 else ["speed or memory"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=ROOT / "target/release/fanin")
    parser.add_argument("--cases", type=int, default=30)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--keep", help="a folder to leave everything in")
    parser.add_argument("--speed", type=float, metavar="GB", help="measure the speed on so many gigabytes")
    asked = parser.parse_args()
    wrong = measures(asked.program, asked.cases, asked.first, asked.keep) if asked.cases else []
    if asked.speed:
        wrong += speed(asked.program, asked.speed * 1e9)
    print("missed: " + ", ".join(wrong) if wrong else "all measures hold")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
