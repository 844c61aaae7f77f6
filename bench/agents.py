#!/usr/bin/env python3
"""SICC in operation on this machine: eight memcached servers in two racks, with an agent beside each, behind `fanin front`.

    agents.py cost [--seconds S]          CPU of front end and agents for a key in multigets of 100 and 1,000, and of an idle agent
    agents.py strangers [--count N]       connections that never greet: an agent's memory, and requests meanwhile
    agents.py soak [--seconds S]          requests while agents and the planner that moves keys are killed: versions, own changes without a
                                          reply, errors, memory, servers that fail

Exits with 1 if a figure is out of its bounds. Uses 30 ports from PORTS (23500) on.
"""

import argparse
import contextlib
import os
import pathlib
import random
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from stands import FANIN, ended, figures, memcached, resident, start, wait

BASE = int(os.environ.get("PORTS", "23500"))
SERVERS = list(range(BASE + 1, BASE + 9))
AGENTS = list(range(BASE + 11, BASE + 19))
FRONTS = {"sicc": BASE + 21, "sliding-window": BASE + 22}
PLANNED = [BASE + 23, BASE + 24]
KEYS, OF_PAGE, SIZE = 2_000, 100, 100
# Keys of a large multiget, and clients that send them at the same time.
LARGE_PAGE, CLIENTS = 1_000, 4
# Bytes of a value of a soak: pages of them overflow a port, so that a plan is worth its moves.
LARGE = 2_000
# Seconds between faults of a soak.
FAULTS = 10
# Memory limits of front end and agents, MiB, and how much more the processes may grow.
FRONT_MEMORY, AGENT_MEMORY, SLACK = 64, 32, 4


def listed(ports):
    return ", ".join(f'"127.0.0.1:{port}"' for port in ports)


def agent(folder, number):
    config = folder / f"agent{number}.toml"
    config.write_text(f'listen = "127.0.0.1:{AGENTS[number]}"\nmemcached = "127.0.0.1:{SERVERS[number]}"\n'
                      f'racks = "racks.toml"\nplaintext = true\npeers = 20000\nmemory = "{AGENT_MEMORY} MiB"\n')
    return start(AGENTS[number], FANIN, "agent", "--config", config)


def stand(folder):
    """Servers, agents, and the front end's two pools."""
    racks = [f'[[server]]\nmemcached = "127.0.0.1:{server}"\nagent = "127.0.0.1:{own}"\nrack = "r{number % 2}"\n'
             for number, (server, own) in enumerate(zip(SERVERS, AGENTS))]
    (folder / "racks.toml").write_text("".join(racks))
    servers = [memcached(port) for port in SERVERS]
    agents = [agent(folder, number) for number in range(len(AGENTS))]
    pools = [f'[[pool]]\nname = "{how}"\nlisten = "127.0.0.1:{port}"\nservers = [{listed(SERVERS)}]\nmultiget = "{how}"\n'
             for how, port in FRONTS.items()]
    pools[0] += 'racks = "racks.toml"\nplaintext = true\n'
    (folder / "front.toml").write_text(f'threads = 1\nmemory = "{FRONT_MEMORY} MiB"\n' + "".join(pools))
    front = start(FRONTS["sicc"], FANIN, "front", "--config", folder / "front.toml")
    return servers, agents, front


class Client:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), 20)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb")

    def set(self, key, value):
        self.socket.sendall(b"set %s 0 0 %d\r\n%s\r\n" % (key, len(value), value))
        return self.file.readline() == b"STORED\r\n"

    def get(self, keys):
        """Values by key, and an error, if there is one."""
        self.socket.sendall(b"get " + b" ".join(keys) + b"\r\n")
        found = {}
        while True:
            line = self.file.readline()
            if not line.startswith(b"VALUE "):
                return found, None if line == b"END\r\n" else line
            _, key, _, size = line.split()
            found[key] = self.file.read(int(size) + 2)[:-2]


def key(number):
    return b"%d-key" % number


def fill():
    client = Client(FRONTS["sliding-window"])
    for number in range(KEYS):
        assert client.set(key(number), b"0" * SIZE)


def processor_time(processes):
    """Seconds of CPU that they have used."""
    assert all(process.poll() is None for process in processes), "a program has ended; are the ports free?"
    # In nanoseconds, by thread.
    times = [path.read_text().split()[0] for process in processes for path in pathlib.Path(f"/proc/{process.pid}/task").glob("*/schedstat")]
    return sum(map(int, times)) / 1e9


def load(port, seconds, of_page=OF_PAGE, seed=0):
    """Keys read by a client in that time, and the time of the slowest multiget."""
    client, chance, keys, slowest, end = Client(port), random.Random(seed), 0, 0, time.monotonic() + seconds
    while (begun := time.monotonic()) < end:
        found, error = client.get([key(number) for number in chance.sample(range(KEYS), of_page)])
        assert error is None and len(found) == of_page, error
        keys, slowest = keys + of_page, max(slowest, time.monotonic() - begun)
    return keys, slowest


def cost(folder, options):
    with ended([]) as processes:
        servers, agents, front = stand(folder)
        processes += [front, *agents, *servers]
        fill()
        time.sleep(1)
        before = processor_time(agents)
        time.sleep(options.seconds)
        idle = (processor_time(agents) - before) / len(agents) / options.seconds
        print(f"an idle agent: {idle:.2%} of a core")
        fits = idle <= 0.01
        for of_page in (OF_PAGE, LARGE_PAGE):
            for how, port in FRONTS.items():
                before, begun = (processor_time([front]), processor_time(agents)), time.monotonic()
                with ThreadPoolExecutor(CLIENTS) as clients:
                    loads = clients.map(lambda number: load(port, options.seconds, of_page, number), range(CLIENTS))
                    keys = sum(keys for keys, _ in loads)
                of_front, of_agents = (processor_time(of) - then for of, then in zip(([front], agents), before))
                # Subtract the CPU time of idle agents.
                of_agents -= idle * len(agents) * (time.monotonic() - begun)
                of_front, of_agents = of_front / keys * 1e6, of_agents / keys * 1e6
                print(f"{how}, {of_page} keys each: {keys} keys; CPU for each: front end {of_front:.2f} us, agents {of_agents:.2f} us")
                fits &= of_agents <= of_front if how == "sicc" else of_agents < 0.05
        return "fits" if fits else "agents cost more than the front end, or something while they are no hubs"


def is_closed(connection):
    """Whether the other side has closed, after its greeting."""
    connection.settimeout(0)
    try:
        while connection.recv(4096):
            pass
        return True
    except BlockingIOError:
        return False
    except OSError:
        return True


def strangers(folder, options):
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with ended([]) as processes:
        servers, agents, front = stand(folder)
        processes += [front, *agents, *servers]
        fill()
        before, begun, slowest = resident(agents[0].pid), time.monotonic(), 0
        silent = [socket.create_connection(("127.0.0.1", AGENTS[0]), 5) for _ in range(options.count)]
        most = resident(agents[0].pid)
        for number, stranger in enumerate(silent[::2]):
            # Half of them send an invalid greeting and are disconnected at once.
            with contextlib.suppress(OSError):
                stranger.sendall(os.urandom(64 + number % 64))
        while time.monotonic() - begun < 15:
            slowest = max(slowest, load(FRONTS["sicc"], 1)[1])
            most = max(most, resident(agents[0].pid))
        closed = sum(map(is_closed, silent))
        each = (most - before) * 1e6 / options.count
        print(f"{options.count} strangers: {each:.0f} B each of resident memory at most; {closed} closed after 15 s; slowest multiget: {slowest * 1e3:.0f} ms")
        return "fits" if each < 10_000 and closed == options.count and slowest < 1 else "strangers cost too much, or stay"


class Soak:
    """Versions of keys: each is written by one thread, and read by all."""

    def __init__(self, prefix):
        self.prefix, self.confirmed, self.reads, self.missing, self.errors, self.wrong = prefix, [0] * KEYS, 0, 0, 0, None
        self.over = False

    def key(self, number):
        return b"%d-%s" % (number, self.prefix)

    def change_and_read(self, port, first):
        """Sets and deletes without a reply, each followed at once by a multiget of its page, which must show this client's own changes."""
        client, chance, versions = Client(port), random.Random(first), {}
        while not self.over:
            page = chance.randrange(KEYS // OF_PAGE) * OF_PAGE
            numbers = range(page, page + OF_PAGE)
            own = [number for number in numbers if number % 2 == first]
            changes = []
            for number in chance.sample(own, chance.randrange(1, 10)):
                version = versions[number] = abs(versions.get(number, 0)) + 1
                if chance.random() < 0.3:
                    versions[number] = -version
                    changes.append(b"delete %s noreply\r\n" % self.key(number))
                else:
                    changes.append(b"set %s 0 0 %d noreply\r\n%0*d\r\n" % (self.key(number), SIZE, SIZE, version))
            client.socket.sendall(b"".join(changes))
            found, error = client.get([self.key(number) for number in numbers])
            self.errors += error is not None
            for number in own:
                value, version = found.get(self.key(number)), versions.get(number, 0)
                if value is None:
                    self.missing += error is None and version > 0
                elif int(value) != version:
                    self.wrong = f"{self.key(number)} is {int(value)}, though its client had last sent {version}; a negative one is a delete"
            self.reads += 1
            time.sleep(0.01)

    def write(self, port, first):
        client, version = Client(port), 0
        while not self.over:
            version += 1
            for number in range(first, KEYS, 2):
                if self.over:
                    return
                if client.set(self.key(number), b"%0*d" % (LARGE, version)):
                    self.confirmed[number] = version
                else:
                    self.errors += 1
                time.sleep(0.02)

    def read(self, port, seed):
        client, chance = Client(port), random.Random(seed)
        while not self.over:
            first = chance.randrange(KEYS // OF_PAGE) * OF_PAGE
            numbers = range(first, first + OF_PAGE)
            before = [self.confirmed[number] for number in numbers]
            found, error = client.get([self.key(number) for number in numbers])
            self.errors += error is not None
            for number, least in zip(numbers, before):
                value = found.get(self.key(number))
                if value is None:
                    self.missing += error is None
                elif int(value) < least:
                    self.wrong = f"{self.key(number)} is {int(value)}, though {least} was confirmed"
            self.reads += 1
            time.sleep(0.03)


def failed_servers():
    """Servers of the pool with hubs that the front end does not use, though none of them has failed, and failed connections to servers."""
    states = figures(FRONTS["sicc"])
    failed = {f"{name} {state}" for name, state in states.items() if name.endswith(":state") and state not in ("up", "busy")}
    return failed | ({"a connection to a server"} if int(states["server_failures"]) else set())


def soak(folder, options):
    chance, memory = random.Random(1), []
    # Pools with a plan and pools without one do not share keys.
    through_hubs, moving, own = Soak(b"hub"), Soak(b"moved"), Soak(b"own")
    with ended([]) as processes:
        servers, agents, front = stand(folder)
        processes += servers
        idle = [resident(front.pid), max(resident(of.pid) for of in agents)]
        planned = "".join(f'[[pool]]\nname = "p{port}"\nlisten = "127.0.0.1:{port}"\nservers = [{listed(SERVERS)}]\nplan = "plans"\n' for port in PLANNED)
        (folder / "plain.toml").write_text(f'[[pool]]\nlisten = "127.0.0.1:1"\nservers = [{listed(SERVERS)}]\n')
        (folder / "planned.toml").write_text('threads = 1\n[log]\nfile = "asked.csv"\nshare = "20 %"\nsize = "4 MiB"\n' + planned)
        cluster = subprocess.run([FANIN, "new", "cluster", "--servers", "8", "--racks", "4", "--replicas", "1"], check=True, stdout=subprocess.PIPE)
        (folder / "cluster.toml").write_bytes(cluster.stdout)
        fill()

        def planner():
            return subprocess.Popen([FANIN, "plan", "asked.csv", "--cluster", "cluster.toml", "--front", "plain.toml", "--watch", "plans", "--every", "30 s"],
                                    cwd=folder, stdout=open(folder / "periods", "ab"))

        plans = planner()
        while not (folder / "plans/plan.json").exists():
            time.sleep(0.1)
        mover = subprocess.Popen([FANIN, "front", "--config", "planned.toml"], cwd=folder, stdout=subprocess.DEVNULL)
        wait(PLANNED[1])
        pairs = [(through_hubs, FRONTS["sicc"], FRONTS["sicc"]), (moving, *PLANNED)]
        for work, one, other in pairs:
            targets = [(work.read, one, 1), (work.read, other, 2), (work.write, one, 0), (work.write, other, 1)]
            for target, *arguments in targets:
                threading.Thread(target=target, args=arguments, daemon=True).start()
        for first in range(2):
            threading.Thread(target=own.change_and_read, args=(FRONTS["sicc"], first), daemon=True).start()
        begun, faulted, failed = time.monotonic(), time.monotonic(), set()
        while time.monotonic() - begun < options.seconds and not (through_hubs.wrong or moving.wrong or own.wrong):
            time.sleep(1)
            failed |= failed_servers()
            memory.append((resident(front.pid), max(resident(of.pid) for of in agents), resident(mover.pid), resident(plans.pid)))
            if time.monotonic() - faulted > FAULTS:
                faulted, number = time.monotonic(), chance.randrange(len(agents))
                agents[number].kill()
                agents[number].wait()
                time.sleep(chance.random())
                agents[number] = agent(folder, number)
                if number == 0:
                    plans.kill()
                    plans.wait()
                    plans = planner()
        through_hubs.over = moving.over = own.over = True
        processes += [front, mover, plans, *agents]
    half = len(memory) // 2
    for name, work in (("through hubs", through_hubs), ("own changes through hubs", own), ("while keys move", moving)):
        print(f"{name}: {work.reads} multigets, {work.errors} errors, {work.missing} keys missing")
    print((folder / "periods").read_text())
    peaks = [[max(of) for of in zip(*part)] for part in (memory[:half], memory[half:])]
    for name, early, late in zip(("front end", "agents", "front end with a plan", "planner"), *peaks):
        print(f"{name}: {early:.1f} MB at most in the first half, {late:.1f} MB in the second")
    # The first plans take a minute.
    grows = options.seconds >= 300 and any(late > early * 1.25 + 2 for early, late in zip(*peaks))
    limits = [first + (limit + SLACK) * 1.048576 for first, limit in zip(idle, (FRONT_MEMORY, AGENT_MEMORY))]
    exceeds = any(max(of) > limit for of, limit in zip(zip(*peaks), limits))
    wrong = [work.wrong for work in (through_hubs, moving, own) if work.wrong]
    wrong += ["memory grows"] * grows + ["memory exceeds its limit"] * exceeds
    wrong += [f"servers without a fault failed: {sorted(failed)}"] if failed else []
    return "; ".join(wrong) or "fits"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["cost", "strangers", "soak"])
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--count", type=int, default=10_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        verdict = {"cost": cost, "strangers": strangers, "soak": soak}[options.what](pathlib.Path(name), options)
    print(verdict)
    sys.exit(verdict != "fits")


if __name__ == "__main__":
    main()
