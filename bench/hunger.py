#!/usr/bin/env python3
"""Clients and servers that would have `fanin front` take all memory: each attack on a front end of its own with a budget of 64 MiB.

Prints the most memory that each process has had (VmHWM), and whether another client gets and stores a value while the attack goes on, and
behind it. More than the budget and 64 MB is a failure, and so is an attack under which others get or store nothing.

    hunger.py [--seconds S]
"""

import argparse
import hashlib
import json
import pathlib
import socket
import sys
import tempfile
import threading
import time

from front import memory
from stands import FANIN, ended, memcached, start

FRONT, SERVERS = 23700, (23701, 23702)
HOSTILE = 23703
BUDGET = 64 << 20
LARGE = b"x" * 1_000_000


def hostile(stop):
    """A server that lists without end."""
    listener = socket.create_server(("127.0.0.1", HOSTILE))
    listener.settimeout(0.2)

    def lists(connection):
        try:
            while connection.recv(1 << 16):
                while not stop.is_set():
                    connection.sendall(b"STAT items:1:number 1\r\n" * 5000)
        except OSError:
            pass

    while not stop.is_set():
        try:
            threading.Thread(target=lists, args=(listener.accept()[0],), daemon=True).start()
        except TimeoutError:
            pass
    listener.close()


def keys(count):
    return b" ".join(b"large:%d" % number for number in range(count))


# Number of clients, the bytes that each sends without reading, and extra settings of the pool.
ATTACKS = {
    "equal gets are joined": (20, b"get large:1\r\n" * 1000, "join = true"),
    "equal gets are not joined": (20, b"get large:1\r\n" * 1000, ""),
    "lists of large values": (100, b"get %s\r\n" % keys(60), ""),
    "lists among others' small gets": (20, b"get %s\r\n" % (keys(60) + b" " + keys(60)) * 20, ""),
    "a list of one key that is on its way": (20, b"get" + b" large:1" * 1500 + b"\r\n", 'plan = "FOLDER"'),
    "values of which half is sent": (400, b"set a 0 0 1000000\r\n" + LARGE[:500_000], ""),
    "beginnings of values of many clients": (6000, b"set a 0 0 100000\r\n" + LARGE[:16_000], ""),
    "lines of keys without end": (60, b"get " + b"k" * 200 + b" k" * 4_000_000, ""),
    "lists of a server without end": (10, b"stats items\r\nstats servers\r\nstats items\r\n" * 20, "HOSTILE"),
}


def say(connection, text):
    """As much of it as is taken."""
    connection.setblocking(False)
    view = memoryview(text)
    for _ in range(200):
        try:
            view = view[connection.send(view):]
        except BlockingIOError:
            time.sleep(0.01)
        except OSError:
            return
        if not view:
            return


def serves(key):
    """Whether a small value comes, to a client of its own."""
    try:
        with socket.create_connection(("127.0.0.1", FRONT), 5) as s:
            s.sendall(b"get %s\r\n" % key)
            return s.recv(100) == b"VALUE %s 0 1\r\nx\r\nEND\r\n" % key
    except OSError:
        return False


def stores():
    """Whether a value of 200 KB is stored, for a client of its own."""
    try:
        with socket.create_connection(("127.0.0.1", FRONT), 5) as s:
            s.sendall(b"set stored 0 0 200000\r\n%s\r\n" % LARGE[:200_000])
            return s.recv(100) == b"STORED\r\n"
    except OSError:
        return False


def attack(name, seconds):
    clients, text, of_pool = ATTACKS[name]
    with tempfile.TemporaryDirectory() as folder, ended([]) as processes:
        path, servers = pathlib.Path(folder), SERVERS
        processes.extend(memcached(port) for port in servers)
        if of_pool == "HOSTILE":
            of_pool, servers = "", (*servers, HOSTILE)
        table = "key,server,was\nlarge:1,2,1\n"
        (path / "placement.csv").write_text(table)
        plan = {"cluster": {"servers": 2, "replicas": 1}, "placement_sha256": hashlib.sha256(table.encode()).hexdigest()}
        (path / "plan.json").write_text(json.dumps(plan))
        listed = ", ".join(f'"127.0.0.1:{port}"' for port in servers)
        text_of_pool = of_pool.replace("FOLDER", folder)
        (path / "front.toml").write_text(f'memory = "{BUDGET >> 20} MiB"\n[[pool]]\nlisten = "127.0.0.1:{FRONT}"\nservers = [{listed}]\n{text_of_pool}\n')
        stop = threading.Event()
        threading.Thread(target=hostile, args=(stop,), daemon=True).start()
        proxy = start(FRONT, FANIN, "front", "--config", path / "front.toml", "--threads", 2)
        processes.append(proxy)
        with socket.create_connection(("127.0.0.1", FRONT), 5) as s:
            file = s.makefile("rwb")
            for number in range(60):
                file.write(b"set large:%d 0 0 %d\r\n%s\r\n" % (number, len(LARGE), LARGE))
                file.flush()
                file.readline()
            # One that a server has which answers.
            for key in (b"small:%d" % number for number in range(100)):
                file.write(b"set %s 0 0 1\r\nx\r\n" % key)
                file.flush()
                if file.readline() == b"STORED\r\n":
                    break
        before = memory(proxy.pid)
        attackers = []
        for _ in range(clients):
            attackers.append(socket.create_connection(("127.0.0.1", FRONT), 5))
            say(attackers[-1], text)
        end, served, stored = time.time() + seconds, [], []
        while time.time() < end and proxy.poll() is None:
            served.append(serves(key))
            stored.append(stores())
            time.sleep(0.2)
        for one in attackers:
            one.close()
        time.sleep(1)
        after = serves(key)
        stop.set()
        most = memory(proxy.pid) if proxy.poll() is None else float("inf")
        print(f"{name}: {most:.0f} MB at most, {before:.0f} before; served {sum(served)} of {len(served)} times meanwhile, "
              f"stored {sum(stored)}, {'yes' if after else 'NO'} behind it", flush=True)
        return [] if most <= BUDGET / 1e6 + 64 and after and any(served) and any(stored) else [name]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=5)
    options = parser.parse_args()
    wrong = [one for name in ATTACKS for one in attack(name, options.seconds)]
    print("; ".join(wrong) or "no attack takes more than the budget and 64 MB")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
