"""Server programs of a case, and how a client requests a response of each: our own, memcached, or nginx."""

import contextlib
import pathlib
import socket
import subprocess
import tempfile
import time

from network import PORT, namespace, server_address

STARTED_S = 10


class Own:
    """A request is a length in text."""

    REQUEST = 64

    def request(self, size):
        return b"%*d" % (self.REQUEST, size)

    def response(self, size):
        return size


class Memcached:
    """A key whose value has the length of a response."""

    def request(self, _size):
        return b"get k\r\n"

    def response(self, size):
        return len(b"VALUE k 0 %d\r\n" % size) + size + len(b"\r\nEND\r\n")


class Nginx:
    """A file of the length of a response, over a persistent connection. The configuration has no header of varying length but the date's."""

    HEAD = (
        b"HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n"
        b"Connection: keep-alive\r\n\r\n")

    def request(self, _size):
        return b"GET /f HTTP/1.1\r\nHost: h\r\n\r\n"

    def response(self, size):
        return len(self.HEAD % size) + size


def dialect(case):
    return {"own": Own, "memcached": Memcached, "nginx": Nginx}[case.get("program", "own")]()


@contextlib.contextmanager
def running(case, number):
    """A server of a case in its namespace, with the response that clients request. This thread is in the namespace."""
    address = server_address(case, number)
    # For this program's own connection.
    subprocess.run(["ip", "-n", namespace(case, f"s{number}"), "link", "set", "lo", "up"], check=True)
    with tempfile.TemporaryDirectory(prefix="fanin-corpus-") as folder:
        program = subprocess.Popen(command(case, address, pathlib.Path(folder)), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            with connected(address) as peer:
                if case["program"] == "memcached":
                    peer.sendall(b"set k 0 0 %d\r\n%s\r\n" % (case["response"], bytes(case["response"])))
                    assert peer.recv(64) == b"STORED\r\n"
            yield
        finally:
            program.terminate()
            program.wait()


def command(case, address, folder):
    """The command of a case's program."""
    if case["program"] == "memcached":
        return ["memcached", "-u", "nobody", "-l", address, "-p", str(PORT), "-U", "0", "-m", "16"]
    folder.chmod(0o755)
    (folder / "f").write_bytes(bytes(case["response"]))
    (folder / "conf").write_text(nginx(folder, address, case["v6"]))
    return ["nginx", "-c", str(folder / "conf"), "-g", "daemon off;"]


def nginx(folder, address, v6):
    at = f"[{address}]" if v6 else address
    return (
        f"worker_processes 1;\npid {folder}/pid;\nerror_log {folder}/log;\nevents {{}}\nhttp {{ access_log off; keepalive_requests 1000000; tcp_nodelay on; "
        f"server_tokens off; etag off; if_modified_since off; max_ranges 0; default_type text/plain;\n"
        f"server {{ listen {at}:{PORT}; root {folder}; location / {{ add_header Last-Modified ''; }} }} }}\n")


def connected(address):
    """A connection from the server's own namespace, once the program listens: this thread is in it."""
    until = time.time() + STARTED_S
    while True:
        try:
            return socket.create_connection((address, PORT), 1)
        except OSError:
            if time.time() > until:
                raise SystemExit(f"corpus: nothing listens at {address}") from None
            time.sleep(0.05)
