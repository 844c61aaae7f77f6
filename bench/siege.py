#!/usr/bin/env python3
"""`fanin front` besieged, before the system's memcached and before the newest release: clients that send anything, and others that watch.

Attackers smuggle commands behind lengths of which two servers make two things, make keys that hold answers and have them printed, list
them, send bytes at random, lines cut anywhere, values without their end, huge lists of keys in bursts, large values of one server, and
deletions of keys that nobody has; they half-close, leave and read nothing. Watchers set and get keys of their own: any value that is not the one they set last, any error, any connection to a server
that was given up, any answer that takes longer than the pool's timeout is a failure. At the end the memory is held against its bound.

    siege.py [--seconds S] [--seed N]
"""

import argparse
import base64
import pathlib
import random
import socket
import sys
import tempfile
import threading
import time

from stands import FANIN, ended, figures, memcached, memcacheds, resident, start

FIRST = 23500
SERVERS = 4
MEMORY = 128 << 20
TIMEOUT = 1.0
ESTABLISHED = "01"
EVIL = b"EVIL!"


def config(port, servers):
    listed = ", ".join(f'"127.0.0.1:{server}"' for server in servers)
    return (f'memory = "{MEMORY >> 20} MiB"\n[[pool]]\nlisten = "127.0.0.1:{port}"\nservers = [{listed}]\n'
            f'[[pool]]\nname = "window"\nlisten = "127.0.0.1:{port + 1}"\nmultiget = "sliding-window"\nservers = [{listed}]\n')


def hidden(r):
    """Commands where a value should be: a server that runs them says more than was asked."""
    return r.choice([b"set evil 0 0 5\r\n%s\r\nmg evil v\r\n" % EVIL, b"mg evil v\r\nmg evil v\r\n", b"get evil\r\n", b"mn\r\n", b"quit\r\n"])


def smuggle(r):
    body = hidden(r)
    size = r.choice([b"+%d", b"%d\t", b"\t%d", b"0x%d", b"%d\x0b", b" %d "]) % len(body)
    size = r.choice([size, b"%d" % (len(body) + (1 << 32)), b"%d" % (len(body) - (1 << 32)), b"%d" % (len(body) + (1 << 64))])
    line = r.choice([b"set a 0 0 %s", b"set a 0 0 %s noreply", b"ms a %s", b"ms a %s q", b"cas a 0 0 %s 1", b"append a 0 0 %s", b"add a\0 0 0 %s",
                     b"ms a %s v v", b"ms a %s Z", b"ms a %s " + b" ".join(b"%c" % c for c in b"bkstcfvlhuxI") + b" T0 N0 R0 C1 E1",
                     b"set " + b"k" * 300 + b" 0 0 %s", b"set a x 0 %s", b"set noreply 0 0 %s"])
    return line % size + b"\r\n" + body + b"\r\n"


def inject(r):
    """Keys that hold whole answers, by every way in which one may be printed."""
    answer = r.choice([b"EN", b"END", b"STORED", b"HD", b"VALUE watched:1 0 5\r\n" + EVIL + b"\r\nEND", b"VA 5\r\n" + EVIL])
    key = base64.b64encode(b"x\r\n" + answer + b"\r\n" + answer + b"\r\n")
    return b"ma %s b N0 J5\r\n" % key + r.choice([
        b"mg %s b k v\r\n" % key, b"mg %s b k q\r\n" % key, b"md %s b k\r\n" % key, b"ma %s b k N0\r\n" % key, b"ms %s 2 b k\r\nxx\r\n" % key,
        b"me %s b\r\n" % key, b"stats cachedump %d 0\r\n" % r.randrange(40), b"stats servers cachedump 1 100\r\n", b"stats detail on\r\n",
        b"stats detail dump\r\n", b"stats items\r\n", b"stats reset\r\n", b"lru_crawler metadump all\r\n", b"watch fetchers\r\n"])


def near(r):
    """Keys of any byte, most of them like one that is watched or like each other."""
    def key():
        one = r.choice([b"a", b"b", b"watched:%d" % r.randrange(20), bytes(r.choice(b"\r\t\x01\x7f\x80\xff0aA") for _ in range(r.randrange(1, 4)))])
        return r.choice([one, one + b"\r", b"\r" + one, one + b"\t", one + b"\r\r"])
    keys = b" ".join(key() for _ in range(r.randrange(1, 6)))
    return r.choice([b"get %s\r\n" % keys, b"gets %s\r\n" % keys, b"gat 0 %s\r\n" % keys, b"delete x%s\r\n" % key(), b"mg %s v k\r\n" % key(),
                     b"set x%s 0 0 1\r\nx\r\n" % key(), b"me %s\r\n" % key() * r.randrange(1, 30)])


def admin(r):
    return r.choice([b"flush_all\r\n", b"flush_all 0 noreply\r\n", b"verbosity 9\r\n", b"cache_memlimit 1\r\n", b"shutdown\r\n", b"stats servers reset\r\n"])


def junk(r):
    words = [b"get", b"gets", b"gat", b"set", b"ms", b"mg", b"ma", b"md", b"me", b"mn", b"delete", b"noreply", b"stats", b"touch", b"incr", b"a", b"b", b"k",
             b"v", b"q", b"0", b"1", b"5", b"-1", b"O1", b"T0", b"\0", b"\r", b"\x01", b"x" * 251, b"cachedump", b"verbosity", b"flush_all x", b"version"]
    if r.random() < 0.2:
        return r.randbytes(r.randrange(1, 300)) + b"\r\n"
    return b" ".join(r.choice(words) for _ in range(r.randrange(1, 8))) + r.choice([b"\r\n", b"\r\n", b"\n"])


def torn(r):
    size = r.choice([2, 100, 5000, 700_000 if r.random() < 0.05 else 50])
    return b"%s %d%s\r\n%s" % (r.choice([b"set a 0 0", b"ms a"]), size, r.choice([b"", b" q"]), r.choice([b"v", b"\r\n"]) * (size + r.randrange(3)))


def begun(r):
    """The beginning of a value."""
    return b"set begun 0 0 100000\r\n" + b"v" * r.randrange(50_000)


def bulk(r):
    """Large values, all on one server, again and again; and changes of keys that nobody has."""
    store = b"set bulk 0 0 500000 noreply\r\n%s\r\n" % (b"b" * 500_000) if r.random() < 0.1 else b""
    return store + r.choice([b"get" + b" bulk" * r.randrange(2, 60) + b"\r\n",
                             b"".join(b"delete invented:%d noreply\r\n" % r.randrange(1 << 30) for _ in range(r.randrange(1, 500)))])


def burst(r):
    return (b"get " + b" ".join(b"burst:%d" % r.randrange(2000) for _ in range(r.randrange(1, 3000))) + b"\r\n") * r.randrange(1, 20)


class Attacker(threading.Thread):
    def __init__(self, seed, port, stop):
        super().__init__(daemon=True)
        self.random, self.port, self.stop, self.sent = random.Random(seed), port, stop, 0

    def run(self):
        while not self.stop.is_set():
            try:
                self.once()
            except OSError:
                pass

    def once(self):
        r = self.random
        with socket.create_connection(("127.0.0.1", self.port + r.randrange(2)), 5) as s:
            s.settimeout(0.02)
            reads = r.random() < 0.8
            for _ in range(r.randrange(1, 30)):
                text = r.choices([smuggle, inject, near, junk, admin, torn, burst, begun, bulk], [3, 3, 3, 3, 1, 1, 0.3, 0.5, 0.5])[0](r)
                cut = r.randrange(len(text) + 1)
                for piece in (text[:cut], text[cut:]):
                    s.sendall(piece)
                self.sent += 1
                if reads:
                    self.drain(s)
            if r.random() < 0.3:
                s.shutdown(socket.SHUT_WR)
                self.drain(s)

    def drain(self, s):
        try:
            while s.recv(1 << 16):
                pass
        except socket.timeout:
            pass


class Watcher(threading.Thread):
    """Sets and gets keys that nobody else has."""

    def __init__(self, number, port, stop):
        super().__init__(daemon=True)
        self.random, self.number, self.port, self.stop = random.Random(number), number, port + number % 2, stop
        self.asked, self.wrong, self.longest, self.kept = 0, None, 0.0, {}

    def run(self):
        try:
            with socket.create_connection(("127.0.0.1", self.port), 5) as s:
                s.settimeout(10)
                file = s.makefile("rwb")
                while not self.stop.is_set() and not self.wrong:
                    begun = time.monotonic()
                    self.wrong = self.one(file)
                    self.longest = max(self.longest, time.monotonic() - begun)
                    self.asked += 1
        except OSError as error:
            self.wrong = f"the connection broke: {error}"

    def one(self, file):
        r = self.random
        # Watched keys have known names, so that attackers can guess at them, but each watcher its own.
        key = b"watched:%d" % (r.randrange(20) * 5 + self.number % 5)
        what = r.choice(["set", "noreply", "get", "get", "many", "mg"])
        value = b"%s=%d" % (key, r.randrange(1 << 40))
        if what == "noreply":
            # It reads its own write, as pymemcache does by default.
            file.write(b"set %s 0 0 %d noreply\r\n%s\r\nget %s\r\n" % (key, len(value), value, key))
            file.flush()
            self.kept[key] = value
            right = b"VALUE %s 0 %d\r\n%s\r\nEND\r\n" % (key, len(value), value)
            got = file.read(len(right))
            return None if got == right else f"get {key} after a set without a response: {got}"
        if what == "set":
            file.write(b"set %s 0 0 %d\r\n%s\r\n" % (key, len(value), value))
            file.flush()
            line = file.readline()
            self.kept[key] = value
            return None if line == b"STORED\r\n" else f"set {key}: {line}"
        keys = [key] if what != "many" else list(dict.fromkeys([key, *r.sample(sorted(self.kept), min(len(self.kept), 5))]))
        if what == "mg":
            file.write(b"mg %s v k O%d\r\n" % (key, self.asked))
            file.flush()
            line = file.readline()
            rest = b" k%s O%d\r\n" % (key, self.asked)
            if key not in self.kept:
                return None if line == b"EN" + rest else f"mg {key}: {line}"
            value = self.kept[key]
            got = line + file.read(len(value) + 2)
            return None if got == b"VA %d" % len(value) + rest + value + b"\r\n" else f"mg {key}: {got}"
        file.write(b"get %s\r\n" % b" ".join(keys))
        file.flush()
        right = b"".join(b"VALUE %s 0 %d\r\n%s\r\n" % (k, len(self.kept[k]), self.kept[k]) for k in keys if k in self.kept) + b"END\r\n"
        got = b""
        while len(got) < len(right):
            line = file.readline()
            got += line
            if not line or not right.startswith(got):
                return f"get {keys}: {got[-200:]}"
        return None


def connections(servers):
    """The front end's connections to these ports, each by its own port and the server's."""
    rows = (line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:])
    ends = ([int(address.split(":")[1], 16) for address in row[1:3]] for row in rows if row[3] == ESTABLISHED)
    return {(own, server) for own, server in ends if server in servers}


def besiege(name, program, seconds, seed):
    """Faults that a siege of `fanin front` finds in front of this memcached."""
    with tempfile.TemporaryDirectory() as folder, ended([]) as processes:
        servers = range(FIRST + 10, FIRST + 10 + SERVERS)
        processes.extend(memcached(port, program) for port in servers)
        file = pathlib.Path(folder) / "front.toml"
        file.write_text(config(FIRST, servers))
        proxy = start(FIRST, FANIN, "front", "--config", file, "--threads", 2)
        processes.append(proxy)
        time.sleep(0.5)
        before = connections(servers)
        with socket.create_connection(("127.0.0.1", FIRST), 5) as s:
            for number in range(2000):
                s.sendall(b"set burst:%d 0 0 100 noreply\r\n%s\r\n" % (number, b"b" * 100))
            s.sendall(b"mn\r\n")
            assert s.recv(100) == b"MN\r\n"
        stop = threading.Event()
        watchers = [Watcher(number, FIRST, stop) for number in range(5)]
        attackers = [Attacker(seed * 1000 + number, FIRST, stop) for number in range(6)]
        for one in watchers + attackers:
            one.start()
        begun, most = time.time(), 0
        while time.time() - begun < seconds and not any(one.wrong for one in watchers) and proxy.poll() is None:
            time.sleep(0.2)
            most = max(most, resident(proxy.pid))
        stop.set()
        for one in watchers + attackers:
            one.join(20)
        found = [one.wrong for one in watchers if one.wrong]
        if proxy.poll() is not None:
            return [*found, f"the front end ended with {proxy.returncode}"]
        after = figures(FIRST)
        # As they are where a thread panics. Counters say nothing of that: clients reset them.
        if gone := before - connections(servers):
            found.append(f"{len(gone)} of {len(before)} connections to servers were given up: {after}")
        if most > MEMORY / 1e6 + 64:
            found.append(f"{most:.0f} MB of memory")
        longest = max(one.longest for one in watchers)
        if longest > TIMEOUT:
            found.append(f"an answer took {longest:.2f} s")
        time.sleep(1)
        print(f"{name}: {sum(one.sent for one in attackers)} attacks, {sum(one.asked for one in watchers)} answers watched, the longest {longest * 1e3:.0f} ms; "
              f"{most:.0f} MB at most, {resident(proxy.pid):.0f} when idle; {len(before)} connections to servers, {len(gone)} given up", flush=True)
        return [f"{name}: {one}" for one in found]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    versions = memcacheds()
    wrong = [one for name, program in versions.items() for one in besiege(name, program, options.seconds / len(versions), options.seed)]
    print("\n".join(wrong) or "no false answer, no error, no connection given up")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
