#!/usr/bin/env python3
"""`fanin front` with servers that fail, under load: nobody reads an old value, and nobody waits for long.

Eight clients a pool, one pool with `on_down = "next"` and one with `replicas = 2`, read and write keys whose values carry versions. Servers
are killed, stopped, slowed, and, as root, cut off from the network, one or two at a time; each then comes back. A read may not return a
version older than one that was acknowledged, or read by anybody, before it began. While a server fails, 99 % of the requests may take at
most twice the timeout.

    failover.py [--faults N] [--seed S]
"""

import argparse
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from stands import FANIN, figures, memcacheds, start
from versions import Known, VersionClient

SERVERS = 5
POOLS = {"next": (23430, 'on_down = "next"'), "replicas": (23431, 'replicas = 2\nhedge = { after = "20 ms" }')}
CLIENTS = 8
KEYS = 200
TIMEOUT = 0.3
# Whether this process has a network of its own, in which each server has one, too. Nothing can be installed there.
OWN = "FANIN_MEMCACHEDS" in os.environ


class Server:
    """A memcached, with a network of its own if possible."""

    def __init__(self, number, program):
        self.number, self.program = number, program
        self.host, self.link = (f"10.9.{number}.2", f"v{number}") if OWN else (f"127.0.0.{number + 10}", None)
        self.holder = subprocess.Popen(["unshare", "-n", "sleep", "infinity"]) if OWN else None
        if OWN:
            time.sleep(0.2)
            self.connect()
        self.process = None
        self.begin()

    def inside(self, *command):
        return ["nsenter", "-t", str(self.holder.pid), "-n", *command] if OWN else list(command)

    def connect(self):
        run = lambda *command: subprocess.run(command, check=True)
        run("ip", "link", "add", self.link, "type", "veth", "peer", "name", "eth0", "netns", str(self.holder.pid))
        run("ip", "address", "add", f"10.9.{self.number}.1/24", "dev", self.link)
        run("ip", "link", "set", self.link, "up")
        run(*self.inside("ip", "address", "add", f"{self.host}/24", "dev", "eth0"))
        run(*self.inside("ip", "link", "set", "eth0", "up"))

    def begin(self):
        command = self.inside(self.program, "-u", "nobody", "-l", self.host, "-p", "11211", "-t", "2", "-m", "64")
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(command, **quiet)
        while True:
            try:
                return socket.create_connection((self.host, 11211), 1).close()
            except OSError:
                time.sleep(0.02)

    def kill(self, seconds):
        self.process.kill()
        self.process.wait()
        time.sleep(seconds)
        self.begin()

    def stop(self, seconds):
        self.process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        self.process.send_signal(signal.SIGCONT)

    def slow(self, seconds):
        ends = time.time() + seconds
        while time.time() < ends:
            self.stop(0.08)
            time.sleep(0.01)

    def cut_off(self, seconds):
        subprocess.run(["ip", "link", "set", self.link, "down"], check=True)
        time.sleep(seconds)
        subprocess.run(["ip", "link", "set", self.link, "up"], check=True)

    def end(self):
        for process in (self.process, self.holder):
            if process is not None:
                process.kill()
                process.wait()


class Client(VersionClient):
    """Measures its requests, too."""

    def __init__(self, number, pool, known, stop, faulty):
        super().__init__(number, POOLS[pool][0], lambda: known, stop, CLIENTS)
        self.faulty, self.times = faulty, {True: [], False: []}

    def timed(self, file):
        begun, faulty = time.time(), self.faulty.is_set()
        self.one(file)
        self.times[faulty or self.faulty.is_set()].append(time.time() - begun)


def percentile(times, share):
    return 1000 * sorted(times)[min(len(times) - 1, int(len(times) * share))] if times else 0.0


def faults(servers, count, seed, faulty, wrong):
    """Injects `count` faults; returns the number of each kind."""
    kinds = ["kill", "stop", "slow"] + (["cut_off"] if OWN else [])
    r, counts = random.Random(seed), dict.fromkeys(kinds, 0)
    while sum(counts.values()) < count and not wrong():
        some = r.sample(servers, 2 if r.random() < 0.15 else 1)
        faulty.set()
        threads = []
        for server in some:
            kind = r.choice(kinds)
            counts[kind] += 1
            threads.append(threading.Thread(target=getattr(server, kind), args=(r.choice([0.05, 0.4, 1.0, 2.0]),)))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        # Until the server is back, which takes the timeout and up to two seconds.
        time.sleep(r.choice([0.0, 0.3, 1.0]))
        faulty.clear()
        time.sleep(r.choice([0.0, 0.3, 2.0]))
    return counts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--faults", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    programs = os.environ["FANIN_MEMCACHEDS"].split(":") if OWN else [str(program) for program in memcacheds().values()]
    if OWN:
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    elif os.geteuid() == 0 and shutil.which("unshare") and shutil.which("nsenter"):
        environment = {**os.environ, "FANIN_MEMCACHEDS": ":".join(programs)}
        return subprocess.run(["unshare", "-n", sys.executable, *sys.argv], env=environment).returncode
    else:
        print("skipped: servers that are cut off from the network, which takes root", flush=True)
    servers = [Server(number, programs[number % len(programs)]) for number in range(SERVERS)]
    stop, faulty = threading.Event(), threading.Event()
    with tempfile.TemporaryDirectory() as folder:
        listed = ", ".join(f'"{server.host}:11211"' for server in servers)
        pool = '[[pool]]\nname = "{}"\nlisten = "127.0.0.1:{}"\ntimeout = "{} ms"\nservers = [{}]\n{}\n'
        text = "".join(pool.format(name, port, round(1000 * TIMEOUT), listed, how) for name, (port, how) in POOLS.items())
        config = pathlib.Path(folder) / "front.toml"
        config.write_text("threads = 2\n" + text)
        proxy = start(POOLS["next"][0], FANIN, "front", "--config", config)
        clients = {}
        for name in POOLS:
            known = Known(name, KEYS)
            clients[name] = [Client(number, name, known, stop, faulty) for number in range(CLIENTS)]
        every = [client for some in clients.values() for client in some]
        try:
            for client in every:
                client.start()
            time.sleep(1)
            counts = faults(servers, options.faults, options.seed, faulty, lambda: any(client.wrong for client in every))
            time.sleep(4)
            found = figures(POOLS["next"][0])
        finally:
            stop.set()
            for client in every:
                client.join(15)
            proxy.terminate()
            proxy.wait(20)
            for server in servers:
                server.end()
    print("faults: " + ", ".join(f"{kind} {count}" for kind, count in counts.items()))
    names = ("servers_ejected", "replicas_copied", "replicas_retried", "replicas_hedged", "errors_timeout", "errors_down")
    print("; ".join(f"{name} {found[name]}" for name in names))
    wrong = [client.wrong for client in every if client.wrong]
    away = [name for name, state in found.items() if name.endswith(":state") and state != "up"]
    wrong += [f"not in use at the end: {', '.join(away)}"] if away else []
    for name, some in clients.items():
        asked, errors = (sum(getattr(client, what) for client in some) for what in ("asked", "errors"))
        during, otherwise = (sum((client.times[faulty] for client in some), []) for faulty in (True, False))
        p99 = percentile(during, 0.99)
        print(f"{name}: {asked} requests, {sum(client.found for client in some)} values read, {errors} errors; p50 and p99 while a server "
              f"fails {percentile(during, 0.5):.1f} and {p99:.1f} ms, otherwise {percentile(otherwise, 0.5):.1f} and {percentile(otherwise, 0.99):.1f} ms")
        if min(len(during), len(otherwise)) < 1000:
            wrong.append(f"{name}: too few requests to say anything")
        if p99 > 2000 * TIMEOUT:
            wrong.append(f"{name}: p99 while a server fails is more than twice the timeout")
    print("; ".join(wrong) or "no old value, every request answered, all servers in use again")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
