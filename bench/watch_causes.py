#!/usr/bin/env python3
"""Waits and saved bursts of `fanin watch`, beside diagnoses of full captures of the same traffic. Needs root, tcpdump and nft.

Cases are those of bench/diagnose/corpus: incast, lossy links, late and pausing servers, small windows, readers that stop. A sensor in each
server's namespace reports waits, and one at the client saves a burst, while tcpdump captures at the client. `fanin diagnose` reads both captures.

    watch_causes.py [--first SEED] [--count N]

Prints the stalls of the full captures by their signature, and the sensors' causes in the same time; and each case's verdicts. Ends with 1
if fewer than 95 % of the causes or not all verdicts agree.
"""

import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench/diagnose/corpus"))

from corpus import HERE, WARM_UP_S, sniff, stop  # noqa: E402
from draw import draw  # noqa: E402
from network import all_algorithms, down, inside, namespace, up  # noqa: E402
from packets import Capture, read, written  # noqa: E402

PROGRAM = ROOT / "target/release/fanin"
SENSOR = os.environ.get("FANIN_KERNEL", ROOT / "target/release/fanin-kernel")
SECONDS = 3.0
ENOUGH = 0.95
# Sensors' causes with the cause of a signature: losses, the peer's window, or no wait of TCP. A capture does not show which timer sent again.
LOSSES, WINDOW, NONE = {"timeout", "loss-probe", "fast-retransmit"}, {"zero-window"}, {"none"}
CAUSES = {
    "rto": LOSSES, "tlp": LOSSES, "recovery": LOSSES, "link-fault": LOSSES, "zero-window": WINDOW, "slow-server": NONE, "application-pause": NONE,
    "delayed-ack": NONE, "client-stopped": NONE, "standing-queue": NONE,
}
# Shorter stalls are not compared: the sensors report no shorter waits for a window.
LEAST_S = 0.01
# Part of a stall that a wait covers.
PART = 0.3


def watch(case, host, file, *more):
    command = [SENSOR, "watch", "--interface", "eth0", "--json", *more]
    return subprocess.Popen(["ip", "netns", "exec", namespace(case, host), *map(str, command)], stdout=file.open("w"), stderr=subprocess.DEVNULL)


def rows(file):
    return [json.loads(line) for line in file.read_text().splitlines()]


def traffic(case, folder):
    """The case's traffic, with a capture at the client and sensors at all hosts; returns whether the capture is complete."""
    file = folder / "case.json"
    file.write_text(json.dumps(case))
    up(case)
    try:
        servers = [watch(case, f"s{number}", folder / f"s{number}.jsonl") for number in range(len(case["servers"]))]
        save = ["--save", folder / "saved", "--worse-than", f"fan-in={len(case['servers']) // 2}", "--rate-mbit", case["port"]["kbit"] // 1000]
        sensors = [*servers, watch(case, "c0", folder / "client.jsonl", *save)]
        sniffer = sniff(case, "c0", "eth0", folder / "client.pcap")
        program = [sys.executable, HERE / "hosts.py"]
        serves = subprocess.Popen([*program, "serve", file, folder / "servers.json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        serves.stdout.readline()
        time.sleep(1)
        asks = subprocess.run([*program, "ask", file, folder / "client0.json", "0"], timeout=60)
        time.sleep(WARM_UP_S)
        missed = stop(sniffer)
        # The second around the burst.
        time.sleep(0.8)
        for sensor in sensors:
            sensor.terminate()
        for sensor in sensors:
            sensor.wait(30)
        serves.communicate("", timeout=20)
    finally:
        down(case)
    return not missed and not asks.returncode


def diagnosed(*files):
    done = subprocess.run([PROGRAM, "diagnose", "--json", *files], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else {}


def waits(case, folder):
    """The sensors' waits: server's address, begin, end and cause."""
    for number in range(len(case["servers"])):
        for row in rows(folder / f"s{number}.jsonl"):
            if row["type"] == "wait":
                yield row["own"].rsplit(":", 1)[0].strip("[]"), row["end_s"] - row["duration_ms"] / 1e3, row["end_s"], row["cause"]


def agreements(case, folder, found):
    """Each stall's signature and the sensors' cause."""
    start = read(folder / "client.pcap").frames[0][0] / 1e9
    known = list(waits(case, folder))
    stalls = [stall for episode in found["episodes"] for stall in episode["stalls"]] + found["alone_stalls"]
    for stall in stalls:
        begin = start + stall["start_s"]
        end = begin + stall["took_s"]
        overlaps = [(min(end, until) - max(begin, since), cause) for server, since, until, cause in known if stall["server"].startswith(server)]
        overlap, cause = max(overlaps, default=(0, "none"))
        if stall["took_s"] >= LEAST_S:
            yield stall["signature"], cause if overlap >= PART * stall["took_s"] else "none", stall


def verdict(found):
    """Whether it is incast, and the main cause."""
    if not found:
        return "none"
    causes = found["verdict"]["causes"]
    return f"{found['verdict']['incast']} {causes[0]['cause'] if causes else 'none'}"


def same_second(folder, saved):
    """The full capture's packets of the saved time."""
    capture = read(folder / "client.pcap")
    # The captures' clocks differ by less.
    near = 1e-4
    frames = [frame for frame in capture.frames if saved["from_s"] - near <= frame[0] / 1e9 <= saved["to_s"] + near]
    file = folder / "second.pcap"
    file.write_bytes(written(Capture(capture.link, frames)))
    return file


def compare(seed, matrix):
    """Adds the stalls of a case, and returns verdicts: of the full capture, of its part in the saved time, and of the saved one."""
    case = {**draw(seed, False), "seconds": SECONDS, "clients": 1, "place": "client", "new_connections": False}
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        if not traffic(case, folder):
            print(f"seed {seed}: the capture missed packets", flush=True)
            return None
        found = diagnosed(folder / "client.pcap")
        for signature, cause, stall in agreements(case, folder, found) if found else []:
            matrix[signature, cause] += 1
            if signature in CAUSES and cause not in CAUSES[signature] and os.environ.get("VERBOSE"):
                print(f"  {signature} is {cause}: {stall}")
        saved = [row for row in rows(folder / "client.jsonl") if row["type"] == "saved"]
        if not saved:
            print(f"seed {seed}: no burst was saved", flush=True)
            return None
        verdicts = [verdict(diagnosed(*files)) for files in ([folder / "client.pcap"], [same_second(folder, saved[0])], saved[0]["files"])]
        if os.environ.get("KEEP"):
            subprocess.run(["cp", "-r", folder, f"{os.environ['KEEP']}/{seed}"], check=True)
    print(f"seed {seed}: {'+'.join(case['troubles'])}, {len(case['servers'])} servers: {verdicts[0]}; in the saved time {verdicts[1]}, saved {verdicts[2]}", flush=True)
    return verdicts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--count", type=int, default=20)
    options = parser.parse_args()
    if os.geteuid():
        sys.exit("watch_causes: the sensor needs root")
    matrix, verdicts = collections.Counter(), []
    with all_algorithms():
        for seed in range(options.first, options.first + options.count):
            verdicts.append(compare(seed, matrix))
    verdicts = [both for both in verdicts if both]
    causes = ["timeout", "loss-probe", "fast-retransmit", "zero-window", "none"]
    print("\n| signature | " + " | ".join(causes) + " |\n| --- |" + " ---: |" * len(causes))
    for signature in CAUSES:
        print(f"| `{signature}` | " + " | ".join(str(matrix[signature, cause]) for cause in causes) + " |")
    judged = {pair: count for pair, count in matrix.items() if pair[0] in CAUSES}
    agree = sum(count for (signature, cause), count in judged.items() if cause in CAUSES[signature])
    same = sum(part == saved for _, part, saved in verdicts)
    whole = sum(full == saved for full, _, saved in verdicts)
    print(f"causes agree in {agree} of {sum(judged.values())} stalls; verdicts of the same time in {same} of {len(verdicts)} cases, of all {SECONDS} s in {whole}")
    sys.exit(agree < ENOUGH * sum(judged.values()) or same < len(verdicts))


if __name__ == "__main__":
    main()
