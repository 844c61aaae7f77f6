#!/usr/bin/env python3
"""Concurrency limits of `fanin front`, in front of 32 memcacheds behind a port of 200 Mbit/s with 64 KiB, compared with `fanin compare`.

Two namespaces of the network, made here and removed again: one with the servers, whose way out is shaped, one with the front end and its client;
CUBIC at both ends, no offloads. The client asks for 300 keys at once, again and again. Prints for every window the median and the 99th percentile
of a multiget, the prediction, and their ratio. Exit 1 where a median is more than a quarter off. Needs root; without, it is skipped. With --incast, the front end predicts, too: its own prediction is printed, and its limit holds.

    windows.py [--seconds S] [--windows kept,anew] [--keys N] [--value BYTES] [--link RATE] [--incast]

FANIN names the binary.
"""

import argparse
import contextlib
import json
import os
import pathlib
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from stands import FANIN

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "linux"))

from linux_setup import port

SERVERS = 32
OBJECTS = 10_000
LAWS = ["one-all", "sliding-window", "ictcp-window"]
PORT_MBPS = 200
# Bytes of the port's queue, which has the packet in transmission, too; that is one frame.
BUFFER, FRAME = 64 << 10, 1514
FIRST = 24000
AT_SERVERS, AT_CLIENT = "10.93.0.1", "10.93.0.2"
SPACES = {"servers": "fanin-servers", "client": "fanin-client"}


def run(*command):
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)


def inside(space, *command, **more):
    return subprocess.Popen(["ip", "netns", "exec", SPACES[space], *map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)


@contextlib.contextmanager
def network(asked):
    """Both namespaces, and the link between them."""
    for space in SPACES.values():
        subprocess.run(["ip", "netns", "del", space], stderr=subprocess.DEVNULL)
    try:
        for space in SPACES.values():
            run("ip", "netns", "add", space)
            run("ip", "-n", space, "link", "set", "lo", "up")
            run("ip", "netns", "exec", space, "sysctl", "-qw", "net.ipv4.tcp_no_metrics_save=1")
        run("ip", "-n", SPACES["servers"], "link", "add", "s0", "type", "veth", "peer", "name", "c0", "netns", SPACES["client"])
        for space, device, address in (("servers", "s0", AT_SERVERS), ("client", "c0", AT_CLIENT)):
            run("ip", "-n", SPACES[space], "addr", "add", f"{address}/24", "dev", device)
            run("ip", "netns", "exec", SPACES[space], "ethtool", "-K", device, "tso", "off", "gso", "off", "gro", "off")
            run("ip", "-n", SPACES[space], "link", "set", device, "gso_max_segs", "1", "up")
            # A namespace may not choose every law for itself; a route may.
            run("ip", "-n", SPACES[space], "route", "replace", "10.93.0.0/24", "dev", device, "src", address, "congctl", "cubic")
        # CUBIC here, and the port's queue, are the scenario's; a law over servers has no part in them.
        lines = "\n".join(port_lines(asked)) + "\n"
        subprocess.run(["ip", "netns", "exec", SPACES["servers"], "tc", "-batch", "-"], input=lines, text=True, check=True)
        yield
    finally:
        for space in SPACES.values():
            subprocess.run(["ip", "netns", "del", space], stderr=subprocess.DEVNULL)


@contextlib.contextmanager
def running(processes):
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


class Client:
    """Speaks to the front end from within the client's namespace."""

    def __init__(self, port):
        # A socket belongs to the namespace that its thread is in as it is made.
        own, there = (os.open(path, os.O_RDONLY) for path in ("/proc/self/ns/net", f"/var/run/netns/{SPACES['client']}"))
        enter(there)
        for _ in range(200):
            try:
                self.socket = socket.create_connection(("127.0.0.1", port), 5)
                break
            except OSError:
                time.sleep(0.05)
        enter(own)
        os.close(own), os.close(there)
        self.file = self.socket.makefile("rb", 1 << 20)

    def fill(self, size):
        for number in range(OBJECTS):
            self.socket.sendall(b"set key:%d 0 0 %d\r\n%s\r\n" % (number, size, b"x" * size))
            assert self.file.readline() == b"STORED\r\n"

    def get(self, keys):
        self.socket.sendall(b"get " + b" ".join(b"key:%d" % key for key in keys) + b"\r\n")
        while (line := self.file.readline()) != b"END\r\n":
            assert line.startswith(b"VALUE"), line
            self.file.read(int(line.split()[3]) + 2)

    def figures(self, word):
        """Lines of `stats` with a word."""
        self.socket.sendall(b"stats\r\n")
        lines = iter(lambda: self.file.readline().decode().strip(), "END")
        return [line for line in list(lines) if word in line]


def enter(namespace):
    import ctypes

    if ctypes.CDLL(None, use_errno=True).setns(namespace, 0):
        raise OSError(ctypes.get_errno(), "setns")


def measure(law, windows, asked, fill):
    """Times of multigets in milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder) / "front.toml"
        servers = ", ".join(f'"{AT_SERVERS}:{FIRST + number}"' for number in range(SERVERS))
        incast = f'incast = {{ buffer = "{BUFFER} B", rto_min = "200 ms" }}\n' if asked.incast else ""
        config.write_text(f'threads = 1\n[[pool]]\nlisten = "127.0.0.1:{FIRST - 1}"\ntimeout = "10 s"\nmultiget = "{law}"\nwindows = "{windows}"\n'
                          f'link = "{asked.link}"\n{incast}servers = [{servers}]\n')
        with running([inside("client", FANIN, "front", "--config", config)]):
            client = Client(FIRST - 1)
            if fill:
                client.fill(asked.value)
            chance, times, ends = random.Random(1), [], time.monotonic() + asked.seconds
            while time.monotonic() < ends or len(times) < 30:
                keys = chance.sample(range(OBJECTS), asked.keys)
                begun = time.monotonic()
                client.get(keys)
                times.append((time.monotonic() - begun) * 1e3)
            if asked.incast:
                print("\n".join(client.figures("incast")))
    return sorted(times)


@contextlib.contextmanager
def scenario(law, windows, asked):
    """The same as a scenario of fanin, in a file."""
    # A value's line and end come with it: `VALUE key:1234 0 560`, a newline behind both.
    answer = asked.value + 25
    text = f"""
schemes = ["cubic+{law}"]
[link]
rate = "10 Gbit/s"
client_rate = "{PORT_MBPS} Mbit/s"
framing = "14 B"
delay = "5 us"
[switch]
buffer = "{BUFFER - FRAME} B"
[host]
service_time = "20 us"
service_jitter = "50 us"
[tcp]
profile = "linux"
[workload]
kind = "key_value"
queries = 100
connections = "standing"
duration = "100 s"
[key_value]
objects = {OBJECTS}
replicas = 1
least = "{answer} B"
most = "{answer} B"
per_request = {asked.keys}
server = "fifo"
windows = "{windows}"
[sweep]
fan_in = [{SERVERS}]
[run]
seeds = 5
"""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "windows.toml"
        file.write_text(text)
        yield file


def port_lines(asked):
    """Lines of tc for the port to the client."""
    with scenario(LAWS[0], "anew", asked) as file:
        return port(file, f"cubic+{LAWS[0]}", SERVERS, "s0")


def predicted(law, windows, asked):
    """The same of the simulator: median and 99th percentile in milliseconds."""
    with scenario(law, windows, asked) as file:
        done = subprocess.run([FANIN, "compare", file, "--json"], check=True, capture_output=True, text=True)
    (row,) = json.loads(done.stdout)["rows"]
    return row["qct_ms"]["p50"], row["qct_ms"]["p99"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--windows", default="kept,anew")
    parser.add_argument("--keys", type=int, default=300)
    parser.add_argument("--value", type=int, default=560)
    parser.add_argument("--link", default=f"{PORT_MBPS} Mbit/s", help="what the front end is told of the link")
    parser.add_argument("--incast", action="store_true", help="let the front end predict, too")
    asked = parser.parse_args()
    if os.geteuid() != 0 or not shutil.which("ip"):
        print("skipped: namespaces of the network need root and iproute2")
        return
    missed = 0
    with network(asked), running([inside("servers", "memcached", "-u", "nobody", "-l", AT_SERVERS, "-p", FIRST + number, "-t", 1, "-m", 64, "-U", 0)
                             for number in range(SERVERS)]):
        time.sleep(1)
        for number, windows in enumerate(asked.windows.split(",")):
            for law in LAWS:
                times = measure(law, windows, asked, fill=number == 0 and law == LAWS[0])
                median, late = times[len(times) // 2], times[int(len(times) * 0.99)]
                told, told_late = predicted(law, windows, asked)
                missed += abs(median / told - 1) > 0.25
                print(f"{law}, {windows}: p50 {median:.1f} ms, p99 {late:.1f} ms of {len(times)}; predicted {told:.1f} and {told_late:.1f}; "
                      f"the median {median / told:.2f} of it", flush=True)
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
