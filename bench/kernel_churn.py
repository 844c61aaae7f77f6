#!/usr/bin/env python3
"""Loads, unloads, tries and kills `fanin-kernel` at random under traffic, and looks for remains.

In a network namespace and a mount namespace of its own, with its own bpffs and two cgroups: programs act on connections of one, and
connections of the other must not change. Grants are loaded at the loopback device, for new connections; the others' began before. Ends with 1 if the kernel's log has a new warning, a connection of the other cgroup was changed or
lost a segment, a request failed, or anything was left.

    kernel_churn.py [--minutes N] [--seed K] [--what gss|grants|both]
"""

import argparse
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = os.environ.get("FANIN_KERNEL", str(ROOT / "target/release/fanin-kernel"))
NAMES = pathlib.Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
BASES = ["reno", "cubic", "dctcp"]
GRANTS = "grants"
CHOICES = {"gss": BASES, "grants": [GRANTS], "both": [*BASES, GRANTS]}
HELD = ["newreno+gss", "cubic+gss", "dctcp+gss", "dctcp"]
HELD_GRANTS = ["--grants", "/proc/self/ns/net:lo:125000000:16384:10000000:1:1448"]
WARNINGS = re.compile(r"WARNING|BUG|Oops|Call Trace|refcount|use-after-free|general protection|lockdep|stall", re.IGNORECASE)
RESPONSE = 60_000


def log():
    return subprocess.run(["dmesg"], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()


def registered():
    return [name for name in NAMES.read_text().split() if name.startswith("fanin_")]


def unified():
    """Folder of cgroup v2."""
    for folder in map(pathlib.Path, ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"]):
        if (folder / "cgroup.controllers").exists():
            return folder
    sys.exit("kernel_churn: this machine has no cgroup v2")


def serve(cgroup):
    """A process in a cgroup that responds to each byte; its port."""
    reads, writes = os.pipe()
    number = os.fork()
    if number == 0:
        (cgroup / "cgroup.procs").write_text(str(os.getpid()))
        listener = socket.create_server(("127.0.0.1", 0), backlog=1_000)
        os.write(writes, str(listener.getsockname()[1]).encode())

        def respond(stream):
            try:
                while stream.recv(1):
                    stream.sendall(bytes(RESPONSE))
            except OSError:
                pass
            stream.close()

        while True:
            stream, _ = listener.accept()
            threading.Thread(target=respond, args=(stream,), daemon=True).start()
    os.close(writes)
    return number, int(os.read(reads, 16))


def ask(stream):
    stream.sendall(b"x")
    left = RESPONSE
    while left:
        got = len(stream.recv(left))
        if not got:
            raise OSError("the server closed the connection")
        left -= got


class Traffic:
    """Requests over new connections to the changed cgroup's server."""

    def __init__(self, port):
        self.port, self.done, self.requests, self.failures = port, False, 0, []
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        kept = [socket.create_connection(("127.0.0.1", self.port)) for _ in range(4)]
        while not self.done:
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=10) as stream:
                    ask(stream)
                for stream in kept:
                    ask(stream)
                self.requests += 1 + len(kept)
            except OSError as error:
                self.failures.append(str(error))
            # Some connections live long, and some end.
            place = self.requests % len(kept)
            if self.requests % 7 == 0:
                kept[place].close()
                kept[place] = socket.create_connection(("127.0.0.1", self.port))
            time.sleep(0.01)


class Others:
    """Connections whose servers are in the cgroup that nobody selects: two, with equal requests."""

    def __init__(self, port):
        self.streams = [socket.create_connection(("127.0.0.1", port)) for _ in range(2)]
        self.port = port
        self.before = self.control()

    def control(self):
        """Congestion controls and retransmits of the server's ends."""
        text = subprocess.run(["ss", "-tinH", "state", "established", "src", f"127.0.0.1:{self.port}"], stdout=subprocess.PIPE, text=True).stdout
        rows = [line for line in text.splitlines() if "cwnd:" in line]
        return [(line.split()[0], "retrans:" in line, re.search(r"bytes_acked:(\d+)", line), re.search(r"data_segs_out:(\d+)", line))
                for line in rows]

    def counts(self):
        return [(row[0], row[1], *(match.group(1) if match else None for match in row[2:])) for row in self.control()]

    def ask(self):
        for stream in self.streams:
            ask(stream)

    def changes(self):
        """Changes of these connections."""
        now = self.control()
        if len(now) != 2:
            return [f"{len(now)} connections of others instead of 2"]
        wrong = [f"others: {was[0]} became {row[0]}" for was, row in zip(self.before, now) if was[0] != row[0]]
        wrong += ["others: a retransmit" for row in now if row[1]]
        counts = [[match.group(1) if match else "0" for match in row[2:]] for row in now]
        wrong += [f"others: counters {counts} differ"] if counts[0][0] != counts[1][0] else []
        return wrong


def act(chance, cgroup, bases):
    """One random act; its name."""
    base = chance.choice(bases)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    act = chance.choice(["load", "select", "canary", "kill", "interrupt", "hold"])
    load = [PROGRAM, "load", "gss", "--over", base]
    if base == GRANTS:
        load = [PROGRAM, "load", "grants", "--device", "lo", "--rate-mbit", "1000"]
    canary = [*load, "--canary", f"cgroup={cgroup}", "--for", "2s", "--keep-when-worse"]
    if act in ("load", "select"):
        select = ["--cgroup", str(cgroup)] if act == "select" else []
        subprocess.run([*load, *select], check=True, **quiet)
        time.sleep(chance.uniform(0, 1))
        subprocess.run([PROGRAM, "unload"], check=True, **quiet)
    elif act == "canary":
        subprocess.run(canary, check=False, **quiet)
    elif act == "hold":
        held = HELD_GRANTS if base == GRANTS else HELD
        child = subprocess.Popen([PROGRAM, "hold", *held], stdin=subprocess.PIPE, **quiet)
        time.sleep(chance.uniform(0, 1))
        child.stdin.close()
        child.wait()
    else:
        child = subprocess.Popen(canary, **quiet)
        time.sleep(chance.uniform(0, 1.5))
        child.send_signal(signal.SIGKILL if act == "kill" else signal.SIGTERM)
        child.wait()
    return f"{act} {base}"


def left(what):
    """Remains of an act, after the kernel had time. Congestion controls belong to the whole kernel, so that other programs may have some."""
    names = registered if what != GRANTS else list
    for _ in range(100):
        if not names():
            break
        time.sleep(0.02)
    pins = [str(path) for path in pathlib.Path("/sys/fs/bpf/fanin").rglob("*")]
    return [f"left: {name}" for name in [*names(), *pins]]


def churn(options, cgroups):
    chance, began, acts, wrong = random.Random(options.seed), time.monotonic(), {}, []
    old = set(log())
    servers = [serve(cgroup) for cgroup in cgroups]
    try:
        traffic, others = Traffic(servers[0][1]), Others(servers[1][1])
        while time.monotonic() - began < options.minutes * 60 and not wrong:
            name = act(chance, cgroups[0], CHOICES[options.what])
            acts[name] = acts.get(name, 0) + 1
            others.ask()
            wrong = left(options.what) + others.changes() + [f"a request failed: {why}" for why in traffic.failures]
            wrong += [f"log: {line}" for line in log() if line not in old and WARNINGS.search(line)]
            wrong = [f"{name}: {what}" for what in wrong]
        print("others (congestion control, retransmits, bytes acknowledged, segments):", others.counts())
        traffic.done = True
        traffic.thread.join(20)
    finally:
        for number, _ in servers:
            os.kill(number, signal.SIGKILL)
            os.waitpid(number, 0)
    minutes = (time.monotonic() - began) / 60
    print(f"{sum(acts.values())} acts in {minutes:.1f} minutes, {traffic.requests} requests: {dict(sorted(acts.items()))}")
    print(f"log: {len(set(log()) - old)} new lines")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--what", choices=CHOICES, default="both")
    options = parser.parse_args()
    if os.geteuid():
        sys.exit("kernel_churn: loading programs needs root")
    if "FANIN_CHURN" not in os.environ:
        command = ["unshare", "--net", "--mount", "--propagation", "private", sys.executable, *sys.argv]
        os.execvpe(command[0], command, {**os.environ, "FANIN_CHURN": "1"})
    subprocess.run(["mount", "-t", "bpf", "bpf", "/sys/fs/bpf"], check=True)
    subprocess.run(["ip", "link", "set", "lo", "mtu", "1500", "up"], check=True)
    if registered():
        sys.exit(f"kernel_churn: {registered()} are loaded by others: unload them first")
    cgroups = [unified() / f"fanin-churn-{os.getpid()}-{name}" for name in ("changed", "others")]
    for cgroup in cgroups:
        cgroup.mkdir()
    try:
        wrong = churn(options, cgroups)
    finally:
        for cgroup in cgroups:
            cgroup.rmdir()
    print("\n".join(wrong) or "nothing wrong, nothing left")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
