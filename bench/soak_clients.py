"""The clients of soak.py."""

import collections
import random
import socket
import ssl
import threading
import time

from soak_front import FAILOVER
from versions import VersionClient, line

KEYS = 5000
# Of the keys that plans move, these are used always, the rest from time to time.
MOVED, BUSY = 400, 40
# Clients of each pool with failover.
CLIENTS = 4


# Faults and stages, the latest.
EVENTS = collections.deque(maxlen=400)


def event(what):
    EVENTS.append((time.time(), what))


def value(key, size):
    return (b"%s/" % key * (size // len(key) + 1))[:size]


class Left(Exception):
    """A client leaves in the middle of an answer; or is closed since a large value broke off, as it must be."""


class Client(threading.Thread):
    """A client with one connection after another. Stops at `stop` or at the first violation, which is in `wrong`."""

    def __init__(self, seed, port, stop, front):
        super().__init__(daemon=True)
        self.port, self.front, self.seed = port, front, seed
        self.random, self.stop, self.asked, self.errors, self.wrong = random.Random(seed), stop, 0, 0, None
        # The end of the last answer.
        self.last = b""

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), 10)

    def mark(self):
        return self.front.lives

    def may_break(self, mark):
        return self.front.was_away(mark)

    def run(self):
        while not self.stop.is_set() and self.wrong is None:
            mark = self.mark()
            try:
                with self.connect() as s:
                    s.settimeout(10)
                    file = s.makefile("rwb")
                    for _ in range(self.random.randrange(1, 500)):
                        self.one(file)
            except Left:
                continue
            except OSError as error:
                if not self.may_break(mark):
                    self.wrong = f"{time.time():.3f}, port {self.port}: the connection broke, or no answer came within ten seconds: {error!r}"
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
        begins = True
        while True:
            line = self.last = file.readline()
            if begins and not line:
                raise OSError("closed between two requests")
            begins = False
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


class TlsClient(Client):
    """Of the pool with TLS: closed by hand-overs."""

    def connect(self):
        context = ssl.create_default_context(cafile=self.front.folder / "ca.pem")
        return context.wrap_socket(super().connect(), server_hostname="127.0.0.1")

    def mark(self):
        return self.front.lives, self.front.overlaps

    def may_break(self, mark):
        lives, overlaps = mark
        return super().may_break(lives) or overlaps != self.front.overlaps or overlaps % 2 == 1


class SteadyClient(Client):
    """Of the pool that reloads change. Its servers do not fail, so no request may."""

    def one(self, file):
        lives = self.front.lives
        try:
            super().one(file)
        finally:
            if self.errors and not self.front.was_away(lives):
                self.wrong = f"{time.time():.3f}: a request failed in the pool whose servers and weights reloads change: {self.last!r}"
            self.errors = 0


class FailoverClient(VersionClient):
    """Of a pool with failover."""

    def __init__(self, number, name, stop, front):
        super().__init__(number, FAILOVER[name], lambda: front.known[name], stop, CLIENTS)
        self.front = front

    def mark(self):
        return self.front.lives

    def may_break(self, mark):
        return self.front.was_away(mark)


class Mover(Client):
    """Sets and reads keys that plans move. Each key is set by one of them."""

    answered, begun = [0] * MOVED, [0] * MOVED
    # Versions whose sets may be executed late: when a stopped server goes on, after sets of other connections (memcached_alone.py).
    late = [set() for _ in range(MOVED)]
    # Recent events of each key, to explain a stale read.
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
            self.late[key].add(version)
            data = b"%d/%d" % (key, version)
            file.write(b"set %d:moved 0 0 %d\r\n%s\r\n" % (key, len(data), data))
            file.flush()
            self.note(key, f"set {version}")
            said = line(file)
            self.note(key, f"set {version}: {said.decode().strip()}")
            if said == b"STORED\r\n":
                self.answered[key] = version
            else:
                self.errors += 1
            if b"did not answer in time" not in said:
                self.late[key].discard(version)
            return
        keys = r.sample(range(among), r.choice([1, 1, 5, 30]))
        before = [self.answered[key] for key in keys]
        file.write(b"get %s\r\n" % b" ".join(b"%d:moved" % key for key in keys))
        file.flush()
        while (told := line(file)).startswith(b"VALUE "):
            data = file.read(int(told.split()[3]) + 2)
            key, version = map(int, data.strip().split(b"/"))
            self.note(key, f"get {version}")
            if version < before[keys.index(key)] and version not in self.late[key]:
                EVENTS.extend(self.history[key])
                self.wrong = f"key {key}: version {version} was read, {before[keys.index(key)]} had been answered"
        self.errors += told.startswith(b"SERVER_ERROR")


class NoreplyClient(Client):
    """Of the pool whose servers neither fail nor change. It sends changes that nobody acknowledges and multigets of the same keys in one
    pipeline, as pymemcache does with its defaults: each multiget returns exactly what its connection has written before."""

    KEYS, MOST_CHANGES = 50, 20
    current, connections = None, 0

    def one(self, file):
        # Changes of a connection that broke may be executed later, so each connection has its own keys.
        if file is not self.current:
            self.current, self.versions = file, [0] * self.KEYS
            self.connections += 1
        pipeline, expected = [], []
        for _ in range(self.random.randrange(1, 4)):
            changed = set()
            for _ in range(self.random.randrange(self.MOST_CHANGES)):
                changed.add(key := self.random.randrange(self.KEYS))
                pipeline.append(self.change(key))
            page = list(changed | set(self.random.sample(range(self.KEYS), 10)))
            pipeline.append(b"get %s\r\n" % b" ".join(map(self.key, page)))
            expected.append((changed, {self.key(key): (key, self.versions[key]) for key in page}))
        self.asked += len(pipeline)
        file.write(b"".join(pipeline))
        file.flush()
        for changed, page in expected:
            self.check(file, changed, page)

    def key(self, number):
        return b"%d-%d-%d-noreply" % (self.seed, self.connections, number)

    def change(self, number):
        """Bytes of a set or, for a negative version, a delete."""
        version = abs(self.versions[number]) + 1
        if self.random.random() < 0.3:
            self.versions[number] = -version
            return b"delete %s noreply\r\n" % self.key(number)
        self.versions[number] = version
        data = b"%d/" % version + b"x" * self.random.choice([1, 100, 5_000])
        return b"set %s 0 0 %d noreply\r\n%s\r\n" % (self.key(number), len(data), data)

    def check(self, file, changed, page):
        while (said := line(file)).startswith(b"VALUE "):
            _, name, _, size = said.split()
            data = file.read(int(size) + 2)
            key, version = page.pop(name, (None, None))
            if version is None or not data.startswith(b"%d/" % version):
                self.wrong = f"{name} is {data[:20]} instead of version {version}; a negative one is deleted"
        if said != b"END\r\n":
            self.errors += 1
            self.wrong = f"a multiget of a steady server failed: {said}"
        # A server without memory may drop keys, but not the latest.
        lost = [(key, version) for key, version in page.values() if version > 0 and key in changed]
        if lost and said == b"END\r\n":
            self.wrong = f"keys and versions that this connection had just set are missing: {lost}"
