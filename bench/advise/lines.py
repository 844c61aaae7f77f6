#!/usr/bin/env python3
"""Runs every line for Linux that `fanin advise` prints, on this machine's kernel: it has to take effect, and to be taken back whole.

Remedies are told of clusters drawn up here. Their lines run as printed, by a shell, in two network namespaces of their own with a
/run of their own: a server and the client, a pair of interfaces between them, addresses in place of the printed ones. What `verify`
reads back has to be what the remedy sets. After `undo`, routes, sysctls and interfaces have to be exactly what they were: where the
route was not there before, was the kernel's own, had attributes, a metric or two gateways. What this kernel lacks is said.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from figures import FANIN

CLUSTER = """schemes = ["{scheme}"]
[link]
rate = "{rate}"
delay = "25 us"
[switch]
buffer = "{buffer}"
[tcp]
profile = "linux"
{tcp}
[workload]
kind = "barrier"
fragment = "{answer}"
duration = "2 s"
{workload}
[sweep]
fan_in = [{servers}]
"""
USUAL = {"scheme": "cubic", "rate": "1 Gbit/s", "buffer": "64 KiB", "tcp": "", "answer": "64 KiB", "workload": "", "servers": 32}

# Clusters that are each told what stands beside them.
CASES = [
    ("rto-min", {}),
    ("initial-window", {"answer": "16 KiB", "servers": 48}),
    ("rto-min,initial-window", {"answer": "16 KiB", "servers": 48}),
    ("delayed-ack,receive-window", {"scheme": "newreno", "answer": "16 KiB", "servers": 64, "tcp": 'rto_min = "20 ms"'}),
    ("idle-restart", {"scheme": "newreno", "rate": "10 Gbit/s", "buffer": "32 KiB", "answer": "128 KiB", "servers": 8,
                      "tcp": 'rto_min = "20 ms"\nidle_restart = true\ninitial_window = 10', "workload": 'pause = "30 ms"'}),
    ("idle-restart", {"rate": "10 Gbit/s", "buffer": "32 KiB", "answer": "128 KiB", "tcp": "idle_restart = false", "workload": 'pause = "30 ms"'}),
    ("red-ecn", {"answer": "256 KiB", "servers": 16, "tcp": 'rto_min = "20 ms"'}),
    ("dctcp", {}),
    ("jumbo", {"rate": "10 Gbit/s", "buffer": "1 MiB", "answer": "16 KiB", "servers": 64, "tcp": 'rto_min = "20 ms"'}),
]

# What has to be read back of each key, where.
READ_BACK = {
    "tcp.rto_min": lambda value: ("servers", rf"\brto_min lock {value.replace(' ', '')}(\s|$)"),
    "tcp.initial_window": lambda value: ("servers", rf"\binitcwnd {value}(\s|$)"),
    "tcp.delayed_ack": lambda value: ("client", r"\bquickack 1(\s|$)"),
    "tcp.receive_window": lambda value: ("client", rf"\bwindow {value.split()[0]}(\s|$)"),
    "tcp.idle_restart": lambda value: ("servers", rf"^{int(value == 'true')}$"),
    "link.frames": lambda value: ("both", r"^9000$"),
}
SYSCTLS = ["net.ipv4.tcp_slow_start_after_idle", "net.ipv4.tcp_moderate_rcvbuf", "net.ipv4.tcp_congestion_control", "net.ipv4.tcp_ecn"]

ROUTED = {"servers": ["ip addr add 198.51.100.1/24 dev eth0", "ip route add default via 198.51.100.254"],
          "client": ["ip addr add 192.0.2.1/24 dev eth0", "ip route add default via 192.0.2.254"]}


def routed(servers, client):
    return {"servers": [*ROUTED["servers"], *servers], "client": [*ROUTED["client"], *client]}


# What routes there are before: on a server, on the client; and the client's address.
SITUATIONS = {
    "one network": ("198.51.100.200/32", {"servers": ["ip addr add 198.51.100.1/24 dev eth0"], "client": ["ip addr add 198.51.100.200/24 dev eth0"]}),
    "one network of metric 100": ("198.51.100.200/32", {
        place: [f"ip addr add {address}/24 dev eth0 noprefixroute", f"ip route add 198.51.100.0/24 dev eth0 proto kernel scope link src {address} metric 100"]
        for place, address in (("servers", "198.51.100.1"), ("client", "198.51.100.200"))}),
    "behind a router": ("192.0.2.1/32", ROUTED),
    "a route with attributes": ("192.0.2.1/32", routed(
        ["ip route add 192.0.2.1/32 via 198.51.100.253 mtu lock 1400 rto_min 70ms initcwnd 5"],
        ["ip route add 198.51.100.0/24 via 192.0.2.253 window 70000 quickack 1 mtu 1400"])),
    "a route of metric 100": ("192.0.2.1/32", routed(
        ["ip route add 192.0.2.1/32 via 198.51.100.253 metric 100 proto static rto_min 70ms"],
        ["ip route add 198.51.100.0/24 via 192.0.2.253 metric 100 proto dhcp"])),
    "a gateway of IPv6, and another source": ("192.0.2.1/32", {
        place: [f"ip addr add {address}/32 dev lo", f"ip -4 route add default via inet6 fe80::1 dev eth0 src {address}"]
        for place, address in (("servers", "198.51.100.1"), ("client", "192.0.2.1"))}),
    "two gateways": ("192.0.2.1/32", routed(
        ["ip route add 192.0.2.1/32 nexthop via 198.51.100.253 weight 1 nexthop via 198.51.100.254 weight 2"],
        ["ip route add 198.51.100.0/24 nexthop via 192.0.2.253 weight 1 nexthop via 192.0.2.254 weight 1"])),
}


class Host:
    """A network namespace with a /run and a /sys of its own, for as long as its process lives."""

    def __init__(self):
        script = "mount -t tmpfs tmpfs /run && mount -t sysfs sysfs /sys && echo made && exec sleep infinity"
        self.process = subprocess.Popen(["unshare", "--net", "--mount", "sh", "-c", script], stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()

    def run(self, *lines):
        """A shell with these lines: whether all ended well, and what they said."""
        command = ["nsenter", "-t", str(self.process.pid), "--net", "--mount", "sh", "-ec", "\n".join(lines)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.returncode == 0, done.stdout

    def set_up(self, *lines):
        fine, said = self.run(*lines)
        if not fine:
            raise SystemExit(f"advise-lines: a namespace cannot be set up: {said}")

    def state(self):
        """All that a line could have changed."""
        _, routes = self.run("ip -d route show table all")
        _, others = self.run(f"sysctl {' '.join(SYSCTLS)}", "cat /sys/class/net/*/mtu", "ls /run")
        return sorted(routes.splitlines()) + others.splitlines()

    def end(self):
        self.process.kill()
        self.process.wait()


def remedies(folder):
    """Of each case what is told of its families, the one with the most of them first."""
    for number, (words, differs) in enumerate(CASES):
        file = f"case-{number}.toml"
        (pathlib.Path(folder) / file).write_text(CLUSTER.format(**{**USUAL, **differs}))
        command = [FANIN, "advise", file, "--json", "--budget", "10M", "--no-cache", "--remedies", words]
        told = json.loads(subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout)
        yield words, told["remedies"]


def before(remedy):
    """Sysctls are first what the remedy does not want."""
    idle = remedy["settings"].get("tcp.idle_restart")
    return [f"sysctl -qw net.ipv4.tcp_slow_start_after_idle={int(idle == 'false')}", "sysctl -qw net.ipv4.tcp_ecn=2"]


def wanted(remedy, stand_in):
    """What has to be read back: place and pattern."""
    for key, value in remedy["settings"].items():
        if key in READ_BACK:
            place, pattern = READ_BACK[key](value)
            yield from ((each, pattern) for each in (("servers", "client") if place == "both" else (place,)))
    scheme = remedy["scheme"] or ""
    for place in ("servers", "client"):
        if scheme.startswith("dctcp"):
            yield place, rf"^{stand_in or 'dctcp'}$"
        if "dctcp" in scheme or "ecn" in scheme:
            yield place, r"^1$"


class Trial:
    """A remedy's lines in one situation."""

    def __init__(self, remedy, situation, stand_in):
        self.remedy, self.stand_in, self.bad = remedy, stand_in, []
        self.address, setting = SITUATIONS[situation]
        self.hosts = {"servers": Host(), "client": Host()}
        pids = [host.process.pid for host in self.hosts.values()]
        subprocess.run(f"ip link add eth0 mtu 1500 netns {pids[0]} type veth peer name eth0 mtu 1500 netns {pids[1]}", shell=True, check=True)
        for host in self.hosts.values():
            host.set_up("ip link set lo up", "ip link set eth0 up", *before(remedy))
        for place, host in self.hosts.items():
            host.set_up(*setting[place])

    def lines(self, what, place):
        """Its lines of one place, addresses as they are here; the module that is not there left out, its stand-in in its place."""
        for line in self.remedy[what]:
            if line["where"] == place and not (self.stand_in and line["line"].startswith("modprobe")):
                text = line["line"].replace("CLIENT=192.0.2.1/32", f"CLIENT={self.address}")
                yield re.sub(r"=dctcp$", f"={self.stand_in}", text) if self.stand_in else text

    def run(self, what):
        said = {}
        for place, host in self.hosts.items():
            fine, said[place] = host.run(*self.lines(what, place))
            if not fine:
                self.bad.append(f"{what} on {place}: {said[place].strip()}")
        return said

    def judge(self, applied):
        """What is wrong with the lines, where they are run so often before they are taken back."""
        states = {place: host.state() for place, host in self.hosts.items()}
        for _ in range(applied):
            self.run("apply")
        said = self.run("verify")
        for place, pattern in wanted(self.remedy, self.stand_in):
            if not re.search(pattern, said[place], re.MULTILINE):
                self.bad.append(f"{place}: no {pattern} in {said[place].strip()!r}")
        self.run("undo")
        for place, host in self.hosts.items():
            after = host.state()
            self.bad += [f"{place}: gone after undo: {line}" for line in states[place] if line not in after]
            self.bad += [f"{place}: there after undo: {line}" for line in after if line not in states[place]]
        return self.bad

    def end(self):
        for host in self.hosts.values():
            host.end()


def lacking():
    """Why DCTCP cannot be set here; None where it can."""
    done = subprocess.run(["modprobe", "tcp_dctcp"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    there = pathlib.Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    return None if "dctcp" in there else done.stdout.strip() or "no dctcp"


def main():
    missing = [program for program in ("unshare", "nsenter", "ip", "sysctl") if not shutil.which(program)]
    if os.geteuid() != 0 or missing:
        print(f"advise-lines: skipped: {'it needs ' + ', '.join(missing) if missing else 'network namespaces need root'}")
        return
    if subprocess.run(["unshare", "--net", "--mount", "true"], stderr=subprocess.DEVNULL).returncode:
        print("advise-lines: skipped: this machine lets nobody make a network namespace")
        return
    why = lacking()
    failed, seen = 0, set()
    with tempfile.TemporaryDirectory() as folder:
        for words, told in remedies(folder):
            if not told:
                failed += 1
                print(f"FAILS: {words}: told of in no cluster drawn up here")
            for remedy in told:
                stand_in = "reno" if why and (remedy["scheme"] or "").startswith("dctcp") else None
                seen |= set(remedy["settings"]) | {remedy["scheme"]}
                if stand_in:
                    print(f"skipped: `modprobe tcp_dctcp` ({why}): the other lines run with {stand_in} in its place")
                for situation in SITUATIONS:
                    for applied in (1, 2):
                        trial = Trial(remedy, situation, stand_in)
                        bad = trial.judge(applied)
                        trial.end()
                        failed += bool(bad)
                        again = ", applied twice" if applied > 1 else ""
                        print(f"{'FAILS' if bad else 'holds'}: {remedy['says']}: {situation}{again}" + "".join(f"\n    {line}" for line in bad))
    missing = sorted(set(READ_BACK) - seen)
    if missing:
        failed += 1
        print(f"FAILS: no remedy that was told sets {', '.join(missing)}")
    print(f"{failed} fail" if failed else "all hold")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
