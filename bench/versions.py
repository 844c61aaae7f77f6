"""Clients of `fanin front` that set and read keys whose values carry versions, and know which versions a read may return."""

import random
import socket
import threading
import time


class Known:
    """The last version begun of each key, and those that were acknowledged or read."""

    def __init__(self, name, keys):
        self.name, self.lock = name.encode(), threading.Lock()
        self.begun, self.acknowledged, self.read = [0] * keys, [0] * keys, [0] * keys
        # Odd while two processes serve the pool: one does not know the other's unacknowledged changes, so reads do not bind it.
        self.overlaps = 0
        # Whether an event has ended the promise for these keys.
        self.is_void = False

    def note(self, versions, key, version):
        with self.lock:
            versions[key] = max(versions[key], version)

    def key(self, number):
        return b"%d-%s" % (number, self.name)


class VersionClient(threading.Thread):
    """A client with one connection. Stops at `stop` or at the first violation, which is in `wrong`. `known` returns the pool's Known."""

    def __init__(self, number, port, known, stop, clients):
        super().__init__(daemon=True)
        self.number, self.port, self.known, self.stop, self.clients = number, port, known, stop, clients
        self.random, self.asked, self.found, self.errors, self.wrong = random.Random(number), 0, 0, 0, None

    def run(self):
        while not self.stop.is_set() and self.wrong is None:
            mark = self.mark()
            try:
                with self.connect(("127.0.0.1", self.port), 10) as s:
                    s.settimeout(10)
                    file = s.makefile("rwb")
                    while not self.stop.is_set() and self.wrong is None:
                        self.timed(file)
                        time.sleep(0.002)
            except OSError as error:
                if not self.may_break(mark):
                    self.wrong = f"{time.time():.3f}, port {self.port}: the connection broke, or no answer came within ten seconds: {error!r}"
                time.sleep(0.1)

    def connect(self, address, seconds):
        return socket.create_connection(address, seconds)

    def mark(self):
        """The state when a connection begins, for `may_break`."""

    def may_break(self, _mark):
        return False

    def timed(self, file):
        self.one(file)

    def one(self, file):
        known = self.known()
        self.asked += 1
        if self.random.random() < 0.3:
            self.set(file, known)
        else:
            self.get(file, known)

    def set(self, file, known):
        # Each key has one client that writes it, so its versions are ordered.
        key = self.random.randrange(len(known.begun) // self.clients) * self.clients + self.number
        known.begun[key] += 1
        version = known.begun[key]
        data = b"%d/%d/" % (key, version) + b"x" * self.random.choice([10, 1000, 20_000])
        file.write(b"set %s 0 0 %d\r\n%s\r\n" % (known.key(key), len(data), data))
        file.flush()
        said = line(file)
        if said == b"STORED\r\n":
            known.note(known.acknowledged, key, version)
        else:
            self.errors += 1

    def get(self, file, known):
        keys = self.random.sample(range(len(known.begun)), self.random.choice([1, 1, 1, 20]))
        acknowledged, read = ({key: versions[key] for key in keys} for versions in (known.acknowledged, known.read))
        overlaps = known.overlaps
        file.write(b"get %s\r\n" % b" ".join(map(known.key, keys)))
        file.flush()
        while (said := line(file)).startswith(b"VALUE "):
            data = file.read(int(said.split()[3]) + 2)
            self.found += 1
            if data.count(b"/") != 2:
                self.wrong = f"{said.split()[1]} has a value that nobody has set, {data[:40]}, at {time.time():.3f}"
                continue
            key, version = map(int, data.split(b"/")[:2])
            least = acknowledged.get(key, 0)
            if overlaps % 2 == 0 and overlaps == known.overlaps:
                least = max(least, read.get(key, 0))
            if said.split()[1] != known.key(key) or key not in keys:
                self.wrong = f"{said.split()[1]} has the value of {known.key(key)}"
            elif version < least and not known.is_void:
                self.wrong = (f"{known.key(key)}: version {version} was read, {acknowledged[key]} was acknowledged and {read[key]} read before; "
                              f"at {time.time():.3f}")
            known.note(known.read, key, version)
        self.errors += said.startswith(b"SERVER_ERROR")


def line(file):
    said = file.readline()
    if not said.endswith(b"\n"):
        raise OSError("closed")
    return said
