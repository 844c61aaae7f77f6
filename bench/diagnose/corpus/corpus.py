#!/usr/bin/env python3
"""Captures of this machine's kernel, each with its true causes, and their diagnoses by `fanin diagnose`.

Each seed draws what goes wrong in a network of namespaces (draw.py), where it is captured, and what is cut off the capture. The truth comes from the
queue's and TCP's counters, a capture at the router of all that entered and left it, and the programs' logs (truth.py). Needs root.
"""

import argparse
import collections
import gzip
import json
import pathlib
import signal
import subprocess
import sys
import time

from cuts import cut
from draw import draw
from network import all_algorithms, counters, devices, down, inside, namespace, up
from packets import read, written
from truth import truth

HERE = pathlib.Path(__file__).resolve().parent
# The router's packets have another link layer and all options.
SNAP = 128
WARM_UP_S = 0.2


def sniff(case, host, device, file):
    command = ["ip", "netns", "exec", namespace(case, host), "nice", "-n", "-10", "tcpdump", "-i", device, "-s", str(SNAP), "-B", "32768", "--immediate-mode", "--nano",
               "-Z", "root", "-w", file, "tcp"]
    sniffer = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    for line in sniffer.stderr:
        if "listening on" in line:
            return sniffer
    raise SystemExit("corpus: tcpdump does not start")


def stop(sniffer):
    """Ends a sniffer. Returns how many packets it missed."""
    sniffer.send_signal(signal.SIGINT)
    said = sniffer.stderr.read()
    sniffer.wait()
    return int(said.split(" packets dropped by kernel")[0].split()[-1])


def measure(case, folder):
    """Makes a case's captures and its truth; `None` if a sniffer missed packets, without which there is no truth."""
    file = folder / "case.json"
    file.write_text(json.dumps(case))
    up(case)
    try:
        sniffers = [sniff(case, "r", "any", folder / "router.pcap"), sniff(case, "c0", "eth0", folder / "client.pcap")]
        if case["place"] != "client":
            sniffers.append(sniff(case, f"s{case['server_captured']}", "eth0", folder / "server.pcap"))
        program = [sys.executable, HERE / "hosts.py"]
        servers = subprocess.Popen([*program, "serve", file, folder / "servers.json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        servers.stdout.readline()
        before = counters(case)
        clients = [subprocess.Popen([*program, "ask", file, folder / f"client{n}.json", str(n)]) for n in range(case["clients"])]
        codes = [client.wait(timeout=60) for client in clients]
        time.sleep(WARM_UP_S)
        after = counters(case)
        missed = sum(map(stop, sniffers))
        servers.communicate("", timeout=20)
        names = devices(case, "r")
    finally:
        down(case)
    if missed or any(codes):
        return None
    of_servers = json.loads((folder / "servers.json").read_text())
    logs = [json.loads((folder / f"client{n}.json").read_text()) + of_servers for n in range(case["clients"])]
    assert not before["queue_drops"]
    return truth(case, read(folder / "router.pcap"), names, logs, after)


def make(seed, small, out):
    """Makes a capture of a seed and the file with its truth."""
    case = draw(seed, small)
    target = out / f"{seed}.json"
    if target.exists():
        return
    work = out / f"work-{seed}"
    work.mkdir(parents=True, exist_ok=True)
    found = None
    for _ in range(3):
        found = found or measure(case, work)
    if found is None:
        print(f"seed {seed}: its capture missed packets three times", flush=True)
        return
    places = ["client", "server"] if case["place"] == "both" else [case["place"]]
    spans = {}
    for place in places:
        capture, snap = cut(read(work / f"{place}.pcap"), case["cut"], f"{seed} {place}")
        spans[place] = [capture.frames[0][0] / 1e9, capture.frames[-1][0] / 1e9]
        (out / f"{seed}-{place}.pcap.gz").write_bytes(gzip.compress(written(capture, min(snap, 100 if small else SNAP)), 9, mtime=0))
    target.write_text(json.dumps({"case": case, "spans": spans, "truth": found}))
    for path in work.iterdir():
        path.unlink()
    work.rmdir()
    total = collections.Counter()
    for *_, shares in found["waits"]:
        total.update(shares)
    print(f"seed {seed}: {'+'.join(case['troubles'])}, {len(case['servers'])} servers, {case['algorithm']}, at the {case['place']}, cut {case['cut']['kind']}: "
          f"{len(found['rounds'])} rounds, drops {found['queue_drops']}, lost {sum(found['link_losses'])}, waits {dict(total)}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--small", action="store_true", help="captures of a few thousand packets")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    # Ended by a signal, too, it sets the machine's setting back.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with all_algorithms():
        for seed in range(asked.first, asked.first + asked.count):
            make(seed, asked.small, asked.out)


if __name__ == "__main__":
    main()
