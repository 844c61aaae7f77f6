#!/usr/bin/env python3
"""Known bursts at `fanin watch`: senders of UDP behind a limiter, in two network namespaces. Needs root.

    bench/watch_bursts.py [target/release/fanin-kernel]

For 2 to 512 senders and bursts of 0.2 to 20 ms, prints how many of 20 bursts were found, were whole, had the exact fan-in, and began and
lasted as sent, within a bin; and the bursts in calm traffic, whose packets of the same mean are evenly spaced.
"""

import json
import os
import pathlib
import subprocess
import sys
import time

RATE_MBIT = 500
DATA = 1442
PACKET = DATA + 42
COUNT = 20
PERIOD_S = 0.1
SENDERS = (2, 8, 32, 64, 128, 512)
BURSTS_MS = (0.2, 1, 5, 20)
RECEIVER, SENDER = (f"fanin-watch-{os.getpid()}{end}" for end in "rs")

SEND = f"""
import json, socket, sys, time
senders, packets = map(int, sys.argv[1:])
sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(senders)]
for place, one in enumerate(sockets):
    one.bind(("10.77.0.2", 20000 + place))
    one.connect(("10.77.0.1", 9))
    one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
began = []
for _ in range({COUNT}):
    began.append(time.time())
    for packet in range(packets):
        sockets[packet % senders].send(b"x" * {DATA})
    time.sleep(max(0, began[-1] + {PERIOD_S} - time.time()))
print(json.dumps(began))
"""


def ip(arguments: str) -> None:
    subprocess.run(["ip", *arguments.split()], check=True)


def inside(namespace: str, *command: str) -> list[str]:
    return ["ip", "netns", "exec", namespace, *command]


def limit(kbit: float) -> None:
    line = f"tc qdisc replace dev vs root tbf rate {kbit:.0f}kbit burst 3200 limit 20m"
    subprocess.run(inside(SENDER, *line.split()), check=True)


def watched(program: str, senders: int, packets: int, bin_us: int) -> tuple[list[float], list[dict]]:
    """Times at which bursts began, and the bursts that were found."""
    options = ["--interface", "vr", "--rate-mbit", str(RATE_MBIT), "--bin-us", str(bin_us), "--json", "--for", "6s"]
    watch = subprocess.Popen(inside(RECEIVER, program, "watch", *options), stdout=subprocess.PIPE, text=True)
    time.sleep(1.5)
    send = inside(SENDER, sys.executable, "-c", SEND, str(senders), str(packets))
    # Other programs of the machine would interrupt bursts.
    sent = subprocess.run(["chrt", "-f", "50", *send], check=True, capture_output=True, text=True)
    rows = [json.loads(line) for line in watch.communicate(timeout=30)[0].splitlines()]
    return json.loads(sent.stdout), [row for row in rows if row["type"] == "burst"]


def measure(program: str, senders: int, ms: float) -> None:
    packets = round(RATE_MBIT * 1e3 / 8 * ms / PACKET)
    if packets < senders:
        return
    bin_us = 100 if ms < 2 else 1000
    bin_s = bin_us / 1e6
    limit(RATE_MBIT * 1e3)
    began, bursts = watched(program, senders, packets, bin_us)
    own = [(at, [one for one in bursts if at - 2 * bin_s <= one["start_s"] < at + PERIOD_S - 2 * bin_s]) for at in began]
    whole = [(at, found[0]) for at, found in own if len(found) == 1]
    figures = (
        sum(1 for _, found in own if found),
        len(whole),
        sum(1 for _, one in whole if one["fan_in"] == senders),
        sum(1 for at, one in whole if abs(one["start_s"] - at) <= 2 * bin_s),
        sum(1 for _, one in whole if abs(one["duration_ms"] - ms) <= 1.001e3 * bin_s),
    )
    limit(RATE_MBIT * 1e3 * ms / 1e3 / PERIOD_S)
    _, calm = watched(program, senders, packets, bin_us)
    print("|", " | ".join(map(str, (senders, ms, packets, *figures, len(calm)))), "|", flush=True)


def main() -> None:
    root = pathlib.Path(__file__).resolve().parent.parent
    program = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else root / "target/release/fanin-kernel")
    if os.geteuid():
        sys.exit("needs root, for network namespaces")
    sink = None
    try:
        for namespace in (RECEIVER, SENDER):
            ip(f"netns add {namespace}")
        ip(f"link add vr netns {RECEIVER} type veth peer name vs netns {SENDER}")
        ip(f"-n {RECEIVER} addr add 10.77.0.1/24 dev vr")
        ip(f"-n {SENDER} addr add 10.77.0.2/24 dev vs")
        ip(f"-n {RECEIVER} link set vr up")
        ip(f"-n {SENDER} link set vs up")
        listen = "import socket, time; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('10.77.0.1', 9)); time.sleep(3600)"
        sink = subprocess.Popen(inside(RECEIVER, sys.executable, "-c", listen))
        print("| senders | ms | packets | found | whole | exact fan-in | start | duration | calm |\n" + "| ---: " * 9 + "|", flush=True)
        for senders in SENDERS:
            for ms in BURSTS_MS:
                measure(program, senders, ms)
    finally:
        if sink:
            sink.kill()
            sink.wait()
        for namespace in (RECEIVER, SENDER):
            subprocess.run(["ip", "netns", "del", namespace], check=False)


if __name__ == "__main__":
    main()
