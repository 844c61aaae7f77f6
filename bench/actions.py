#!/usr/bin/env python3
"""Random sequences of an operator's actions on the real `fanin front`, with memcached and agents, under load.

Two to six actions follow one another: reloads of every kind, servers and agents that stop, die, hang and return, take-overs, restarts, stages of a
plan, new certificates. Four pools are under load: the one that reloads change, one with a plan, one with TLS, one with hubs. Keys have
versions: no read may return a value of another key, or an older version than the pages promise (docs/failover.md). Afterwards everything works
again: within the time limit nothing fails any more, and a server that is killed then is replaced as the settings say. A sequence that fails is
shortened as long as it fails, and printed. The same actions run against simulated sockets in `make actions`.

    actions.py [--minutes M] [--seed S] [--sequence NAME,NAME --pool next|replicas|error]

Uses 30 ports from PORTS (23600) on.
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import signal
import ssl
import socket
import subprocess
import sys
import tempfile
import threading
import time
import hashlib

from stands import FANIN, certificates, figures, memcached, start
from versions import Known, VersionClient, line

BASE = int(os.environ.get("PORTS", "23600"))
SERVERS = list(range(BASE + 1, BASE + 7))
AGENTS = list(range(BASE + 11, BASE + 15))
PORTS = {"main": BASE + 21, "planned": BASE + 22, "tls": BASE + 23, "hubs": BASE + 24, "second": BASE + 25}
CLIENTS = {"main": 3, "planned": 2, "tls": 1, "hubs": 1}
KEYS = 60
# Seconds in which everything has to work again.
SETTLES = 40
STAGES = ["begin", "move", "copied", "turn", "over"]


class Bound(Known):
    """Versions of a pool's keys. Without failover, a change that failed may be executed late, so that its key binds no reader any more; and nobody
    is bound by another's reads."""

    def __init__(self, name, is_loose):
        super().__init__(name, KEYS)
        self.is_loose, self.free = is_loose, set()

    def note(self, versions, key, version):
        with self.lock:
            if key not in self.free and not (versions is self.read and self.is_loose()):
                versions[key] = max(versions[key], version)

    def has_failed(self, key):
        if self.is_loose():
            with self.lock:
                self.free.add(key)
                self.acknowledged[key] = self.read[key] = 0


class Client(VersionClient):
    """A client of one of the pools."""

    def __init__(self, number, name, stand):
        super().__init__(number, PORTS[name], lambda: stand.known[name], stand.stop, CLIENTS[name])
        self.name_of_pool, self.stand = name, stand

    def set(self, file, known):
        before = self.errors
        key_before = list(known.begun)
        try:
            super().set(file, known)
        finally:
            changed = next((key for key, begun in enumerate(known.begun) if begun != key_before[key] and key % self.clients == self.number), None)
            if changed is not None and known.acknowledged[changed] != known.begun[changed]:
                known.has_failed(changed)
        if self.errors != before:
            self.stand.last_error = f"{self.name_of_pool}: a set"

    def get(self, file, known):
        before = self.errors
        super().get(file, known)
        if self.errors != before:
            self.stand.last_error = f"{self.name_of_pool}: a get"

    def mark(self):
        return self.stand.lives, self.stand.overlaps

    def may_break(self, mark):
        lives, overlaps = mark
        restarted = lives != self.stand.lives or lives % 2 == 1
        handed_over = overlaps != self.stand.overlaps or overlaps % 2 == 1
        return restarted or (self.name_of_pool == "tls" and handed_over)


class TlsClient(Client):
    def connect(self, address, seconds):
        context = ssl.create_default_context(cafile=self.stand.folder / "ca.pem")
        return context.wrap_socket(super().connect(address, seconds), server_hostname="127.0.0.1")


class Stand:
    """Servers, agents, the front end and its clients."""

    def __init__(self, folder, kind, seed):
        self.folder, self.random, self.stop = folder, random.Random(seed), threading.Event()
        self.on_down, self.replicas = {"next": ("next", 1), "replicas": ("error", 2), "error": ("error", 1)}[kind]
        self.servers = [[port] for port in SERVERS[:4]]
        self.timeout, self.placement, self.hash, self.more, self.name = 1000, "ketama", "fnv1a_64", "", "main"
        self.has_second, self.hubs, self.allow = False, True, False
        self.lives, self.overlaps, self.renewals, self.last_error, self.wrong = 0, 0, 0, None, None
        self.processes = {port: memcached(port) for port in SERVERS}
        self.hung, self.at, self.stage, self.agents, self.front, self.clients = set(), [0] * KEYS, 0, {}, None, []
        self.known = {name: self.bound(name) for name in CLIENTS}
        racks = [f'[[server]]\nmemcached = "127.0.0.1:{server}"\nagent = "127.0.0.1:{agent}"\nrack = "r{number % 2}"\n'
                 for number, (server, agent) in enumerate(zip(SERVERS, AGENTS))]
        (folder / "racks.toml").write_text("".join(racks))
        self.use_certificate(0)
        self.plan()
        self.messages = open(folder / "messages", "wb")

    # The front end.

    def bound(self, name):
        loose = (lambda: self.on_down != "next" and self.replicas == 1) if name == "main" else (lambda: True)
        return Bound(f"{name}-{self.renewals}", loose)

    def renew(self, *names):
        """Other keys, since nothing is promised for these any more."""
        self.renewals += 1
        for name in names or CLIENTS:
            self.known[name].is_void = True
            self.known[name] = self.bound(name)

    def settings(self):
        listed = ", ".join(f'"127.0.0.1:{":".join(map(str, server))}"' for server in self.servers)
        all_servers, of_hubs = (", ".join(f'"127.0.0.1:{port}"' for port in ports) for ports in (SERVERS, SERVERS[:4]))
        pool = lambda name, servers, more: f'[[pool]]\nname = "{name}"\nlisten = "127.0.0.1:{PORTS[name]}"\nservers = [{servers}]\n{more}\n'
        text = 'threads = 2\ndrain = "2 s"\n'
        text += pool("main", listed, f'admin = true\non_down = "{self.on_down}"\nreplicas = {self.replicas}\ntimeout = "{self.timeout} ms"\n'
                     f'placement = "{self.placement}"\nhash = "{self.hash}"\n{self.more}\n' + ('allow = ["127.0.0.0/8"]\n' if self.allow else ""))
        text = text.replace('name = "main"', f'name = "{self.name}"')
        text += pool("planned", all_servers, f'admin = true\ntimeout = "1 s"\nplan = "{self.folder}"')
        text += pool("tls", of_hubs, f'timeout = "1 s"\ntls = {{ certificate = "{self.folder}/used.pem", key = "{self.folder}/used.key" }}')
        hubs = f'multiget = "sicc"\nracks = "{self.folder}/racks.toml"\nplaintext = true' if self.hubs else 'multiget = "sliding-window"'
        text += pool("hubs", of_hubs, 'timeout = "1 s"\n' + hubs)
        if self.has_second:
            text += pool("second", of_hubs, "")
        return text

    def write(self, name, text):
        (self.folder / "new").write_text(text)
        os.rename(self.folder / "new", self.folder / name)

    def command(self, *more):
        return [FANIN, "front", "--config", self.folder / "front.toml", *more]

    def starts(self):
        self.write("front.toml", self.settings())
        self.front = start(PORTS["planned"], *self.command(), messages=self.messages)

    def begin(self):
        for number in range(len(AGENTS)):
            self.agent_starts(number)
        self.starts()
        for name, count in CLIENTS.items():
            kind = TlsClient if name == "tls" else Client
            self.clients += [kind(number, name, self) for number in range(count)]
        for client in self.clients:
            client.start()

    def end(self):
        self.stop.set()
        for client in self.clients:
            client.join(15)
        for process in [self.front, *self.agents.values(), *self.processes.values()]:
            if process is not None:
                process.kill()
                process.wait()
        self.messages.close()

    def reloads(self, moves=False, **changed):
        for name, value in changed.items():
            setattr(self, name, value)
        self.write("front.toml", self.settings())
        done = subprocess.run(self.command("--reload"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=60)
        if done.returncode:
            self.wrong = f"--reload ended with {done.returncode}: {done.stderr.strip()}"
        if moves:
            # Changes in flight may have been made where keys were before.
            self.renew("main")

    def is_calm(self):
        """Whether no server fails."""
        return not self.failing() and all(state == "up" for name, state in figures(PORTS["main"]).items() if name.endswith(":state"))

    def restarts(self, kill):
        self.lives += 1
        if kill:
            self.front.kill()
        else:
            self.front.terminate()
        self.front.wait(30)
        self.renew()
        self.starts()
        self.lives += 1

    def takes_over(self):
        calm = self.is_calm()
        self.overlap()
        new = subprocess.Popen(self.command("--take-over"), stdout=subprocess.DEVNULL, stderr=self.messages)
        try:
            # It waits while a server is away, and one that has been impaired is, until `servers_return`.
            self.front.wait(6 if self.failing() else 40)
            self.front = new
        except subprocess.TimeoutExpired:
            if not self.failing():
                self.wrong = "the old process did not end after a take-over"
            new.kill()
            new.wait()
        self.overlap()
        if not calm:
            self.renew()

    def overlap(self):
        self.overlaps += 1
        for known in self.known.values():
            known.overlaps += 1

    # Certificates, plans and agents.

    def use_certificate(self, number):
        self.certificate = number
        for end in ("pem", "key"):
            shutil.copy(self.folder / f"own{number}.{end}", self.folder / f"used.{end}")

    def changes_certificate(self):
        self.use_certificate(1 - self.certificate)
        self.reloads()
        served = ssl.get_server_certificate(("127.0.0.1", PORTS["tls"]))
        if served.split() != (self.folder / "used.pem").read_text().split():
            self.wrong = "the old certificate is served after a reload"

    def plan(self):
        new = [self.random.randrange(len(SERVERS)) + 1 for _ in range(KEYS)]
        name = self.known["planned"].name.decode()
        rows = "".join(f"{key}-{name},{to},{was or ''}\n" for key, (to, was) in enumerate(zip(new, self.at)))
        table = "key,server,was\n" + rows
        self.write("placement.csv", table)
        digest = hashlib.sha256(table.encode()).hexdigest()
        self.write("plan.json", json.dumps({"cluster": {"servers": len(SERVERS), "replicas": 1}, "placement_sha256": digest}))
        self.at, self.stage = new, 0
        self.write("stage", STAGES[0])

    def plan_goes_on(self):
        if self.stage == len(STAGES) - 1:
            self.plan()
        else:
            self.stage += 1
            self.write("stage", STAGES[self.stage])
        time.sleep(1)

    def plan_is_lost(self):
        (self.folder / "stage").unlink(missing_ok=True)
        time.sleep(1)
        self.write("stage", STAGES[self.stage])

    def agent_starts(self, number, window="32 KiB"):
        port = AGENTS[number]
        config = self.folder / f"agent{number}.toml"
        config.write_text(f'listen = "127.0.0.1:{port}"\nmemcached = "127.0.0.1:{SERVERS[number]}"\nracks = "{self.folder}/racks.toml"\n'
                          f'plaintext = true\nwindow = "{window}"\n')
        self.agents[port] = start(port, FANIN, "agent", "--config", config)

    def agent_is_killed(self):
        number = self.random.randrange(len(AGENTS))
        self.agents[AGENTS[number]].kill()
        self.agents[AGENTS[number]].wait()

    def agents_return(self, window="32 KiB", all_of_them=False):
        for number, port in enumerate(AGENTS):
            if all_of_them and self.agents[port].poll() is None:
                self.agents[port].kill()
                self.agents[port].wait()
            if self.agents[port].poll() is not None:
                self.agent_starts(number, window)

    # Servers.

    def healthy(self):
        """A server of the main pool that may fail now, if another one is left."""
        used, failing = [server[0] for server in self.servers], self.failing()
        return self.random.choice([port for port in used if port not in failing]) if len(failing) < 2 else None

    def failing(self):
        return [port for port in SERVERS if port in self.hung or self.processes[port].poll() is not None]

    def server_is_killed(self):
        port = self.healthy()
        if port:
            self.processes[port].kill()
            self.processes[port].wait()
        return port

    def server_is_replaced(self):
        port = self.server_is_killed()
        if port:
            self.processes[port] = memcached(port)

    def server_hangs(self):
        port = self.healthy()
        if port:
            self.processes[port].send_signal(signal.SIGSTOP)
            self.hung.add(port)

    def server_is_slow(self):
        port = self.healthy()
        for _ in range(10 if port else 0):
            self.processes[port].send_signal(signal.SIGSTOP)
            time.sleep(0.08)
            self.processes[port].send_signal(signal.SIGCONT)
            time.sleep(0.01)

    def servers_return(self):
        for port, process in self.processes.items():
            if process.poll() is not None:
                self.processes[port] = memcached(port)
            elif port in self.hung:
                process.send_signal(signal.SIGCONT)
        self.hung.clear()

    # Afterwards.

    def errors(self):
        return sum(client.errors for client in self.clients)

    def asked(self):
        return sum(client.asked for client in self.clients)

    def violations(self):
        wrong = [client.wrong for client in self.clients if client.wrong] + ([self.wrong] if self.wrong else [])
        if self.front.poll() is not None:
            wrong.append(f"the front end ended with {self.front.returncode}")
        return wrong

    def quiet(self, what):
        """Waits for a second in which many requests were made and none failed."""
        ends = time.monotonic() + SETTLES
        while time.monotonic() < ends and not self.violations():
            errors, asked = self.errors(), self.asked()
            time.sleep(1)
            if self.errors() == errors and self.asked() > asked + 50:
                return
        self.wrong = self.wrong or f"{what}, requests still fail after {SETTLES} s: {self.last_error}"

    def settles(self):
        self.servers_return()
        self.agents_return()
        self.quiet("though everything works")
        ends = time.monotonic() + SETTLES
        while not self.violations() and not self.is_calm():
            if time.monotonic() > ends:
                states = {name: state for name, state in figures(PORTS["main"]).items() if name.endswith(":state")}
                self.wrong = f"servers are not in use {SETTLES} s after their return: {states}"
            time.sleep(0.2)
        if self.violations() or (self.on_down != "next" and self.replicas == 1):
            return
        # Others have no failover: they are not to be asked.
        port = self.server_is_killed()
        others = [client for client in self.clients if client.name_of_pool != "main"]
        self.clients = [client for client in self.clients if client not in others]
        self.quiet(f"though server {port} has another in its place")
        self.clients += others


def adds(stand):
    absent = [port for port in SERVERS if port not in [server[0] for server in stand.servers]]
    stand.reloads(moves=True, servers=stand.servers + [[port] for port in absent[:1]])


def removes(stand):
    if len(stand.servers) > max(2, stand.replicas):
        stand.reloads(moves=True, servers=stand.servers[1:])


def reorders(stand):
    stand.reloads(servers=stand.random.sample(stand.servers, len(stand.servers)))


def describes(text):
    return lambda stand: stand.reloads(moves=True, servers=[[stand.servers[0][0], text], *stand.servers[1:]])


def refused(stand):
    valid = (stand.folder / "front.toml").read_text()
    stand.write("front.toml", valid.replace("threads = 2", "threads = 3"))
    done = subprocess.run(stand.command("--reload"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=60)
    stand.write("front.toml", valid)
    if not done.returncode:
        stand.wrong = "a reload of other threads was not refused"


MORE = ['multiget = "one-all"\njoin = true', 'multiget = "sliding-window"\nitem = "2 MiB"', ""]
ACTIONS = {
    "a reload adds a server": adds,
    "a reload removes a server": removes,
    "a reload reorders servers": reorders,
    "a reload renames a server": describes("1 renamed"),
    "a reload changes a weight": describes("3"),
    "a reload changes the placement": lambda s: s.reloads(True, placement="rendezvous" if s.placement == "ketama" else "ketama"),
    "a reload changes the hash": lambda s: s.reloads(True, hash="murmur" if s.hash != "murmur" else "fnv1a_64"),
    "a reload changes replicas": lambda s: s.reloads(True, on_down="error", replicas=s.replicas % 2 + 1),
    "a reload sets on_down = next": lambda s: s.reloads(s.replicas > 1, on_down="next", replicas=1),
    "a reload sets on_down = error": lambda s: s.reloads(True, on_down="error", replicas=1),
    "a reload sets on_down = miss": lambda s: s.reloads(True, on_down="miss", replicas=1),
    "a reload changes the timeout": lambda s: s.reloads(timeout=2500 - s.timeout),
    "a reload adds or removes a pool": lambda s: s.reloads(has_second=not s.has_second),
    "a reload renames a pool": lambda s: s.reloads(name="other" if s.name == "main" else "main"),
    "a reload changes other settings": lambda s: s.reloads(more=s.random.choice(MORE)),
    "a reload changes who may connect": lambda s: s.reloads(allow=not s.allow),
    "a reload is refused": refused,
    "a server stops": Stand.server_hangs,
    "servers go on": Stand.servers_return,
    "a server is killed": Stand.server_is_killed,
    "a server is replaced by an empty one": Stand.server_is_replaced,
    "a server is slow": Stand.server_is_slow,
    "time passes": lambda s: time.sleep(2),
    "a plan goes on": Stand.plan_goes_on,
    "a plan's stage is lost": Stand.plan_is_lost,
    "a new process takes over": Stand.takes_over,
    "the front end stops": lambda s: s.restarts(False),
    "the front end is killed": lambda s: s.restarts(True),
    "certificates change": Stand.changes_certificate,
    "hubs change": lambda s: s.reloads(hubs=not s.hubs),
    "an agent fails": Stand.agent_is_killed,
    "agents return": Stand.agents_return,
    "agents start with other settings": lambda s: s.agents_return("16 KiB", True),
}


def carry_out(names, kind, seed, keys):
    """Returns whatever was wrong."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for file in keys.iterdir():
            shutil.copy(file, folder)
        stand = Stand(folder, kind, seed)
        try:
            stand.begin()
            time.sleep(0.5)
            for action in names:
                ACTIONS[action](stand)
                time.sleep(stand.random.random() * 0.5)
                if stand.violations():
                    break
            else:
                stand.settles()
            return stand.violations()
        finally:
            stand.end()


def shortened(names, kind, seed, keys):
    """The shortest part of a failing sequence that fails, tried twice each; nothing if the whole one does not fail again."""
    fails = lambda some: any(carry_out(some, kind, seed + again, keys) for again in range(2))
    if not fails(names):
        return []
    place = 0
    while place < len(names) and len(names) > 1:
        shorter = names[:place] + names[place + 1:]
        if fails(shorter):
            names, place = shorter, 0
        else:
            place += 1
    return names


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--sequence", type=lambda text: text.split(","))
    parser.add_argument("--pool", choices=["next", "replicas", "error"], default="next")
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    with tempfile.TemporaryDirectory() as name:
        keys = pathlib.Path(name)
        for number in range(2):
            certificates(keys) if number == 0 else subprocess.run(
                "openssl x509 -req -in own.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out own.pem -days 2 -extfile san".split(),
                cwd=keys, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for end in ("pem", "key"):
                shutil.copy(keys / f"own.{end}", keys / f"own{number}.{end}")
        if given.sequence:
            wrong = carry_out(given.sequence, given.pool, given.seed, keys)
            sys.exit("; ".join(wrong) if wrong else 0)
        r, ends, count, failed = random.Random(given.seed), time.monotonic() + given.minutes * 60, 0, 0
        while time.monotonic() < ends:
            names = [r.choice(list(ACTIONS)) for _ in range(r.randrange(2, 7))]
            kind, seed = r.choice(["next", "replicas", "error"]), r.randrange(1 << 30)
            wrong = carry_out(names, kind, seed, keys)
            count += 1
            if wrong:
                failed += 1
                print(f"sequence {count}, pool {kind}, seed {seed}: {names}: {'; '.join(wrong)}", flush=True)
                shortest = shortened(names, kind, seed, keys)
                print(f"    shortest that fails: {','.join(shortest)}" if shortest else "    repeated twice, it does not fail", flush=True)
        print(f"{count} sequences, {failed} failed")
        sys.exit(failed > 0)


if __name__ == "__main__":
    main()
