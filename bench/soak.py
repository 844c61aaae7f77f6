#!/usr/bin/env python3
"""`fanin front` under mixed load with faults, for long: no wrong value, no answer missing, memory flat.

Clients set, get, ask for many keys and delete, one half by a pool that asks all servers at once, one half by one with a sliding window;
every value carries its key. A third pool moves its keys by one plan after another; their values carry versions, and nobody may read one
that is older than the last answered write. Meanwhile a server is killed and comes back, or is stopped for a while; the front end is killed
and starts again; the stage file is lost. Prints the memory every tenth of the time; the later ones may not exceed the earlier by a quarter.

    soak.py [--seconds S]
"""

import argparse
import collections
import hashlib
import json
import os
import pathlib
import random
import signal
import socket
import sys
import tempfile
import threading
import time

from stands import FANIN, figures, memcached, memcacheds, resident, start

# More servers than a sliding window begins with.
SERVERS = list(range(23401, 23417))
POOLS = {23420: "one-all", 23421: "sliding-window"}
PLANNED = 23422
KEYS = 5000
# Of the keys that plans move, these are used always, the rest from time to time.
MOVED, BUSY = 400, 40


def value(key, size):
    return (b"%s/" % key * (size // len(key) + 1))[:size]


class Left(Exception):
    """A client leaves in the middle of an answer; or is closed since a large value broke off, as it must be."""


def listens(port):
    try:
        return socket.create_connection(("127.0.0.1", port), 1).close() is None
    except OSError:
        return False


class Front:
    """The front end, which may be killed and start again."""

    def __init__(self, folder):
        self.folder, self.lives, self.process = folder, 0, None

    def start(self):
        servers = ", ".join(f'"127.0.0.1:{port}"' for port in SERVERS)
        pool = '[[pool]]\nname = "{}"\nlisten = "127.0.0.1:{}"\nmultiget = "{}"\nservers = [{}]\n{}'
        text = "".join(pool.format(port, port, how, servers, "") for port, how in POOLS.items())
        text += pool.format("planned", PLANNED, "sliding-window", servers, f'plan = "{self.folder}"\n')
        config = self.folder / "front.toml"
        config.write_text(text)
        self.process = start(PLANNED, FANIN, "front", "--config", config)

    def kill(self):
        self.lives += 1
        self.process.kill()
        self.process.wait()
        # The kernel may close its sockets a moment later.
        for port in (*POOLS, PLANNED):
            while listens(port):
                time.sleep(0.05)
        self.start()
        self.lives += 1

    def was_away(self, lives):
        """Whether it has been killed since it had `lives` lives, or is not back yet."""
        return lives != self.lives or self.lives % 2 == 1


class Client(threading.Thread):
    """One connection after another, until it is told to stop; what it has found wrong."""

    def __init__(self, seed, port, stop, front):
        super().__init__(daemon=True)
        self.port, self.front, self.seed = port, front, seed
        self.random, self.stop, self.asked, self.errors, self.wrong = random.Random(seed), stop, 0, 0, None

    def run(self):
        while not self.stop.is_set() and self.wrong is None:
            lives = self.front.lives
            try:
                with socket.create_connection(("127.0.0.1", self.port), 10) as s:
                    s.settimeout(10)
                    file = s.makefile("rwb")
                    for _ in range(self.random.randrange(1, 500)):
                        self.one(file)
            except Left:
                continue
            except OSError as error:
                if not self.front.was_away(lives):
                    self.wrong = f"the connection broke, or no answer came within ten seconds: {error!r}"
                time.sleep(0.1)

    def one(self, file):
        r, key = self.random, b"%d:key" % self.random.randrange(KEYS)
        what = r.choice(["set", "get", "get", "many", "delete", "leave"])
        self.asked += 1
        if what == "set":
            data = value(key, r.choice([10, 100, 1000, 20_000, 300_000 if r.random() < 0.02 else 50]))
            file.write(b"set %s 0 0 %d\r\n%s\r\n" % (key, len(data), data))
        elif what == "delete":
            file.write(b"delete %s\r\n" % key)
        else:
            count = 1 if what == "get" else r.randrange(2, 1000)
            file.write(b"get %s\r\n" % b" ".join([key] + [b"%d:key" % r.randrange(KEYS) for _ in range(count - 1)]))
        file.flush()
        if what == "leave" and r.random() < 0.05:
            raise Left
        while True:
            line = file.readline()
            if not line.startswith(b"VALUE "):
                break
            _, found, _, size = line.split()
            data = file.read(int(size) + 2)
            if len(data) < int(size) + 2:
                self.errors += 1
                raise Left
            if data != value(found, int(size)) + b"\r\n":
                self.wrong = f"a wrong value of {found}"
        self.errors += line.startswith(b"SERVER_ERROR")
        if not line.endswith(b"\n"):
            self.errors += 1
            raise Left


class Mover(Client):
    """Sets and reads keys that plans move. Each key is set by one of them."""

    answered, begun = [0] * MOVED, [0] * MOVED
    # What befell each key, for whoever has to find out why an old value was read.
    history = [collections.deque(maxlen=40) for _ in range(MOVED)]

    def note(self, key, what):
        self.history[key].append((time.time(), what))

    def one(self, file):
        r = self.random
        among = MOVED if r.random() < 0.02 else BUSY
        self.asked += 1
        if r.random() < 0.4:
            key = r.randrange(among // 4) * 4 + self.seed % 4
            version = self.begun[key] = self.begun[key] + 1
            data = b"%d/%d" % (key, version)
            file.write(b"set %d:moved 0 0 %d\r\n%s\r\n" % (key, len(data), data))
            file.flush()
            self.note(key, f"set {version}")
            said = self.line(file)
            self.note(key, f"set {version}: {said.decode().strip()}")
            if said == b"STORED\r\n":
                self.answered[key] = version
            else:
                self.errors += 1
            return
        keys = r.sample(range(among), r.choice([1, 1, 5, 30]))
        before = [self.answered[key] for key in keys]
        file.write(b"get %s\r\n" % b" ".join(b"%d:moved" % key for key in keys))
        file.flush()
        while (line := self.line(file)).startswith(b"VALUE "):
            data = file.read(int(line.split()[3]) + 2)
            key, version = map(int, data.strip().split(b"/"))
            self.note(key, f"get {version}")
            if version < before[keys.index(key)]:
                told = [f"{at:.3f} {what}" for at, what in sorted([*self.history[key], *EVENTS])]
                print("\n".join(told), file=sys.stderr)
                self.wrong = f"key {key}: version {version} was read, {before[keys.index(key)]} had been answered"
        self.errors += line.startswith(b"SERVER_ERROR")

    def line(self, file):
        line = file.readline()
        if not line.endswith(b"\n"):
            self.errors += 1
            raise OSError("closed")
        return line


# Faults and stages, the latest.
EVENTS = collections.deque(maxlen=200)


def event(what):
    EVENTS.append((time.time(), what))


class Planner(threading.Thread):
    """One plan after another, each from where the last one has moved keys."""

    def __init__(self, folder, stop):
        super().__init__(daemon=True)
        self.folder, self.stop, self.plans, self.lost = folder, stop, 0, 0
        self.random, self.at = random.Random(7), [0] * MOVED

    def write(self, name, text):
        (self.folder / "new").write_text(text)
        os.rename(self.folder / "new", self.folder / name)

    def plan(self):
        new = [self.random.randrange(len(SERVERS)) + 1 for _ in range(MOVED)]
        rows = "".join(f"{key}:moved,{to},{was or ''}\n" for key, (to, was) in enumerate(zip(new, self.at)))
        table = "key,server,was\n" + rows
        digest = hashlib.sha256(table.encode()).hexdigest()
        self.write("placement.csv", table)
        self.write("plan.json", json.dumps({"cluster": {"servers": len(SERVERS), "replicas": 1}, "placement_sha256": digest}))
        event(f"plan {digest[:12]}: " + " ".join(f"{key}:{was}>{to}" for key, (to, was) in enumerate(zip(new, self.at))))
        self.at, self.digest = new, digest[:12]

    def reaches(self, digest, stage):
        while not self.stop.is_set():
            try:
                found = figures(PLANNED)
                if found.get("planned.plan_digest") == digest and found.get("planned.plan_stage") == stage:
                    return
            except (OSError, ValueError):
                pass
            time.sleep(0.3)

    def run(self):
        while not self.stop.is_set():
            for stage in ("begin", "move", "copied", "turn", "over"):
                self.write("stage", stage)
                event(f"stage {stage} is written")
                self.reaches(self.digest, stage)
                event(f"stage {stage} is in force")
                if self.random.random() < 0.3:
                    (self.folder / "stage").unlink(missing_ok=True)
                    self.lost += 1
                self.stop.wait(self.random.random() * 4)
            self.plans += 1
            self.write("stage", "begin")
            self.plan()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=3600)
    options = parser.parse_args()
    # Every other one is of the newest release, where that can be had.
    programs = list(memcacheds().values())
    begin = lambda port: memcached(port, programs[port % len(programs)])
    servers = {port: begin(port) for port in SERVERS}
    folder = tempfile.TemporaryDirectory()
    path = pathlib.Path(folder.name)
    stop, r, faults, memory = threading.Event(), random.Random(0), 0, []
    proxy, planner = Front(path), Planner(path, stop)
    planner.write("stage", "begin")
    planner.plan()
    proxy.start()
    clients = [Client(seed, port, stop, proxy) for seed, port in enumerate(list(POOLS) * 4)]
    clients += [Mover(seed, PLANNED, stop, proxy) for seed in range(4)]
    try:
        planner.start()
        for client in clients:
            client.start()
        begun = time.time()
        while time.time() - begun < options.seconds and not any(client.wrong for client in clients):
            port = r.choice(SERVERS)
            event(f"fault of server {port - SERVERS[0] + 1}, or of the front end")
            if r.random() < 0.02:
                proxy.kill()
                event("the front end was killed")
            elif r.random() < 0.5:
                servers[port].kill()
                servers[port].wait()
                time.sleep(r.random())
                servers[port] = begin(port)
                event(f"server {port - SERVERS[0] + 1} was killed")
            else:
                servers[port].send_signal(signal.SIGSTOP)
                time.sleep(r.random() * 3)
                servers[port].send_signal(signal.SIGCONT)
                event(f"server {port - SERVERS[0] + 1} goes on")
            faults += 1
            time.sleep(r.random() * 3)
            if time.time() - begun > options.seconds * (len(memory) + 1) / 10:
                memory.append(resident(proxy.process.pid))
                print(f"{time.time() - begun:6.0f} s: {sum(c.asked for c in clients)} requests, {sum(c.errors for c in clients)} errors, "
                      f"{faults} faults, {proxy.lives // 2} of the front end, {planner.plans} plans, {planner.lost} stage files lost, {memory[-1]:.1f} MB", flush=True)
    finally:
        stop.set()
        for client in clients:
            client.join(15)
        proxy.process.terminate()
        proxy.process.wait(20)
        for server in servers.values():
            server.kill()
            server.wait()
    wrong = [client.wrong for client in clients if client.wrong]
    if len(memory) > 4 and max(memory[-3:]) > 1.25 * max(memory[1:4]) + 5:
        wrong.append(f"the memory grew: {memory}")
    print("; ".join(wrong) or "no wrong value, no answer missing, memory flat")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
