#!/usr/bin/env python3
"""Rounds of small and large responses on this machine's kernel, with granted windows off and on in turn: namespaces, a router's port to the client
that is shaped to RATE_MBIT, and a server with many addresses. Needs root, BPF, and a built fanin-kernel (FANIN_KERNEL: its path).

    grants_pairs.py [--senders 4,12] [--sizes 2000,12000] [--buffers 65536] [--pairs 4] [--rounds 60] [--new] [--delayed-acks]

Each row: medians of the mean and the 99th percentile of a round, without and with grants, the median and range of the pairs' ratios, and the
server's window probes, timeouts and repeated segments, without and with grants.
"""

import argparse
import json
import os
import pathlib
import selectors
import socket
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
RATE_MBIT = 200
ADDRESSES = 16
PORT = 7000
KERNEL = os.environ.get("FANIN_KERNEL", str(ROOT / "target/release/fanin-kernel"))


def run(command):
    done = subprocess.run(command.split(), capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{command}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


class Network:
    """Client, router and server in namespaces of their own, with `buffer` bytes at the router's port to the client."""

    def __init__(self, buffer, quickack):
        self.names = [f"gp{os.getpid()}{end}" for end in "crs"]
        client, router, server = self.names
        for name in self.names:
            run(f"ip netns add {name}")
        run(f"ip link add ca netns {client} type veth peer name rc netns {router}")
        run(f"ip link add sa netns {server} type veth peer name rs netns {router}")
        for name, address, device in [(client, "10.78.1.2/24", "ca"), (router, "10.78.1.1/24", "rc"),
                                      (router, "10.78.2.1/24", "rs"), (server, "10.78.2.2/24", "sa")]:
            run(f"ip -n {name} addr add {address} dev {device}")
        for number in range(ADDRESSES):
            run(f"ip -n {server} addr add 10.78.2.{10 + number}/24 dev sa")
        for name, device in [(client, "lo"), (client, "ca"), (router, "rc"), (router, "rs"), (server, "lo"), (server, "sa")]:
            run(f"ip -n {name} link set {device} up")
        run(f"ip -n {client} route add 10.78.2.0/24 via 10.78.1.1 {'quickack 1' if quickack else ''}")
        run(f"ip -n {server} route add default via 10.78.2.1")
        run(f"ip netns exec {router} sysctl -qw net.ipv4.ip_forward=1")
        run(f"ip netns exec {server} sysctl -qw net.ipv4.tcp_no_metrics_save=1")
        run(f"ip netns exec {client} sysctl -qw net.ipv4.tcp_tw_reuse=1")
        run(f"ip netns exec {router} tc qdisc add dev rc root handle 1: htb default 1")
        run(f"ip netns exec {router} tc class add dev rc parent 1: classid 1:1 htb rate {RATE_MBIT}mbit burst 3k cburst 3k")
        run(f"ip netns exec {router} tc qdisc add dev rc parent 1:1 bfifo limit {buffer}")
        for name, devices in [(client, ["ca"]), (router, ["rc", "rs"]), (server, ["sa"])]:
            for device in devices:
                run(f"ip netns exec {name} ethtool -K {device} tso off gso off gro off")

    def remove(self):
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)

    def start(self, name, *arguments, **options):
        return subprocess.Popen(["ip", "netns", "exec", name, sys.executable, __file__, *arguments], text=True, **options)


def serve():
    """Answers each request of four bytes by as many bytes as it says."""
    ready = selectors.DefaultSelector()
    listener = socket.create_server(("0.0.0.0", PORT), backlog=4096)
    listener.setblocking(False)
    ready.register(listener, selectors.EVENT_READ)
    print("up", flush=True)
    left = {}
    zeros = bytes(1 << 20)
    while True:
        for key, events in ready.select():
            one = key.fileobj
            if one is listener:
                one, _ = listener.accept()
                one.setblocking(False)
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                ready.register(one, selectors.EVENT_READ)
                left[one] = 0
                continue
            try:
                if events & selectors.EVENT_READ:
                    request = one.recv(4)
                    if not request:
                        raise ConnectionError
                    left[one] += int.from_bytes(request, "big")
                if left[one]:
                    left[one] -= one.send(zeros[:left[one]])
            except BlockingIOError:
                pass
            except OSError:
                ready.unregister(one)
                one.close()
                del left[one]
                continue
            ready.modify(one, selectors.EVENT_READ | (selectors.EVENT_WRITE if left[one] else 0))


def connect(number):
    one = socket.socket()
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    one.connect((f"10.78.2.{10 + number % ADDRESSES}", PORT))
    return one


def exchange(connections, size):
    """Requests from all, and waits for all responses."""
    ready = selectors.DefaultSelector()
    left = dict.fromkeys(connections, size)
    for one in connections:
        one.sendall(size.to_bytes(4, "big"))
        ready.register(one, selectors.EVENT_READ)
    while left:
        for key, _ in ready.select():
            one = key.fileobj
            left[one] -= len(one.recv(1 << 20))
            if not left[one]:
                del left[one]
                ready.unregister(one)


def ask(senders, size, rounds, new):
    """Times of rounds, ms."""
    connections = [] if new else [connect(number) for number in range(senders)]
    if not new:
        exchange(connections, 2000)
    times = []
    for _ in range(rounds):
        began = time.monotonic()
        if new:
            connections = [connect(number) for number in range(senders)]
        exchange(connections, size)
        times.append((time.monotonic() - began) * 1e3)
        if new:
            for one in connections:
                one.close()
        time.sleep(0.005)
    for one in connections:
        one.close()
    return times


def counters():
    """Window probes, timeouts and repeated segments of this namespace's TCP."""
    found = {}
    for file, prefix in [("netstat", "TcpExt:"), ("snmp", "Tcp:")]:
        lines = [line.split() for line in pathlib.Path(f"/proc/net/{file}").read_text().splitlines() if line.startswith(prefix)]
        found.update(zip(*lines))
    return [int(found[name]) for name in ("TCPWinProbe", "TCPTimeouts", "RetransSegs")]


def client(options):
    subprocess.run(["mount", "-t", "bpf", "bpf", "/sys/fs/bpf"], capture_output=True)
    load = [KERNEL, "load", "grants", "--device", "ca", "--queue", str(options["buffer"] // 2), "--rate-mbit", str(RATE_MBIT)]
    load += ["--turn", "1"] if options["quickack"] else []
    rows = []
    for pair in range(options["pairs"]):
        for on in ([False, True] if pair % 2 == 0 else [True, False]):
            if on:
                done = subprocess.run(load, capture_output=True, text=True)
                if done.returncode:
                    sys.exit(done.stderr)
            before = counters_of_server(options["server"])
            times = ask(options["senders"], options["size"], options["rounds"], options["new"])
            after = counters_of_server(options["server"])
            row = {"pair": pair, "on": on, "times": times, "counters": [late - early for early, late in zip(before, after)]}
            if on:
                status = subprocess.run([KERNEL, "status", "--json"], capture_output=True, text=True)
                row["counted"] = json.loads(status.stdout)[-1]["counted"] if status.stdout.startswith("[{") or "counted" in status.stdout else None
                subprocess.run([KERNEL, "unload", "grants"], capture_output=True, check=True)
            rows.append(row)
    print(json.dumps(rows))


def counters_of_server(name):
    command = ["nsenter", f"--net=/run/netns/{name}", sys.executable, __file__, "counters"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def p99(times):
    return sorted(times)[int(0.99 * (len(times) - 1))]


def measure(senders, size, buffer, given):
    network = Network(buffer, not given.delayed_acks)
    server = None
    try:
        server = network.start(network.names[2], "serve", stdout=subprocess.PIPE)
        server.stdout.readline()
        options = {"senders": senders, "size": size, "rounds": given.rounds, "new": given.new, "pairs": given.pairs, "buffer": buffer,
                   "quickack": not given.delayed_acks, "server": network.names[2]}
        one = network.start(network.names[0], "client", json.dumps(options), stdout=subprocess.PIPE)
        out, _ = one.communicate(timeout=3600)
        return json.loads(out)
    finally:
        if server:
            server.kill()
            server.wait()
        network.remove()


def report(senders, size, buffer, given, rows):
    off, on = ({row["pair"]: row for row in rows if row["on"] == state} for state in (False, True))
    text = f"{senders:4} x {size:7}  {buffer // 1024:5} KiB"
    for name, figure in [("mean", statistics.mean), ("p99", p99)]:
        values = [(figure(off[pair]["times"]), figure(on[pair]["times"])) for pair in sorted(off)]
        ratios = [with_grants / without for without, with_grants in values]
        text += f"  {name} {statistics.median(v[0] for v in values):8.2f} {statistics.median(v[1] for v in values):8.2f} ms"
        text += f" {statistics.median(ratios):5.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
    sums = [" ".join(str(sum(row["counters"][place] for row in part.values())) for part in (off, on)) for place in range(3)]
    print(f"{text}  probes {sums[0]}, timeouts {sums[1]}, resent {sums[2]}", flush=True)
    if given.json:
        with open(given.json, "a") as file:
            file.write(json.dumps({"senders": senders, "size": size, "buffer": buffer, "new": given.new, "rows": rows}) + "\n")


def main():
    if sys.argv[1:] == ["serve"]:
        return serve()
    if sys.argv[1:] == ["counters"]:
        return print(json.dumps(counters()))
    if sys.argv[1:2] == ["client"]:
        return client(json.loads(sys.argv[2]))
    numbers = lambda text: [int(part) for part in text.split(",")]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--senders", type=numbers, default=[4, 12])
    parser.add_argument("--sizes", type=numbers, default=[2000, 12000, 32768])
    parser.add_argument("--buffers", type=numbers, default=[65536])
    parser.add_argument("--pairs", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--new", action="store_true", help="a new connection for each response")
    parser.add_argument("--delayed-acks", action="store_true", help="without quickack, and with turns of two segments")
    parser.add_argument("--json", help="append all times to this file")
    given = parser.parse_args()
    for buffer in given.buffers:
        for senders in given.senders:
            for size in given.sizes:
                report(senders, size, buffer, given, measure(senders, size, buffer, given))


if __name__ == "__main__":
    main()
