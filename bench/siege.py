#!/usr/bin/env python3
"""`fanin front` under siege, with the system's memcached and with the newest release: clients that attack, and others that watch.

There are four pools: all servers at once, a sliding window, TLS, and hubs, with an agent beside each server. Attackers smuggle commands
behind ambiguous lengths, make keys that contain responses and have them printed, list keys, send random bytes, lines cut anywhere, values
without their end, large multigets in bursts, large values of one server, and deletions of unknown keys; they half-close, leave and read
nothing. They send random bytes to agents, leave in the middle of handshakes, and send TLS key updates without end, as clients and as a
memcached with TLS.

Watchers set and get keys of their own, some without waiting for the response to a change. A failure is any value other than the one they
set last, any error, a response later than the pool's timeout, a connection to a server that is closed, a thread's iteration of more than
250 ms, and memory beyond the budget of the front end or of an agent.

    siege.py [--seconds S] [--seed N]
"""

import argparse
import base64
import contextlib
import os
import pathlib
import random
import re
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

from stands import FANIN, certificates, ended, figures, memcached, memcacheds, resident, start

FIRST = 23500
SERVERS = range(FIRST + 10, FIRST + 14)
AGENTS = range(FIRST + 20, FIRST + 24)
# Pools by number, from port FIRST on.
POOLS = ["all", "window", "tls", "hubs"]
TLS, HUBS = POOLS.index("tls"), POOLS.index("hubs")
# A pool of one memcached that sends TLS key updates without end, and the metrics' port.
ENDLESS, ENDLESS_SERVER, METRICS = FIRST + 5, FIRST + 30, FIRST + 6
MEMORY = 128 << 20
# Bytes of memory beyond the budget, and seconds of an iteration.
SLACK, LONGEST = 4 << 20, 0.25
TIMEOUT = 1.0
ESTABLISHED = "01"
EVIL = b"EVIL!"
ATTACKERS, WATCHERS = 6, 8


def config(folder):
    listed = ", ".join(f'"127.0.0.1:{server}"' for server in SERVERS)
    settings = ["", 'multiget = "sliding-window"', 'tls = { certificate = "own.pem", key = "own.key" }',
                'multiget = "sicc"\nracks = "racks.toml"\nplaintext = true']
    pools = [f'[[pool]]\nname = "{name}"\nlisten = "127.0.0.1:{FIRST + number}"\nservers = [{listed}]\n{more}\n'
             for number, (name, more) in enumerate(zip(POOLS, settings))]
    endless = (f'[[pool]]\nname = "endless"\nlisten = "127.0.0.1:{ENDLESS}"\nservers = ["127.0.0.1:{ENDLESS_SERVER}"]\n'
               f'server_tls = {{ ca = "ca.pem" }}\n')
    text = f'memory = "{MEMORY >> 20} MiB"\nthreads = 2\n[metrics]\nlisten = "127.0.0.1:{METRICS}"\n' + "".join(pools) + endless
    (folder / "front.toml").write_text(text)
    racks = [f'[[server]]\nmemcached = "127.0.0.1:{server}"\nagent = "127.0.0.1:{agent}"\nrack = "r{number % 2}"\n'
             for number, (server, agent) in enumerate(zip(SERVERS, AGENTS))]
    (folder / "racks.toml").write_text("".join(racks))
    for server, agent in zip(SERVERS, AGENTS):
        (folder / f"agent{agent}.toml").write_text(f'listen = "127.0.0.1:{agent}"\nmemcached = "127.0.0.1:{server}"\nracks = "racks.toml"\n'
                                                   f'plaintext = true\nmemory = "{MEMORY >> 20} MiB"\n')


def connect(pool, context):
    """A connection to a pool, by its number."""
    s = socket.create_connection(("127.0.0.1", FIRST + pool), 5)
    return context.wrap_socket(s, server_hostname="127.0.0.1") if pool == TLS else s


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
    def __init__(self, seed, context, stop):
        super().__init__(daemon=True)
        self.random, self.context, self.stop, self.sent = random.Random(seed), context, stop, 0

    def run(self):
        while not self.stop.is_set():
            try:
                kind = self.random.choices([self.once, self.stranger, self.handshake], [10, 1, 1])[0]
                kind()
            except OSError:
                pass

    def stranger(self):
        """Random bytes to an agent, or a connection that never greets."""
        r = self.random
        with socket.create_connection(("127.0.0.1", r.choice(AGENTS)), 5) as s:
            s.settimeout(0.02)
            for _ in range(r.randrange(5)):
                s.sendall(r.randbytes(r.randrange(1, 5000)))
                self.drain(s)
            self.sent += 1

    def handshake(self):
        """The beginning of a TLS handshake, or something else where one should be."""
        r = self.random
        with socket.create_connection(("127.0.0.1", FIRST + TLS), 5) as s:
            incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
            tls = self.context.wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
            try:
                tls.do_handshake()
            except ssl.SSLWantReadError:
                pass
            hello = outgoing.read()
            s.sendall(r.choice([hello[:r.randrange(len(hello))], hello, r.randbytes(200), b"get a\r\n"]))
            s.settimeout(0.02)
            self.drain(s)
            self.sent += 1

    def once(self):
        r = self.random
        with connect(r.randrange(len(POOLS)), self.context) as s:
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


class KeyUpdates(threading.Thread):
    """TLS key updates without end: from a client, and from a memcached that the pool `endless` asks."""

    def __init__(self, folder, stop):
        super().__init__(daemon=True)
        self.folder, self.stop, self.begun = folder, stop, 0

    def run(self):
        # `K` asks the other side to update its keys, too.
        server = f"yes K | openssl s_server -accept {ENDLESS_SERVER} -cert own.pem -key own.key"
        client = f"yes K | openssl s_client -connect 127.0.0.1:{FIRST + TLS} -CAfile ca.pem"
        running = {server: None, client: None}
        while not self.stop.wait(0.5):
            for command, process in running.items():
                if process is None or process.poll() is not None:
                    running[command] = subprocess.Popen(["sh", "-c", command], cwd=self.folder, start_new_session=True,
                                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                    self.begun += 1
            try:
                with socket.create_connection(("127.0.0.1", ENDLESS), 5) as s:
                    s.settimeout(0.5)
                    s.sendall(b"get a\r\n")
                    s.recv(100)
            except OSError:
                pass
        for process in running.values():
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


class Watcher(threading.Thread):
    """Sets and gets keys that nobody else has."""

    def __init__(self, number, context, stop):
        super().__init__(daemon=True)
        self.random, self.number, self.context, self.stop = random.Random(number), number, context, stop
        self.asked, self.wrong, self.longest, self.kept = 0, None, 0.0, {}

    def run(self):
        pool = self.number % len(POOLS)
        try:
            with connect(pool, self.context) as s:
                s.settimeout(10)
                file = s.makefile("rwb")
                while not self.stop.is_set() and not self.wrong:
                    begun = time.monotonic()
                    self.wrong = self.one(file)
                    self.longest = max(self.longest, time.monotonic() - begun)
                    self.asked += 1
        except OSError as error:
            self.wrong = f"the connection broke: {error}"
        if self.wrong:
            self.wrong = f"pool {POOLS[pool]}: {self.wrong}"

    def one(self, file):
        r = self.random
        # Watched keys have known names, so that attackers can guess at them, but each watcher its own.
        key = b"watched:%d" % (r.randrange(20) * WATCHERS + self.number)
        what = r.choice(["set", "noreply", "get", "get", "many", "mg"])
        value = b"%s=%d" % (key, r.randrange(1 << 40))
        if what == "noreply":
            # It reads its own changes, as pymemcache does by default: a multiget, which hubs may answer.
            others = [k for k in r.sample(sorted(self.kept), min(len(self.kept), 5)) if k != key]
            file.write(b"set %s 0 0 %d noreply\r\n%s\r\nget %s\r\n" % (key, len(value), value, b" ".join([key, *others])))
            file.flush()
            self.kept[key] = value
            right = b"".join(b"VALUE %s 0 %d\r\n%s\r\n" % (k, len(self.kept[k]), self.kept[k]) for k in [key, *others]) + b"END\r\n"
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


def connections(pid):
    """The front end's connections to servers, each by its own port and the server's."""
    own = set()
    for file in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        # It may have been closed since.
        with contextlib.suppress(OSError):
            own.add(str(file.readlink()))
    rows = (line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:])
    ends = ([int(address.split(":")[1], 16) for address in row[1:3]] for row in rows if row[3] == ESTABLISHED and f"socket:[{row[9]}]" in own)
    return {(port, server) for port, server in ends if server in SERVERS}


def long_iterations():
    """Iterations of the front end's threads of more than LONGEST, and the bound of the last class that has any, s."""
    text = urllib.request.urlopen(f"http://127.0.0.1:{METRICS}/metrics", timeout=10).read().decode()
    rows = re.findall(r'^fanin_loop_iteration_seconds_bucket\{.*le="([^"]+)"\} (\d+)$', text, re.M)
    counts = sorted((float(bound), int(count)) for bound, count in rows)
    total = counts[-1][1]
    short = max(count for bound, count in counts if bound <= LONGEST)
    return total - short, next(bound for bound, count in counts if count == total)


def besiege(name, program, seconds, seed):
    """Faults that a siege of `fanin front` finds in front of this memcached."""
    with tempfile.TemporaryDirectory() as path, ended([]) as processes:
        folder = pathlib.Path(path)
        certificates(folder)
        config(folder)
        context = ssl.create_default_context(cafile=folder / "ca.pem")
        processes.extend(memcached(port, program) for port in SERVERS)
        agents = [start(port, FANIN, "agent", "--config", folder / f"agent{port}.toml") for port in AGENTS]
        proxy = start(FIRST, FANIN, "front", "--config", folder / "front.toml")
        processes += [proxy, *agents]
        with socket.create_connection(("127.0.0.1", FIRST), 5) as s:
            for number in range(2000):
                s.sendall(b"set burst:%d 0 0 100 noreply\r\n%s\r\n" % (number, b"b" * 100))
            s.sendall(b"mn\r\n")
            assert s.recv(100) == b"MN\r\n"
        time.sleep(1)
        before, stop = connections(proxy.pid), threading.Event()
        idle = {process: resident(process.pid) for process in (proxy, *agents)}
        watchers = [Watcher(number, context, stop) for number in range(WATCHERS)]
        attackers = [Attacker(seed * 1000 + number, context, stop) for number in range(ATTACKERS)]
        updates = KeyUpdates(folder, stop)
        for one in (*watchers, *attackers, updates):
            one.start()
        begun, most = time.time(), dict(idle)
        while time.time() - begun < seconds and not any(one.wrong for one in watchers) and all(one.poll() is None for one in idle):
            time.sleep(0.2)
            most = {process: max(most[process], resident(process.pid)) for process in idle if process.poll() is None}
        stop.set()
        for one in (*watchers, *attackers, updates):
            one.join(20)
        found = [one.wrong for one in watchers if one.wrong]
        if codes := [one.poll() for one in idle if one.poll() is not None]:
            return [*found, f"the front end or an agent ended with {codes}"]
        after = figures(FIRST)
        # As they are where a thread panics. Counters do not show that: clients reset them.
        if gone := before - connections(proxy.pid):
            found.append(f"{len(gone)} of {len(before)} connections to servers were closed: {after}")
        budget = (MEMORY + SLACK) / 1e6
        grown = [most[process] - idle[process] for process in idle]
        found += [f"{of:.0f} MB of memory in {where}, over {budget:.0f}" for where, of in zip(("the front end", *["an agent"] * 4), grown) if of > budget]
        longest, (iterations, bound) = max(one.longest for one in watchers), long_iterations()
        if longest > TIMEOUT:
            found.append(f"a response took {longest:.2f} s")
        if iterations:
            found.append(f"{iterations} iterations of more than {LONGEST} s, the longest of at most {bound} s")
        time.sleep(1)
        print(f"{name}: {sum(one.sent for one in attackers)} attacks, {updates.begun} endless connections, {sum(one.asked for one in watchers)} responses "
              f"watched, the longest {longest * 1e3:.0f} ms; iterations of at most {bound * 1e3:.0f} ms; memory: front end {grown[0]:.0f} MB, agents "
              f"{max(grown[1:]):.0f} MB; {len(before)} connections to servers, {len(gone)} closed", flush=True)
        return [f"{name}: {one}" for one in found]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    versions = memcacheds()
    wrong = [one for name, program in versions.items() for one in besiege(name, program, options.seconds / len(versions), options.seed)]
    print("\n".join(wrong) or "no wrong response, no error, no connection closed, no long iteration, memory within its budget")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
