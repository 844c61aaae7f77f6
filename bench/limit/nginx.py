#!/usr/bin/env python3
"""HTTP GETs from nginx under limiters, behind a switch port with a small buffer: times of rounds, and the prediction of `fanin compare`.

In each round the client gets an object from every server at once, by Go's net/http and connections that persist. Prints a table of
docs/limit.md for each fan-in and buffer. Needs root, Go, nginx, iproute2 and ethtool; without, it is skipped.

    nginx.py [--fan-in 8,32,128] [--buffer 64,256] [--seconds S] [--object BYTES] [--rate MBPS] [--no-prediction]

FANIN names the binary of the prediction.
"""

import contextlib
import pathlib
import subprocess
import tempfile

from common import ADDRESS, FIRST, SERVERS, client, options, table, wait_for_servers

# Bytes of a response's header.
HEADER = 240


@contextlib.contextmanager
def servers(count, size):
    """nginx on as many ports."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        path.chmod(0o755)
        (path / "object").write_bytes(b"x" * size)
        listen = "\n".join(f"listen {ADDRESS}:{FIRST + i};" for i in range(count))
        (path / "nginx.conf").write_text(
            f"daemon off; worker_processes 1; pid {path}/pid; error_log {path}/errors;\n"
            "events { worker_connections 4096; }\n"
            f"http {{ access_log off; keepalive_requests 100000000; sendfile on; server {{ root {path}; {listen} }} }}\n"
        )
        process = subprocess.Popen(["ip", "netns", "exec", SERVERS, "nginx", "-c", path / "nginx.conf"])
        try:
            wait_for_servers(count)
            yield
        finally:
            process.terminate()
            process.wait()


def main():
    parser = options(__doc__)
    parser.add_argument("--object", type=int, default=16_000)
    asked = parser.parse_args()
    with client("nginx") as program:
        for fan_in in asked.fan_in:
            with servers(fan_in, asked.object):
                for buffer in asked.buffer:
                    table(program, fan_in, buffer << 10, asked, fan_in, asked.object + HEADER)


if __name__ == "__main__":
    main()
