#!/usr/bin/env python3
"""Two properties of the system's memcached, without a front end.

Order: a server that was stopped executes a set of one connection after a later one of another, so that the older value stays.
TLS: the end of a long pipeline is processed only when more bytes arrive, unless each record has whole requests.

Both depend on timing: a count of 0 does not show that it cannot happen.
"""

import os
import pathlib
import random
import signal
import socket
import ssl
import tempfile
import threading
import time

from soak import certificates
from stands import memcached

PORT = 24555
STOPS, PIPELINES = 60, 200


def ask(connection, request):
    connection.sendall(request)
    return connection.recv(4096)


def keeps_older_value(server, chance):
    """Whether a set of the first connection, sent before one of the second while the server is stopped, is executed after it."""
    first, second = (socket.create_connection(("127.0.0.1", PORT), 10) for _ in range(2))
    ask(first, b"set k 0 0 3\r\nold\r\n")
    busy = threading.Event()
    busy.set()

    def reads(connection):
        while busy.is_set():
            ask(connection, b"get k\r\n")

    threads = [threading.Thread(target=reads, args=(connection,)) for connection in (first, second)]
    for thread in threads:
        thread.start()
    time.sleep(0.01 + 0.02 * chance.random())
    os.kill(server.pid, signal.SIGSTOP)
    for connection, value in ((first, b"one"), (second, b"two")):
        time.sleep(0.05)
        connection.sendall(b"set k 0 0 3\r\n%s\r\n" % value)
    busy.clear()
    os.kill(server.pid, signal.SIGCONT)
    for thread in threads:
        thread.join()
    time.sleep(0.1)
    with socket.create_connection(("127.0.0.1", PORT), 10) as reader:
        value = ask(reader, b"get k\r\n")
    first.close()
    second.close()
    return b"one" in value


def waits(connection, chance, whole):
    """Whether a pipeline of gets is answered completely only after another request; its records have `whole` requests."""
    count = chance.choice([3, 8, 14])
    lines = [b"get " + b" ".join(b"%d:key" % chance.randrange(200) for _ in range(chance.randrange(2, 900))) + b"\r\n" for _ in range(count)]
    for record in lines if whole else [b"".join(lines)]:
        connection.sendall(record)
    ends, tail = 0, b""
    while ends < count:
        try:
            text = tail + connection.recv(65536)
        except TimeoutError:
            connection.sendall(b"mn\r\n")
            return connection.recv(65536) != b"MN\r\n"
        ends += text.count(b"END\r\n") - tail.count(b"END\r\n")
        tail = text[-4:]
    return False


def main():
    chance = random.Random(1)
    server = memcached(PORT)
    late = sum(keeps_older_value(server, chance) for _ in range(STOPS))
    server.kill()
    server.wait()
    print(f"order: after {late} of {STOPS} stops the older of two sets was executed last")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        certificates(path)
        server = memcached(PORT, "memcached", "-Z", "-o", f"ssl_chain_cert={path}/own.pem,ssl_key={path}/own.key")
        context = ssl.create_default_context(cafile=path / "ca.pem")
        for whole in (False, True):
            waited = 0
            for _ in range(PIPELINES):
                with context.wrap_socket(socket.create_connection(("127.0.0.1", PORT), 10), server_hostname="127.0.0.1") as connection:
                    connection.settimeout(1.5)
                    # Of several pipelines on one connection, the first that waits ends it.
                    waited += any(waits(connection, chance, whole) for _ in range(5))
            records = "records of whole requests" if whole else "records of 16 KiB"
            print(f"TLS, {records}: on {waited} of {PIPELINES} connections with five pipelines, the end waited for more bytes")
        server.kill()
        server.wait()


if __name__ == "__main__":
    main()
