"""Namespaces of the network, a shaped switch port, limiters and tables for measurements of limiters.

Three namespaces, made here and removed again: servers, a switch whose port to the client is shaped (tbf), and the client. Limiters: none, fixed
numbers, Netflix's Gradient2, a fixed budget of bytes (three quarters of the buffer), and fanin's `ictcp-window` and `sw`.
"""

import argparse
import contextlib
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FANIN = os.environ.get("FANIN", ROOT / "target" / "release" / "fanin")
SPACES = [SERVERS, SWITCH, CLIENT] = ["limit-servers", "limit-switch", "limit-client"]
FIRST, ADDRESS = 24000, "10.93.1.1"
FIXED = [1, 2, 4, 8, 16, 32]


def run(*command):
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)


def delete_spaces():
    for space in SPACES:
        subprocess.run(["ip", "netns", "del", space], stderr=subprocess.DEVNULL)


@contextlib.contextmanager
def network():
    """The three namespaces and their links."""
    delete_spaces()
    try:
        for space in SPACES:
            run("ip", "netns", "add", space)
            run("ip", "-n", space, "link", "set", "lo", "up")
            run("ip", "netns", "exec", space, "sysctl", "-qw", "net.ipv4.tcp_no_metrics_save=1", "net.ipv4.ip_forward=1")
        for space, device, address, port, gateway in (
            (SERVERS, "s0", ADDRESS, "p0", "10.93.1.254"),
            (CLIENT, "c0", "10.93.2.2", "p1", "10.93.2.254"),
        ):
            run("ip", "-n", space, "link", "add", device, "type", "veth", "peer", "name", port, "netns", SWITCH)
            for own, end, ip in ((space, device, address), (SWITCH, port, gateway)):
                run("ip", "-n", own, "addr", "add", f"{ip}/24", "dev", end)
                run("ip", "netns", "exec", own, "ethtool", "-K", end, "tso", "off", "gso", "off", "gro", "off")
                run("ip", "-n", own, "link", "set", end, "gso_max_segs", "1", "up")
            run("ip", "-n", space, "route", "add", "default", "via", gateway, "congctl", "cubic")
        yield
    finally:
        delete_spaces()


def shape(rate, buffer):
    """The switch's port to the client."""
    limits = ["rate", f"{rate}mbit", "burst", "3028", "limit", buffer]
    run("ip", "netns", "exec", SWITCH, "tc", "qdisc", "replace", "dev", "p1", "root", "tbf", *limits)


def timeouts():
    """Retransmission timeouts of the servers so far."""
    lines = subprocess.run(["ip", "netns", "exec", SERVERS, "cat", "/proc/net/netstat"], capture_output=True, text=True, check=True).stdout
    names, values = [line.split()[1:] for line in lines.splitlines() if line.startswith("TcpExt:")]
    return int(dict(zip(names, values, strict=True))["TCPTimeouts"])


def wait_for_servers(count):
    """Until as many ports are open."""
    for _ in range(200):
        found = subprocess.run(["ip", "netns", "exec", SERVERS, "ss", "-Hltn"], capture_output=True, text=True).stdout
        if len(found.splitlines()) >= count:
            return
        time.sleep(0.05)
    sys.exit(f"the {count} servers have not opened their ports after 10 s")


def measure(program, limiter, fan_in, asked, *more):
    before = timeouts()
    command = ["ip", "netns", "exec", CLIENT, *program, "-limiter", limiter, "-host", ADDRESS, "-first", FIRST, "-servers", fan_in]
    command += ["-seconds", asked.seconds, "-rounds", asked.rounds, *more]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    result = json.loads(done.stdout)
    result["timeouts"] = (timeouts() - before) / (result["rounds"] + 5)
    return result


def limiters(buffer, asked):
    """Names of limiters, the option of the client, and the scheme and budget in a scenario."""
    link = f"{asked.rate} Mbit/s"
    yield "no limiter", "none", "one-all", None
    for number in FIXED:
        yield f"fixed {number}", f"fixed:{number}", None, None
    yield "Netflix's Gradient2", "gradient", None, None
    # Headers and the packets of requests take buffer, too.
    budget = f"{buffer * 3 // 4} B"
    yield "`one-all` with a budget", json.dumps({"law": "one-all", "budget": budget}), "one-all", budget
    yield "`sw`, late 50 ms", json.dumps({"law": "sw", "sliding_window": {"late": "50 ms"}}), "sw", None
    yield "`ictcp-window`", json.dumps({"law": "ictcp-window", "link": link}), "ictcp-window", None
    yield "`ictcp-window` with a budget", json.dumps({"law": "ictcp-window", "link": link, "budget": budget}), "ictcp-window", budget


def predicted(scheme, budget, fan_in, buffer, objects, size, asked):
    """p50 and p99 in ms of requests for as many objects of this size from all servers, in the simulator."""
    text = f"""
schemes = ["cubic+{scheme}"]
[link]
rate = "10 Gbit/s"
client_rate = "{asked.rate} Mbit/s"
framing = "14 B"
delay = "10 us"
[switch]
buffer = "{buffer} B"
[host]
service_time = "20 us"
service_jitter = "50 us"
[tcp]
profile = "linux"
[sliding_window]
late = "50 ms"
[workload]
kind = "key_value"
queries = 60
connections = "standing"
duration = "100 s"
bytes_in_flight = "{budget or "none"}"
[key_value]
objects = {objects}
replicas = 1
least = "{size} B"
most = "{size} B"
per_request = {objects}
server = "fifo"
windows = "kept"
[sweep]
fan_in = [{fan_in}]
[run]
seeds = 3
"""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "limit.toml"
        file.write_text(text)
        done = subprocess.run([FANIN, "compare", file, "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    (row,) = json.loads(done.stdout)["rows"]
    return row["qct_ms"]["p50"], row["qct_ms"]["p99"]


def table(program, fan_in, buffer, asked, objects, size, *more, own=()):
    """Measure and predict each limiter, and the client's own ones. A round has this many objects, and these bytes each on the wire."""
    shape(asked.rate, buffer)
    took = objects * size * 8 / asked.rate / 1e3
    print(f"\n### {fan_in} servers, {buffer >> 10} KiB of buffer: {took:.1f} ms of the link\n")
    print("| limiter | p50, ms | p99, ms | timeouts a round | goodput, Mbit/s | predicted p50, p99, ms |")
    print("| --- | --- | --- | --- | --- | --- |", flush=True)
    for name, given, scheme, budget in [*limiters(buffer, asked), *own]:
        if name.startswith("fixed") and int(name.split()[1]) > fan_in:
            continue
        found = measure(program, given, fan_in, asked, *more)
        told = ""
        if scheme and not asked.no_prediction:
            told = "{:.1f}, {:.1f}".format(*predicted(scheme, budget, fan_in, buffer, objects, size, asked))
        numbers = f"{found['p50_ms']:.1f} | {found['p99_ms']:.1f} | {found['timeouts']:.2f} | {found['goodput_mbps']:.0f}"
        print(f"| {name} | {numbers} | {told} |", flush=True)


def numbers(text):
    return [int(word) for word in text.split(",")]


def options(description):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fan-in", type=numbers, default=[8, 32, 128])
    parser.add_argument("--buffer", type=numbers, default=[64, 256], help="KiB")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rounds", type=int, default=40, help="minimum number of rounds")
    parser.add_argument("--rate", type=int, default=200, help="Mbit/s")
    parser.add_argument("--no-prediction", action="store_true")
    return parser


def skip_without(*programs, modules=()):
    """End with a reason if a program, a module or root is missing."""
    lacking = [name for name in ("ip", "ethtool", *programs) if not shutil.which(name)]
    lacking += [name for name in modules if not importlib.util.find_spec(name)]
    if os.geteuid() != 0 or lacking:
        print(f"skipped: namespaces of the network need root; missing: {', '.join(lacking) or 'none'}")
        sys.exit()


def client_options(*more):
    """Options of a client in Python: those of bench/limit/client, and more numbers."""
    parser = argparse.ArgumentParser()
    for name, kind in (("limiter", str), ("host", str), ("first", int), ("servers", int), ("seconds", float), ("rounds", int)):
        parser.add_argument(f"-{name}", type=kind)
    for name in more:
        parser.add_argument(f"-{name}", type=int)
    return parser.parse_args(sys.argv[2:])


class Rounds:
    """Times of a client's rounds, which it prints as bench/limit/client does."""

    def __init__(self, asked):
        self.asked, self.begun, self.times, self.bytes, self.skipped = asked, 0, [], 0, 0

    def go_on(self):
        """Whether there is another round."""
        return time.monotonic() - self.begun < self.asked.seconds or len(self.times) < self.asked.rounds

    def add(self, seconds, size):
        """Record a round. Connections are opened, and limiters have learnt, before the first round that counts."""
        if self.skipped < 5:
            self.skipped, self.begun = self.skipped + 1, time.monotonic()
            return
        self.times.append(seconds * 1e3)
        self.bytes += size

    def print(self):
        times = sorted(self.times)
        found = {"rounds": len(times), "p50_ms": times[len(times) // 2], "p99_ms": times[len(times) * 99 // 100]}
        print(json.dumps({**found, "goodput_mbps": self.bytes * 8 / sum(times) / 1e3}))


@contextlib.contextmanager
def client(*programs):
    """The network, and the client's program."""
    skip_without("go", *programs)
    with tempfile.TemporaryDirectory() as folder, network():
        program = pathlib.Path(folder) / "client"
        subprocess.run(["go", "build", "-o", program, "."], cwd=ROOT / "bench" / "limit" / "client", check=True)
        yield [program]
