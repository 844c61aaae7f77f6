"""The front end of soak.py: its settings, and its processes one after another."""

import os
import pathlib
import random
import signal
import socket
import subprocess
import threading
import time

from stands import FANIN, figures, resident, start
from versions import Known

# More servers than a sliding window begins with.
SERVERS = list(range(23401, 23417))
# Servers without faults, towards which the front end speaks TLS. Reloads change the weights of the first, and add and remove the others.
STEADY = list(range(23440, 23444))
POOLS = {23420: "one-all", 23421: "sliding-window"}
PLANNED, TLS, NEXT, REPLICAS, EXTRA, GUEST, NOREPLY = range(23422, 23429)
FAILOVER = {"next": NEXT, "replicas": REPLICAS}
KEYS = 200
# Seconds for the clients with TLS, who stay in the old process.
DRAIN = 5


def pool(name, port, servers, more=""):
    listed = ", ".join(f'"127.0.0.1:{server}"' for server in servers)
    return f'[[pool]]\nname = "{name}"\nlisten = "127.0.0.1:{port}"\nservers = [{listed}]\n{more}\n'


def listens(port):
    try:
        return socket.create_connection(("127.0.0.1", port), 1).close() is None
    except OSError:
        return False


class Front:
    """The front end, which may be killed, started again and replaced."""

    def __init__(self, folder):
        self.folder, self.process, self.random = folder, None, random.Random(1)
        self.config, self.messages = folder / "front.toml", open(folder / "messages", "wb")
        # One at a time: kill, hand-over, reload.
        self.lock = threading.RLock()
        self.has_guest, self.reloads, self.hand_overs, self.wrong = False, 0, 0, None
        # Odd while it is away; odd while two processes serve.
        self.lives, self.overlaps = 0, 0
        # Resident memory of each process, with the time.
        self.memory = []
        self.renew()

    def renew(self):
        """Other keys for the pools with failover, since the promise for the present ones has ended."""
        number = self.lives * 1000 + self.hand_overs
        self.known = {name: Known(f"{name}-{number}", KEYS) for name in FAILOVER}

    def write(self):
        """Settings like the last ones, but for the extra pools."""
        text = f'threads = 2\ndrain = "{DRAIN} s"\n'
        text += "".join(pool(how, port, SERVERS, f'multiget = "{how}"') for port, how in POOLS.items())
        text += pool("planned", PLANNED, SERVERS, f'plan = "{self.folder}"')
        text += pool("tls", TLS, SERVERS, f'tls = {{ certificate = "{self.folder}/own.pem", key = "{self.folder}/own.key" }}')
        text += pool("next", NEXT, SERVERS, 'on_down = "next"')
        text += pool("replicas", REPLICAS, SERVERS, f'replicas = 2\nhedge = {{ after = "{self.random.randrange(5, 50)} ms" }}')
        servers = [f"{STEADY[0]}:{self.random.randrange(1, 5)}", *self.random.sample(STEADY[1:], self.random.randrange(1, 4))]
        # Its requests must not fail, however busy this machine is.
        steady = f'timeout = "5 s"\nserver_tls = {{ ca = "{self.folder}/ca.pem" }}'
        text += pool("extra", EXTRA, servers, steady)
        text += pool("noreply", NOREPLY, STEADY, steady)
        self.has_guest = not self.has_guest
        if self.has_guest:
            text += pool("guest", GUEST, STEADY[:1], steady)
        self.replace(text)

    def replace(self, text):
        (self.folder / "front.new").write_text(text)
        os.rename(self.folder / "front.new", self.config)

    def command(self, *more):
        return [FANIN, "front", "--config", self.config, *more]

    def start(self):
        self.write()
        self.process = start(PLANNED, *self.command(), messages=self.messages)
        self.memory.append([])

    def kill(self):
        with self.lock:
            self.sample()
            self.void()
            self.lives += 1
            self.process.kill()
            self.process.wait()
            # The kernel may close its sockets a moment later.
            while any(map(listens, (*POOLS, PLANNED))):
                time.sleep(0.05)
            self.start()
            self.lives += 1
            self.renew()

    def void(self):
        for known in self.known.values():
            known.is_void = True

    def hand_over(self, is_calm):
        """Start a new process that takes over, and wait for the end of the old one. `is_calm`: no server is away, nor fails meanwhile."""
        with self.lock:
            self.sample()
            if not is_calm:
                self.void()
            self.overlap()
            self.write()
            old = self.process
            self.process = start(PLANNED, *self.command("--take-over"), messages=self.messages)
            try:
                old.wait(DRAIN + 20)
            except subprocess.TimeoutExpired:
                self.wrong = "the old process did not end after a hand-over"
                old.kill()
            if self.process.poll() is not None or old.returncode:
                self.wrong = f"a hand-over failed: the new process ended with {self.process.poll()}, the old one with {old.returncode}"
            self.memory.append([])
            self.hand_overs += 1
            self.overlap()
            if not is_calm:
                self.renew()

    def overlap(self):
        self.overlaps += 1
        for known in self.known.values():
            known.overlaps += 1

    def servers_in_use(self):
        """Whether no server is away, or does not answer."""
        try:
            return all(state == "up" for name, state in figures(PLANNED).items() if name.endswith(":state"))
        except OSError:
            return False

    def reload(self):
        """Reload changed settings, by a signal or a command; every twentieth time an invalid file first, which must change nothing."""
        with self.lock:
            self.sample()
            if self.random.random() < 0.05:
                valid = self.config.read_text()
                self.replace(valid + "[[pool]]\nnonsense = 1\n")
                self.process.send_signal(signal.SIGHUP)
                time.sleep(0.2)
                self.replace(valid)
            self.write()
            if self.random.random() < 0.5:
                self.process.send_signal(signal.SIGHUP)
            else:
                done = subprocess.run(self.command("--reload"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                if done.returncode:
                    self.wrong = f"--reload ended with {done.returncode}: {done.stderr}"
            ends = time.time() + 10
            while listens(GUEST) != self.has_guest:
                if time.time() > ends:
                    self.wrong = "a reload has not changed the pools within ten seconds"
                    return
                time.sleep(0.02)
            self.reloads += 1

    def sample(self):
        with self.lock:
            self.memory[-1].append((time.time(), resident(self.process.pid)))

    def was_away(self, lives):
        """Whether it has been killed since it had `lives` lives, or is not back yet."""
        return lives != self.lives or self.lives % 2 == 1

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.wrong = "it did not end twenty seconds after SIGTERM"
            self.process.kill()
            self.process.wait()

    def complaints(self):
        """The last messages, which help to find a cause."""
        lines = pathlib.Path(self.messages.name).read_text(errors="replace").splitlines()
        return [line for line in lines if not line.startswith("warning: the limit of open files")][-200:]
