#!/usr/bin/env python3
"""`fanin front` under mixed load with faults, for long: no wrong value, no answer missing, memory flat.

Clients set, get, ask for many keys and delete, one half by a pool that asks all servers at once, one half by one with a sliding window;
every value carries its key. Meanwhile a server is killed and comes back, or is stopped for a while. Prints the memory every tenth of the
time; the later ones may not exceed the earlier by a quarter.

    soak.py [--seconds S]
"""

import argparse
import os
import pathlib
import random
import signal
import socket
import sys
import tempfile
import threading
import time

from stands import FANIN, memcached, memcacheds, start

# More servers than a sliding window begins with.
SERVERS = list(range(23401, 23417))
POOLS = {23420: "one-all", 23421: "sliding-window"}
KEYS = 5000


def value(key, size):
    return (b"%s/" % key * (size // len(key) + 1))[:size]


class Left(Exception):
    """A client leaves in the middle of an answer; or is closed since a large value broke off, as it must be."""


class Client(threading.Thread):
    """One connection after another, until it is told to stop; what it has found wrong."""

    def __init__(self, seed, port, stop):
        super().__init__(daemon=True)
        self.port = port
        self.random, self.stop, self.asked, self.errors, self.wrong = random.Random(seed), stop, 0, 0, None

    def run(self):
        while not self.stop.is_set() and self.wrong is None:
            try:
                with socket.create_connection(("127.0.0.1", self.port), 10) as s:
                    s.settimeout(10)
                    file = s.makefile("rwb")
                    for _ in range(self.random.randrange(1, 500)):
                        self.one(file)
            except Left:
                continue
            except socket.timeout:
                self.wrong = "no answer within ten seconds"
            except OSError as error:
                self.wrong = f"the connection broke: {error}"

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


def front():
    """One before the servers, with a port for each pool."""
    servers = ", ".join(f'"127.0.0.1:{port}"' for port in SERVERS)
    pool = '[[pool]]\nlisten = "127.0.0.1:{}"\nmultiget = "{}"\nservers = [{}]\n'
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder) / "front.toml"
        config.write_text("".join(pool.format(port, how, servers) for port, how in POOLS.items()))
        return start(max(POOLS), FANIN, "front", "--config", config)


def resident(pid):
    return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=3600)
    options = parser.parse_args()
    # Every other one is of the newest release, where that can be had.
    programs = list(memcacheds().values())
    begin = lambda port: memcached(port, programs[port % len(programs)])
    servers = {port: begin(port) for port in SERVERS}
    proxy = front()
    stop, r, faults, memory = threading.Event(), random.Random(0), 0, []
    clients = [Client(seed, port, stop) for seed, port in enumerate(list(POOLS) * 4)]
    try:
        for client in clients:
            client.start()
        begun = time.time()
        while time.time() - begun < options.seconds and not any(client.wrong for client in clients):
            port = r.choice(SERVERS)
            if r.random() < 0.5:
                servers[port].kill()
                servers[port].wait()
                time.sleep(r.random())
                servers[port] = begin(port)
            else:
                servers[port].send_signal(signal.SIGSTOP)
                time.sleep(r.random() * 3)
                servers[port].send_signal(signal.SIGCONT)
            faults += 1
            time.sleep(r.random() * 3)
            if time.time() - begun > options.seconds * (len(memory) + 1) / 10:
                memory.append(resident(proxy.pid))
                print(f"{time.time() - begun:6.0f} s: {sum(c.asked for c in clients)} requests, {sum(c.errors for c in clients)} errors, "
                      f"{faults} faults, {memory[-1]:.1f} MB", flush=True)
    finally:
        stop.set()
        for client in clients:
            client.join(15)
        proxy.terminate()
        proxy.wait(20)
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
