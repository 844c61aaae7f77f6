#!/usr/bin/env python3
"""Programs on the hosts of a network: servers that respond to requests, and a client that reads from all of them in rounds.

`hosts.py serve CASE.json LOG` and `hosts.py ask CASE.json LOG CLIENT` run until they are ended, or until the case's time is over. Their log has
what the kernel's counters do not show: when a program slept on purpose, and when rounds began and ended. Times are those of the captures' clock.
"""

import contextlib
import ctypes
import json
import os
import random
import select
import socket
import sys
import threading
import time

from network import LONG_PORT, PORT, namespace, server_address
from programs import Own, dialect, running

CLONE_NEWNET = 0x40000000
# A round that is still open this long after the end of the time is given up.
PATIENCE_S = 4
libc = ctypes.CDLL(None, use_errno=True)


def enter(name):
    """Moves this thread into a namespace: sockets that it opens are of it."""
    with open(f"/run/netns/{name}") as space:
        if libc.setns(space.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"cannot enter the namespace {name}")


class Log:
    """Records of events, written at the end."""

    def __init__(self, path):
        self.path, self.rows, self.lock = path, [], threading.Lock()

    def add(self, **row):
        with self.lock:
            self.rows.append(row)

    def write(self):
        with self.lock, open(self.path, "w") as out:
            json.dump(self.rows, out)


def sleep(log, seconds, **why):
    begun = time.time()
    time.sleep(seconds)
    log.add(begun=begun, ended=time.time(), **why)


def respond(peer, number, case, log):
    """Responds to a client's requests, each a length in text."""
    chance = random.Random(f"{case['seed']} {number} {peer.getpeername()[1]}")
    ways = case["servers"][number]
    if not ways.get("nagle"):
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while True:
        request = b""
        while len(request) < Own.REQUEST:
            more = peer.recv(Own.REQUEST - len(request))
            if not more:
                peer.close()
                return
            request += more
        size = int(request)
        if chance.random() < ways.get("late", 0):
            sleep(log, ways["late_s"], server=number, kind="late")
        if chance.random() < ways.get("pause", 0):
            part = int(size * chance.uniform(0.2, 0.8))
            peer.sendall(bytes(part))
            sleep(log, ways["pause_s"], server=number, kind="pause")
            size -= part
        if ways.get("nagle"):
            # A header and a small body, each by a call of its own.
            peer.sendall(bytes(100))
            peer.sendall(bytes(size - 100))
        else:
            peer.sendall(bytes(size))
        if case["new_connections"]:
            peer.close()
            return


def serve(case, log):
    def accept(listener, work, *arguments):
        while True:
            peer, _ = listener.accept()
            threading.Thread(target=quietly, args=(work, peer, *arguments), daemon=True).start()

    def listen(number, port, *work):
        enter(namespace(case, f"s{number}"))
        listener = socket.create_server((server_address(case, number), port), family=family(case), backlog=64)
        threading.Thread(target=accept, args=(listener, *work), daemon=True).start()

    with contextlib.ExitStack() as started:
        for number in range(len(case["servers"])):
            if case.get("program", "own") == "own":
                listen(number, PORT, respond, number, case, log)
            else:
                enter(namespace(case, f"s{number}"))
                started.enter_context(running(case, number))
        if "long_flow" in case:
            listen(case["long_flow"], LONG_PORT, pour)
        print("ready", flush=True)
        sys.stdin.read()
    log.write()


def pour(peer):
    """Sends without an end."""
    while True:
        peer.sendall(bytes(1 << 16))


def quietly(work, *arguments):
    """A client that ends closes connections while servers send."""
    try:
        work(*arguments)
    except OSError:
        pass


def family(case):
    return socket.AF_INET6 if case["v6"] else socket.AF_INET


def connect(case, number):
    one = socket.socket(family(case), socket.SOCK_STREAM)
    if case["client"].get("receive_buffer"):
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, case["client"]["receive_buffer"])
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    one.connect((server_address(case, number), PORT))
    return one


def round_of(case, peers, chance, log, until):
    """Reads from all servers. Returns whether all responded."""
    ways, size = case["client"], case["response"]
    left = {}
    begun = time.time()
    for number in range(len(case["servers"])):
        if peers[number] is None:
            peers[number] = connect(case, number)
        speaks = dialect(case)
        peers[number].sendall(speaks.request(size))
        left[peers[number].fileno()] = [number, speaks.response(size)]
    stuck = chance.random() < ways.get("stuck", 0)
    poll = select.epoll()
    for number in left:
        poll.register(number, select.EPOLLIN)
    while left:
        if stuck and sum(bytes_left for _, bytes_left in left.values()) < size * len(case["servers"]) * ways["stuck_at"]:
            sleep(log, ways["stuck_s"], client=True, kind="reads late")
            stuck = False
        for fd, _ in poll.poll(0.1):
            number, rest = left[fd]
            got = peers[number].recv(min(rest, 1 << 16))
            if not got:
                raise SystemExit("a server closed its connection within a response")
            left[fd][1] -= len(got)
            if left[fd][1] == 0:
                poll.unregister(fd)
                del left[fd]
        if time.time() > until:
            return False
    log.add(round=True, begun=begun, ended=time.time())
    return True


def drain(case, client):
    """Reads a long flow for the rest of the time."""
    enter(namespace(case, f"c{client}"))
    until = time.time() + case["seconds"] / 2
    with socket.create_connection((server_address(case, case["long_flow"]), LONG_PORT)) as peer:
        while time.time() < until:
            peer.recv(1 << 20)


def know_neighbours(case):
    """Lets hosts learn each other's link-layer addresses, so that no connection waits for that."""
    with socket.socket(family(case), socket.SOCK_DGRAM) as probe:
        for number in range(len(case["servers"])):
            probe.sendto(b"", (server_address(case, number), PORT))
    time.sleep(0.1)


def ask(case, log, client):
    enter(namespace(case, f"c{client}"))
    chance = random.Random(f"{case['seed']} client {client}")
    peers = [None] * len(case["servers"])
    know_neighbours(case)
    if "long_flow" in case and client == 0:
        # Once the first rounds have shown the path without it.
        threading.Timer(case["seconds"] / 4, quietly, (drain, case, client)).start()
    until = time.time() + case["seconds"]
    while time.time() < until and round_of(case, peers, chance, log, until + PATIENCE_S):
        if case["new_connections"]:
            for peer in peers:
                peer.close()
            peers = [None] * len(peers)
        if case["client"].get("think_s"):
            time.sleep(case["client"]["think_s"])
    log.write()


def main():
    role, file, log, *rest = sys.argv[1:]
    with open(file) as text:
        case = json.load(text)
    os.nice(-10)
    if role == "serve":
        serve(case, Log(log))
    else:
        ask(case, Log(log), int(rest[0]))


if __name__ == "__main__":
    main()
