#!/usr/bin/env python3
"""Writes watched.log: what memcached's watcher says to a few requests of two connections. `python3 watch.py`, with memcached installed."""

import pathlib
import socket
import subprocess
import time

HERE = pathlib.Path(__file__).resolve().parent
PORT = 21_911
# Each is its own query: the pause between them is longer than one.
ASKED = [
    (0, "set a 0 0 3\r\nabc\r\n"), (0, "get a\r\n"), (0, "get nothing\r\n"), (0, "set a 0 0 4\r\nabcd\r\n"),
    (1, "ms b 2\r\nxy\r\n"), (1, "mg a v\r\n"), (0, "add a 0 0 1\r\nx\r\n"), (0, "append b 0 0 1\r\nz\r\n"),
    (0, "get a nothing b\r\n"), (1, "gets b\r\n"), (1, "cas b 0 0 1 1\r\nx\r\n"), (1, "replace nothing 0 0 1\r\nx\r\n"),
    # A get and a set of one piece: what is looked up last is the set's.
    (0, "get a b\r\nset b 0 0 2\r\nxx\r\n"), (0, "set a 0 0 2000000\r\n" + "x" * 2_000_000 + "\r\n"),
]


def connect():
    return socket.create_connection(("127.0.0.1", PORT), timeout=5)


def main():
    server = subprocess.Popen(["memcached", "-u", "nobody", "-l", "127.0.0.1", "-p", str(PORT)])
    try:
        time.sleep(0.5)
        watcher, clients = connect(), [connect(), connect()]
        watcher.sendall(b"watch fetchers mutations\r\n")
        time.sleep(0.5)
        for client, text in ASKED:
            clients[client].sendall(text.encode())
            time.sleep(0.2)
            clients[client].recv(1 << 16)
        time.sleep(1.5)
        (HERE / "watched.log").write_bytes(watcher.recv(1 << 20))
    finally:
        server.terminate()


if __name__ == "__main__":
    main()
