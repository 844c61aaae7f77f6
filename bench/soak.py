#!/usr/bin/env python3
"""`fanin front` under mixed load with faults, for long: no wrong value, no answer missing, no connection lost, memory flat.

Clients set, get, ask for many keys and delete, by a pool that asks all servers at once, by one with a sliding window, and by one with TLS;
every value carries its key. A pool moves its keys by one plan after another; their values carry versions, and nobody may read one that is
older than the last answered write. So do the values of a pool with `on_down = "next"` and of one with `replicas = 2`; there, nobody may
read an older one than anybody has read before, either. Clients of a pool without faults send changes without a reply and multigets in one pipeline,
and must see exactly their own changes.

Meanwhile a server is killed and comes back, or is stopped for a while; the front end is killed and starts again; the stage file is lost.
Every two or three seconds the front end reloads changed settings: a pool comes or goes, and another one, whose clients nothing may fail,
gets other servers and weights. From time to time a new process takes over. A connection may end with a kill, or in the middle of an answer
whose server fails; with TLS also by a hand-over.

A new process does not know which servers were away before it, nor what they lack. So a kill, or a hand-over while a server fails, ends the
promise of the pools with failover for all present keys: clients use others from then on. Three in four hand-overs wait until all servers
are in use, and no server fails before the old process has ended. The promise then holds; only while both processes serve, one does not
know the unanswered changes of the other, and reads bind nobody. Plans keep their promise through all of it.

In the middle fifth of the time there are no kills and no hand-overs: the memory may not grow by a quarter within it. Nor may the peaks of
the later processes exceed those of the earlier ones by a quarter. Prints what has happened every tenth of the time.

    soak.py [--seconds S]
"""

import argparse
import hashlib
import json
import os
import pathlib
import random
import signal
import sys
import tempfile
import threading
import time

from soak_clients import BUSY, CLIENTS, EVENTS, MOVED, Client, FailoverClient, Mover, NoreplyClient, SteadyClient, TlsClient, event
from soak_front import EXTRA, FAILOVER, Front, NOREPLY, PLANNED, POOLS, SERVERS, STEADY, TLS
from stands import certificates, figures, memcached, memcacheds


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
        event(f"plan {digest[:12]}: " + " ".join(f"{key}:{was}>{to}" for key, (to, was) in enumerate(zip(new[:BUSY], self.at))))
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


class Reloader(threading.Thread):
    """One reload after another."""

    def __init__(self, front, stop):
        super().__init__(daemon=True)
        self.front, self.stop, self.random = front, stop, random.Random(3)

    def run(self):
        while not self.stop.wait(1 + 2.5 * self.random.random()):
            try:
                self.front.reload()
            except OSError as error:
                self.front.wrong = f"a reload failed: {error!r}"
            event("reloaded")


class Faults:
    """Faults of the servers and of the front end, and hand-overs."""

    def __init__(self, front, servers, begin, seconds):
        self.front, self.servers, self.begin, self.random = front, servers, begin, random.Random(0)
        self.count, self.begun, self.seconds = 0, time.time(), seconds
        self.pause = max(12, seconds / 80)
        self.next_hand_over = self.begun + self.pause

    def share(self, at=None):
        """Of the time, how much has passed."""
        return ((at or time.time()) - self.begun) / self.seconds

    def is_quiet(self, at=None):
        return 0.4 <= self.share(at) < 0.6

    def one(self):
        r = self.random
        if time.time() > self.next_hand_over and not self.is_quiet():
            self.hand_over()
            self.next_hand_over = time.time() + self.pause * (0.5 + r.random())
        elif r.random() < 0.02 and not self.is_quiet():
            event("the front end is killed")
            self.front.kill()
            event("the front end was killed")
            self.count += 1
        else:
            self.of_server(r.choice(SERVERS))
        time.sleep(r.random() * 3)

    def of_server(self, port):
        r, name = self.random, f"server {port - SERVERS[0] + 1}"
        if r.random() < 0.5:
            event(f"{name} is killed")
            self.servers[port].kill()
            self.servers[port].wait()
            time.sleep(r.random())
            self.servers[port] = self.begin(port)
            event(f"{name} is back")
        else:
            event(f"{name} is stopped")
            self.servers[port].send_signal(signal.SIGSTOP)
            time.sleep(r.random() * 3)
            self.servers[port].send_signal(signal.SIGCONT)
            event(f"{name} goes on")
        self.count += 1

    def hand_over(self):
        is_calm = self.random.random() < 0.75 and self.all_return()
        event(f"a hand-over begins, {'all servers are in use' if is_calm else 'a server fails'}")
        if is_calm:
            self.front.hand_over(True)
        else:
            fault = threading.Thread(target=self.of_server, args=(self.random.choice(SERVERS),))
            fault.start()
            self.front.hand_over(False)
            fault.join()
        event("the hand-over has ended")

    def all_return(self):
        """Whether all servers are in use, which takes a stopped one some seconds."""
        ends = time.time() + 20
        while time.time() < ends:
            # Of a server that has failed just now, not every thread may know.
            time.sleep(0.5)
            if self.front.servers_in_use():
                return True
        return False


def grown(front, faults):
    """How the memory has grown, if it has."""
    exceeds = lambda later, earlier: max(later) > 1.25 * max(earlier) + 5
    wrong = []
    quiet = [memory for life in front.memory for at, memory in life if faults.is_quiet(at)]
    if len(quiet) >= 8 and exceeds(quiet[len(quiet) // 2:], quiet[:len(quiet) // 2]):
        wrong.append(f"the memory of a process grew: {quiet}")
    peaks = [max(memory for _, memory in life) for life in front.memory if len(life) >= 3]
    if len(peaks) >= 6 and exceeds(peaks[-(len(peaks) // 3):], peaks[:len(peaks) // 3]):
        wrong.append(f"the peaks of processes grew: {peaks}")
    return wrong


def report(clients, front, faults, planner):
    asked, errors = (sum(getattr(client, what) for client in clients) for what in ("asked", "errors"))
    calm = f"{front.hand_overs} hand-overs, {front.reloads} reloads"
    at = time.time() - faults.begun
    print(f"{at:6.0f} s: {asked} requests, {errors} errors, {faults.count} faults, {front.lives // 2} of the front end, {calm}, "
          f"{planner.plans} plans, {planner.lost} stage files lost, {front.memory[-1][-1][1]:.1f} MB", flush=True)


def run(seconds, front, servers, begin, planner, stop):
    """Load and faults; returns whatever was wrong."""
    clients = [Client(seed, port, stop, front) for seed, port in enumerate(list(POOLS) * 3)]
    clients += [TlsClient(seed, TLS, stop, front) for seed in range(10, 12)] + [SteadyClient(seed, EXTRA, stop, front) for seed in range(20, 23)]
    clients += [NoreplyClient(seed, NOREPLY, stop, front) for seed in range(4)]
    clients += [Mover(seed, PLANNED, stop, front) for seed in range(4)]
    clients += [FailoverClient(number, name, stop, front) for name in FAILOVER for number in range(CLIENTS)]
    reloader, faults, tenths = Reloader(front, stop), Faults(front, servers, begin, seconds), 0
    wrong = lambda: [one.wrong for one in [*clients, front] if one.wrong]
    try:
        for thread in (planner, reloader, *clients):
            thread.start()
        while faults.share() < 1 and not wrong():
            faults.one()
            if faults.share() * 10 >= tenths + 1:
                front.sample()
                tenths = int(faults.share() * 10)
                report(clients, front, faults, planner)
    finally:
        stop.set()
        for thread in (reloader, *clients):
            thread.join(30)
        front.stop()
    idle = [client for client in clients if not client.asked]
    return wrong() + grown(front, faults) + ([f"{len(idle)} clients have asked nothing"] if idle else [])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=3600)
    options = parser.parse_args()
    # Under nohup, the front end would inherit that SIGHUP is ignored, and not reload.
    signal.signal(signal.SIGHUP, lambda *_: None)
    # Every other one is of the newest release, where that can be had.
    programs = list(memcacheds().values())
    begin = lambda port: memcached(port, programs[port % len(programs)])
    with tempfile.TemporaryDirectory() as folder:
        path, stop = pathlib.Path(folder), threading.Event()
        certificates(path)
        servers = {port: begin(port) for port in SERVERS}
        # The newest one is built without TLS.
        secure = ("-Z", "-o", f"ssl_chain_cert={path}/own.pem,ssl_key={path}/own.key")
        servers |= {port: memcached(port, "memcached", *secure) for port in STEADY}
        front, planner = Front(path), Planner(path, stop)
        planner.write("stage", "begin")
        planner.plan()
        try:
            front.start()
            wrong = run(options.seconds, front, servers, begin, planner, stop)
        finally:
            for server in servers.values():
                server.kill()
                server.wait()
        if wrong:
            print("\n".join([f"{at:.3f} {what}" for at, what in sorted(EVENTS)] + front.complaints()), file=sys.stderr)
    print("; ".join(wrong) or "no wrong value, no older one than promised, no answer missing, no connection lost, no request failed by a "
          "reload, memory flat")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
