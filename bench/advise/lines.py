#!/usr/bin/env python3
"""Runs the scripts of every remedy that `fanin advise` has for Linux or SONiC on this machine's kernel: they have to take effect, and
to be taken back whole.

Remedies are advised for clusters drawn up here. Their scripts run as written, in network namespaces of their own with a /run of their
own: a server and the client, a pair of interfaces between them, and a switch whose configuration is a folder, addresses in place of the
printed ones. `verify.sh` has to hold after `apply.sh` and to fail before it. After `undo.sh`, routes, sysctls, interfaces and /run have
to be exactly what they were: where the route was not there before, was the kernel's own, had attributes, a metric or two gateways; with
everything run once or twice; pasted line by line; and with every command of either script killed, before it ran and after. An undo that
finds an empty or a foreign save has to refuse it, and to touch nothing. Reports what this kernel lacks.
"""

import itertools
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
{switch}
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
USUAL = {"scheme": "cubic", "rate": "1 Gbit/s", "switch": 'buffer = "64 KiB"', "tcp": "", "answer": "64 KiB", "workload": "", "servers": 32}

# Remedy families, each with the settings of a cluster that needs it.
CASES = [
    ("rto-min", {}),
    ("initial-window", {"answer": "16 KiB", "servers": 48}),
    ("rto-min,initial-window", {"answer": "16 KiB", "servers": 48}),
    ("delayed-ack,receive-window", {"scheme": "newreno", "answer": "16 KiB", "servers": 64, "tcp": 'rto_min = "20 ms"'}),
    ("idle-restart", {"scheme": "newreno", "rate": "10 Gbit/s", "switch": 'buffer = "32 KiB"', "answer": "128 KiB", "servers": 8,
                      "tcp": 'rto_min = "20 ms"\nidle_restart = true\ninitial_window = 10', "workload": 'pause = "30 ms"'}),
    ("idle-restart", {"rate": "10 Gbit/s", "switch": 'buffer = "32 KiB"', "answer": "128 KiB", "tcp": "idle_restart = false", "workload": 'pause = "30 ms"'}),
    ("red-ecn", {"answer": "256 KiB", "servers": 16, "tcp": 'rto_min = "20 ms"'}),
    ("dctcp", {}),
    ("gss", {}),
    ("alpha", {"rate": "10 Gbit/s", "switch": 'shared_buffer = "4 MB"\nalpha = "1/16"', "answer": "64 KiB", "servers": 32}),
    ("jumbo", {"rate": "10 Gbit/s", "switch": 'buffer = "1 MiB"', "answer": "16 KiB", "servers": 64, "tcp": 'rto_min = "20 ms"'}),
]

# The advice must contain every key that its lines set.
WANTED = {"tcp.rto_min", "tcp.initial_window", "tcp.delayed_ack", "tcp.receive_window", "tcp.idle_restart", "link.frames", "switch.alpha", "red.min_th", "ecn_threshold.k"}
SYSCTLS = ["net.ipv4.tcp_slow_start_after_idle", "net.ipv4.tcp_moderate_rcvbuf", "net.ipv4.tcp_congestion_control", "net.ipv4.tcp_ecn"]

ROUTED = {"servers": ["ip addr add 198.51.100.1/24 dev eth0", "ip route add default via 198.51.100.254"],
          "client": ["ip addr add 192.0.2.1/24 dev eth0", "ip route add default via 192.0.2.254"]}


def routed(servers, client):
    return {"servers": [*ROUTED["servers"], *servers], "client": [*ROUTED["client"], *client]}


OTHER_VALUES = "other values than assumed"
# Attributes of a route that a remedy does not change: they stay.
KEPT = re.compile(r"\b(?:mtu (?:lock )?|initrwnd |advmss |congctl |window |rto_min (?:lock )?)\S+")
# The client's address, and the routes of a server and the client before the advice is applied.
SITUATIONS = {
    "one network": ("198.51.100.200/32", {"servers": ["ip addr add 198.51.100.1/24 dev eth0"], "client": ["ip addr add 198.51.100.200/24 dev eth0"]}),
    "one network of metric 100": ("198.51.100.200/32", {
        place: [f"ip addr add {address}/24 dev eth0 noprefixroute", f"ip route add 198.51.100.0/24 dev eth0 proto kernel scope link src {address} metric 100"]
        for place, address in (("servers", "198.51.100.1"), ("client", "198.51.100.200"))}),
    "behind a router": ("192.0.2.1/32", ROUTED),
    "a route with attributes": ("192.0.2.1/32", routed(
        ["ip route add 192.0.2.1/32 via 198.51.100.253 mtu lock 1400 initrwnd 20 congctl reno"],
        ["ip route add 198.51.100.0/24 via 192.0.2.253 window 70000 quickack 1 mtu 1400"])),
    "a route of metric 100": ("192.0.2.1/32", routed(
        ["ip route add 192.0.2.1/32 via 198.51.100.253 metric 100 proto static initrwnd 20"],
        ["ip route add 198.51.100.0/24 via 192.0.2.253 metric 100 proto dhcp"])),
    "a network's route with attributes": ("192.0.2.1/32", routed(
        ["ip route add 192.0.2.0/24 via 198.51.100.253 mtu lock 1400 initrwnd 20 advmss 1300"],
        ["ip route add 198.51.0.0/16 via 192.0.2.253 mtu 1400 rto_min 30ms"])),
    OTHER_VALUES: ("192.0.2.1/32", routed(
        ["ip route add 192.0.2.1/32 via 198.51.100.253 mtu lock 1400 rto_min 70ms initcwnd 5"], [])),
    "a gateway of IPv6, and another source": ("192.0.2.1/32", {
        place: [f"ip addr add {address}/32 dev lo", f"ip -4 route add default via inet6 fe80::1 dev eth0 src {address}"]
        for place, address in (("servers", "198.51.100.1"), ("client", "192.0.2.1"))}),
    "two gateways": ("192.0.2.1/32", routed(
        ["ip route add 192.0.2.1/32 nexthop via 198.51.100.253 weight 1 nexthop via 198.51.100.254 weight 2"],
        ["ip route add 198.51.100.0/24 nexthop via 192.0.2.253 weight 1 nexthop via 192.0.2.254 weight 1"])),
}


PLACES = ["servers", "client", "switch"]
# Configuration of a switch before the advice is applied, and the programs that read and set it.
SWITCH = {
    "WRED_PROFILE|AZURE_LOSSLESS green_min_threshold": "1048576", "WRED_PROFILE|AZURE_LOSSLESS green_max_threshold": "2097152",
    "WRED_PROFILE|AZURE_LOSSLESS green_drop_probability": "5", "BUFFER_PROFILE|egress_lossy_profile dynamic_th": "-7", "PORT|Ethernet0 mtu": "9232",
}
SONIC = {
    "sonic-db-cli": 'cat "$STORE/$3 $4"',
    "ecnconfig": 'for f in "$4 green_min_threshold" "$6 green_max_threshold" "$8 green_drop_probability"; do echo "${f%% *}" > "$STORE/WRED_PROFILE|$2 ${f#* }"; done',
    "mmuconfig": 'echo "$4" > "$STORE/BUFFER_PROFILE|$2 dynamic_th"',
    "config": 'echo "$4" > "$STORE/PORT|$3 mtu"',
}
# Commands that are counted, and killed with all else of their script at the one that KILL names: before it, or behind it.
COUNTED = ["ip", "sysctl", "sed", "grep", "mv", "rm", "cat", *SONIC]
WRAPPER = """#!/bin/sh
echo >> "$COUNT"
now=$(($(wc -l < "$COUNT") * 2))
[ "$now" != "$KILL" ] || kill -9 0
{run}
status=$?
[ "$((now + 1))" != "$KILL" ] || kill -9 0
exit $status
"""


def programs(folder):
    """Writes the counted commands into a folder."""
    for name in COUNTED:
        real = SONIC.get(name) or f'{shutil.which(name)} "$@"'
        path = pathlib.Path(folder) / name
        path.write_text(WRAPPER.format(run=real).replace("wc -l", shutil.which("wc") + " -l"))
        path.chmod(0o755)


class Host:
    """A network namespace with a /run and a /sys of its own, for as long as its process lives."""

    def __init__(self, programs, store):
        script = "mount -t tmpfs tmpfs /run && mount -t sysfs sysfs /sys && { mount -t bpf bpf /sys/fs/bpf || true; } && echo made && exec sleep infinity"
        self.process = subprocess.Popen(["unshare", "--net", "--mount", "sh", "-c", script], stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()
        self.programs, self.store = programs, pathlib.Path(store)
        self.count = self.store / "count"

    def run(self, text, kill=0):
        """Run a script in a shell and return its exit status and output. `kill`: kill it before (2k) or after (2k + 1) command k."""
        self.count.write_text("")
        command = ["nsenter", "-t", str(self.process.pid), "--net", "--mount", "setsid", "--wait", "sh", "-c", text]
        place = {**os.environ, "PATH": f"{self.programs}:{pathlib.Path(FANIN).parent}:{os.environ['PATH']}", "COUNT": str(self.count), "KILL": str(kill), "STORE": str(self.store / "store")}
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=place)
        return done.returncode, done.stdout

    def commands(self):
        """How many commands the last script ran."""
        return len(self.count.read_text().splitlines())

    def set_up(self, *lines):
        status, said = self.run("set -e\n" + "\n".join(lines))
        if status:
            raise SystemExit(f"advise-lines: a namespace cannot be set up: {said}")

    def state(self):
        """All that a line could have changed."""
        _, said = self.run(f"ip -d route show table all | sort; sysctl {' '.join(SYSCTLS)}; cat /sys/class/net/*/mtu; ls /run; grep -r . $STORE | sort")
        return said.splitlines()

    def end(self):
        self.process.kill()
        self.process.wait()


def remedies(folder):
    """Of each case its words and its remedies that have scripts, with the folder of each one's."""
    for number, (words, differs) in enumerate(CASES):
        file, out = f"case-{number}.toml", f"case-{number}"
        (pathlib.Path(folder) / file).write_text(CLUSTER.format(**{**USUAL, **differs}))
        command = [FANIN, "advise", file, "--json", "--budget", "10M", "--no-cache", "--remedies", words, "--out", out]
        told = json.loads(subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout)
        ranked = [remedy for remedy in told["remedies"] if remedy["apart"] is None and remedy["deployable"]]
        scripts = [pathlib.Path(folder) / out / f"remedy-{rank}" for rank in range(1, len(ranked) + 1)]
        yield words, [(remedy, each) for remedy, each in zip(ranked, scripts) if each.exists()]


def before(remedy):
    """Set sysctls to the opposite of the remedy's values."""
    idle = remedy["settings"].get("tcp.idle_restart")
    return [f"sysctl -qw net.ipv4.tcp_slow_start_after_idle={int(idle == 'false')}", "sysctl -qw net.ipv4.tcp_ecn=2"]


class Trial:
    """A remedy's scripts in one situation."""

    def __init__(self, remedy, scripts, situation, stand_in, programs):
        self.remedy, self.scripts, self.stand_in, self.situation, self.bad = remedy, scripts, stand_in, situation, []
        self.address, setting = SITUATIONS[situation]
        self.folder = tempfile.TemporaryDirectory()
        self.hosts = {}
        for place in PLACES:
            store = pathlib.Path(self.folder.name) / place
            (store / "store").mkdir(parents=True)
            self.hosts[place] = Host(programs, store)
        for key, value in SWITCH.items():
            (self.hosts["switch"].store / "store" / key).write_text(value + "\n")
        pids = [self.hosts[place].process.pid for place in PLACES[:2]]
        subprocess.run(f"ip link add eth0 mtu 1500 netns {pids[0]} type veth peer name eth0 mtu 1500 netns {pids[1]}", shell=True, check=True)
        for place in PLACES[:2]:
            self.hosts[place].set_up("ip link set lo up", "sysctl -qw net.ipv6.conf.eth0.accept_dad=0", "ip link set eth0 up", *before(remedy))
        for place, lines in setting.items():
            self.hosts[place].set_up(*lines)
        self.were = {place: host.state() for place, host in self.hosts.items()}

    def text(self, what, place):
        """A script with addresses as they are here; the module that is not there left out, its stand-in in its place."""
        path = self.scripts / place / f"{what}.sh"
        text = path.read_text().replace("CLIENT=192.0.2.1/32", f"CLIENT={self.address}") if path.exists() else ""
        return re.sub(r"\bdctcp\b", self.stand_in, re.sub("modprobe .*\n", "", text)) if self.stand_in else text

    def places(self):
        return [place for place in PLACES if self.text("apply", place)]

    def run(self, what, fails=False, places=None, pasted=False):
        """A script of every place, which has to end well, or has to fail."""
        for place in places or self.places():
            text = self.text(what, place)
            if pasted:
                text = text.replace("set -eu\n", "")
            status, said = self.hosts[place].run(text)
            if (status != 0) != fails:
                self.bad.append(f"{what} on {place} {'holds' if fails else 'fails'}: {said.strip()}")

    def unchanged(self, when):
        for place, host in self.hosts.items():
            now = host.state()
            self.bad += [f"{place}: gone {when}: {line}" for line in self.were[place] if line not in now]
            self.bad += [f"{place}: there {when}: {line}" for line in now if line not in self.were[place]]

    def shows_only(self):
        """A dry run of either script prints the route's command, and changes nothing."""
        for place in self.places():
            for what in ("apply", "undo"):
                text = self.text(what, place)
                status, said = self.hosts[place].run(f"cat > /tmp/dry-{os.getpid()}.sh <<'END'\n{text}\nEND\nsh /tmp/dry-{os.getpid()}.sh --dry-run")
                pathlib.Path(f"/tmp/dry-{os.getpid()}.sh").unlink(missing_ok=True)
                wrong = status or (what == "apply" and "CLIENT=" in text and "ip route replace" not in said)
                self.bad += [f"dry run of {what} on {place}: {said.strip()}"] * bool(wrong)
        self.unchanged("after a dry run")

    def keeps(self):
        """The attributes of today's routes that the remedy does not change are those of the new ones."""
        for place in PLACES[:2]:
            made = [line for line in self.hosts[place].state() if "proto 250" in line]
            covers = [line for line in self.were[place] if " via " in line and "table local" not in line]
            for route in made:
                own = set(KEPT.findall(route))
                lost = set(KEPT.findall(" ".join(covers[-1:]))) - own if len(covers) == 1 else set()
                lost = {attribute for attribute in lost if attribute.split()[0] not in route}
                self.bad += [f"{place}: the new route lost {', '.join(sorted(lost))}: {route}"] * bool(lost)

    def must_refuse(self):
        """Whether today's values in this situation are others than the remedy replaces."""
        return self.situation == OTHER_VALUES and {"tcp.rto_min", "tcp.initial_window"} & set(self.remedy["settings"])

    def whole(self, applied, pasted):
        """Applied so often, verified, undone, undone again."""
        self.run("verify", fails=True)
        for _ in range(applied):
            self.run("apply", pasted=pasted)
        self.run("verify")
        self.keeps()
        self.run("undo", pasted=pasted)
        self.unchanged("after undo")
        self.run("undo")
        self.unchanged("after a second undo")

    def refuses(self):
        """An undo that finds nothing, or another's, where its save should be."""
        for place in self.places():
            upto = re.match(r"(.*\nSAVE=.*?\n)", self.text("undo", place), re.DOTALL)[1]
            for text in ("", "route flush exact 203.0.113.0/24 proto 250\n"):
                _, said = self.hosts[place].run(upto + f"printf '%s' '{text}' > \"$SAVE\"; echo \"$SAVE\"")
                were, self.were[place] = self.were[place], self.hosts[place].state()
                self.run("undo", fails=True, places=[place])
                self.unchanged("after an undo that had to refuse")
                self.hosts[place].run(f"rm {said.split()[-1]}")
                self.were[place] = were
        self.unchanged("after the saves were removed")

    def killed(self):
        """Each command of either script killed, then undone; and applied again, verified and undone."""
        for place in self.places():
            host = self.hosts[place]
            for what in ("apply", "undo"):
                for kill in itertools.count(2):
                    if what == "undo":
                        self.run("apply", places=[place])
                    status, _ = host.run(self.text(what, place), kill)
                    if kill // 2 > host.commands():
                        break
                    if what == "apply" and kill % 2:
                        self.run("apply", places=[place])
                        self.run("verify", places=[place])
                    self.run("undo", places=[place])
                    self.unchanged(f"after undo, {what} killed {'behind' if kill % 2 else 'before'} command {kill // 2}")
                self.run("undo", places=[place])

    def judge(self):
        if self.must_refuse():
            self.run("apply", fails=True, places=["servers"])
            self.unchanged("after an apply that had to refuse")
            return self.bad
        self.shows_only()
        for applied in (1, 2):
            for pasted in (False, True):
                self.whole(applied, pasted)
        self.refuses()
        self.killed()
        return self.bad

    def end(self):
        for host in self.hosts.values():
            host.end()
        self.folder.cleanup()


def lacking():
    """Why DCTCP cannot be set here; None where it can."""
    done = subprocess.run("modprobe tcp_dctcp", shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    there = pathlib.Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    return None if "dctcp" in there else done.stdout.strip() or "no dctcp"


def gentle():
    """Why gentle slow start cannot be loaded here; None where it can."""
    done = subprocess.run([FANIN, "kernel", "hold", "cubic+gss"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return done.stderr.strip() if done.returncode else None


def main():
    missing = [program for program in ("unshare", "nsenter", "setsid", "ip", "sysctl") if not shutil.which(program)]
    if os.geteuid() != 0 or missing:
        print(f"advise-lines: skipped: {'it needs ' + ', '.join(missing) if missing else 'network namespaces need root'}")
        return
    if subprocess.run(["unshare", "--net", "--mount", "true"], stderr=subprocess.DEVNULL).returncode:
        print("advise-lines: skipped: this machine lets nobody make a network namespace")
        return
    why, lacks_gentle = lacking(), gentle()
    failed, seen = 0, set()
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as counted:
        programs(counted)
        for words, told in remedies(folder):
            if not told:
                failed += 1
                print(f"FAILS: {words}: advised for no cluster drawn up here")
            for remedy, scripts in told:
                stand_in = "reno" if why and (remedy["scheme"] or "").startswith("dctcp") else None
                seen |= set(remedy["settings"]) | {remedy["scheme"]}
                if lacks_gentle and (remedy["scheme"] or "").endswith("+gss"):
                    print(f"skipped: {remedy['says']}: {lacks_gentle}")
                    continue
                if stand_in:
                    print(f"skipped: `modprobe tcp_dctcp` ({why}): the other lines run with {stand_in} in its place")
                for situation in SITUATIONS:
                    trial = Trial(remedy, scripts, situation, stand_in, counted)
                    bad = trial.judge()
                    trial.end()
                    failed += bool(bad)
                    print(f"{'FAILS' if bad else 'holds'}: {remedy['says']}: {situation}" + "".join(f"\n    {line}" for line in bad), flush=True)
    missing = sorted(WANTED - seen)
    if missing:
        failed += 1
        print(f"FAILS: no remedy sets {', '.join(missing)}")
    print(f"{failed} fail" if failed else "all hold")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
