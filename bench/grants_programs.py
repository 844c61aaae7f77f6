#!/usr/bin/env python3
"""Programs as they are under granted windows: memcached, nginx and iperf3 in network namespaces, without grants and with them.

The client's port has RATE and a buffer of 64 KiB; senders are behind one link without a limit, and a route has `quickack 1`.

- memcached: a multiget of 1,000 keys of 4 KiB from 16 servers;
- http: 64 GETs of 64 KiB at once, over new connections, from nginx;
- shuffle: 8 transfers of 4 MiB over 8 connections each, by iperf3;
- lone flow: one connection of iperf3 for 5 s.

Requires no timeout with grants, at most as many as without, and 97 % of the lone flow's rate. Needs root, iproute2 (with nstat), memcached,
nginx, iperf3, and `fanin-kernel`.

    grants_programs.py [--rate-mbit N] [--seconds N]
"""

import argparse
import json
import os
import pathlib
import re
import selectors
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = os.environ.get("FANIN_KERNEL", str(ROOT / "target/release/fanin-kernel"))
SENDER, CLIENT = "10.77.1.1", "10.77.2.1"
SERVERS, KEYS, VALUE, GETS = 16, 1_000, 4_096, 64
NAMES = {name: f"fanin-{os.getpid()}-{name}" for name in ("senders", "router", "client")}
NETWORK = """set -e
for n in {senders} {router} {client}; do ip netns add $n; ip -n $n link set lo up; done
ip link add name s0 netns {senders} type veth peer name rs netns {router}
ip link add name c0 netns {client} type veth peer name rc netns {router}
ip -n {senders} addr add 10.77.1.1/24 dev s0; ip -n {router} addr add 10.77.1.254/24 dev rs
ip -n {client} addr add 10.77.2.1/24 dev c0; ip -n {router} addr add 10.77.2.254/24 dev rc
for at in {senders}:s0 {router}:rs {router}:rc {client}:c0; do ip -n ${{at%:*}} link set ${{at#*:}} gso_max_segs 1 up; done
ip -n {senders} route add default via 10.77.1.254; ip -n {client} route add default via 10.77.2.254 quickack 1
ip netns exec {router} sysctl -qw net.ipv4.ip_forward=1
ip netns exec {router} tc qdisc add dev rc root handle 1: htb default 1
ip netns exec {router} tc class add dev rc parent 1: classid 1:1 htb rate {rate}mbit burst 1600 cburst 1600 quantum 1514
ip netns exec {router} tc qdisc add dev rc parent 1:1 handle 10: bfifo limit 65536"""
NGINX = """daemon off; pid {folder}/pid; error_log /dev/null; worker_processes 1; events {{ worker_connections 1024; }}
http {{ access_log off; sendfile on; client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e; server {{ listen {sender}:8080 backlog=1024; root {folder}; }} }}"""


def inside(name, *command, **options):
    return subprocess.run(["ip", "netns", "exec", NAMES[name], *command], stdout=subprocess.PIPE, text=True, **options)


def kernel(*arguments):
    done = subprocess.run(["nsenter", f"--net=/run/netns/{NAMES['client']}", PROGRAM, *arguments], stdout=subprocess.PIPE, text=True)
    return done.stdout


def counters():
    rows = [line.split() for line in inside("senders", "nstat", "-asz").stdout.splitlines() if not line.startswith("#")]
    counts = {row[0]: int(row[1]) for row in rows}
    drops = re.findall(r"dropped (\d+)", inside("router", "tc", "-s", "qdisc", "show", "dev", "rc").stdout)
    return {"timeouts": counts["TcpExtTCPTimeouts"], "sent again": counts["TcpRetransSegs"], "drops": int(drops[-1])}


def collect(streams, is_done):
    """Reads all streams until each is done, which its last bytes or its end say."""
    with selectors.DefaultSelector() as waiting:
        last = {stream: b"" for stream in streams}
        for stream in streams:
            waiting.register(stream, selectors.EVENT_READ)
        while waiting.get_map():
            for key, _ in waiting.select(60):
                data = key.fileobj.recv(1 << 18)
                last[key.fileobj] = (last[key.fileobj] + data)[-5:]
                if is_done(data, last[key.fileobj]):
                    waiting.unregister(key.fileobj)


def multigets(seconds):
    streams = [socket.create_connection((SENDER, 12_000 + server)) for server in range(SERVERS)]
    for stream in streams:
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for key in range(KEYS):
        stream = streams[key % SERVERS]
        stream.sendall(b"set k%d 0 0 %d\r\n" % (key, VALUE) + b"v" * VALUE + b"\r\n")
        if stream.recv(64) != b"STORED\r\n":
            sys.exit("memcached stored nothing")
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        began = time.monotonic()
        for server, stream in enumerate(streams):
            stream.sendall(b"get " + b" ".join(b"k%d" % key for key in range(server, KEYS, SERVERS)) + b"\r\n")
        collect(streams, lambda _, last: last == b"END\r\n")
        print(time.monotonic() - began)


def gets(seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        began, streams = time.monotonic(), []
        for _ in range(GETS):
            streams.append(socket.create_connection((SENDER, 8080)))
            streams[-1].sendall(b"GET /file HTTP/1.0\r\n\r\n")
        collect(streams, lambda data, _: not data)
        for stream in streams:
            stream.close()
        print(time.monotonic() - began)


def requests(kind, seconds):
    done = inside("client", sys.executable, __file__, "--requests", kind, "--seconds", str(seconds), check=True)
    return [float(line) for line in done.stdout.split()]


def shuffle(_):
    began = time.monotonic()
    command = ["ip", "netns", "exec", NAMES["client"], "iperf3", "-c", SENDER, "-R", "-n", "4M", "-P", "8", "-p"]
    transfers = [subprocess.Popen([*command, str(5_300 + k)], stdout=subprocess.DEVNULL) for k in range(8)]
    if any(transfer.wait() for transfer in transfers):
        sys.exit("a transfer failed")
    return [time.monotonic() - began]


def lone_flow():
    done = inside("client", "iperf3", "-c", SENDER, "-p", "5300", "-R", "-t", "5", "-J", check=True)
    return json.loads(done.stdout)["end"]["sum_received"]["bits_per_second"] / 1e6


def start(folder):
    (folder / "file").write_bytes(b"x" * 65_536)
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, sender=SENDER))
    folder.chmod(0o755)
    commands = [["memcached", "-u", "nobody", "-t", "1", "-U", "0", "-l", SENDER, "-p", str(12_000 + k)] for k in range(SERVERS)]
    commands += [["nginx", "-c", str(folder / "nginx.conf")]]
    commands += [["iperf3", "-s", "-p", str(5_300 + k)] for k in range(8)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return [subprocess.Popen(["ip", "netns", "exec", NAMES["senders"], *command], **quiet) for command in commands]


def measure(options):
    kinds = {"memcached": lambda s: requests("memcached", s), "http": lambda s: requests("http", s), "shuffle": shuffle}
    found, flows = {}, {}
    for mode in ("without", "grants"):
        if mode == "grants":
            print(kernel("load", "grants", "--device", "c0", "--rate-mbit", str(options.rate_mbit), "--turn", "1").splitlines()[0])
        for kind, run in kinds.items():
            before = counters()
            times, after = sorted(run(options.seconds)), counters()
            grown = {name: after[name] - before[name] for name in after}
            found[mode, kind] = grown["timeouts"]
            print(f"{kind:10} {mode:8} {len(times):4} rounds, median {times[len(times) // 2] * 1e3:7.1f} ms, longest {times[-1] * 1e3:7.1f} ms; "
                  + ", ".join(f"{name} {count}" for name, count in grown.items()), flush=True)
        flows[mode] = lone_flow()
        print(f"lone flow  {mode:8} {flows[mode]:.1f} Mbit/s", flush=True)
    print(kernel("status"), end="")
    wrong = [f"{kind}: {count} timeouts with grants" for (mode, kind), count in found.items() if mode == "grants" and count]
    return wrong + (["the lone flow lost more than 3 %"] if flows["grants"] < 0.97 * flows["without"] else [])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate-mbit", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--requests", choices=["memcached", "http"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.requests:
        return {"memcached": multigets, "http": gets}[options.requests](options.seconds)
    if os.geteuid():
        sys.exit("grants_programs: namespaces need root")
    servers = []
    try:
        subprocess.run(["sh", "-c", NETWORK.format(rate=options.rate_mbit, **NAMES)], check=True)
        with tempfile.TemporaryDirectory() as folder:
            servers = start(pathlib.Path(folder))
            time.sleep(1)
            wrong = measure(options)
    finally:
        kernel("unload", "grants")
        for server in servers:
            server.terminate()
            server.wait()
        for name in NAMES.values():
            subprocess.run(["ip", "netns", "del", name], check=False)
    print("\n".join(wrong) or "no timeout with grants")
    return sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
