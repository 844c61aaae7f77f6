#!/usr/bin/env python3
"""Cost of an event loop: the minimum work of a proxy of single gets (bench/relay), by epoll, io_uring and an async runtime,
beside `fanin front`, by io_uring and by epoll, and nutcracker, before the same memcached servers, turn by turn.

Prints CPU seconds a million gets, the least of the passes, and the ratio to nutcracker's.

    loops.py [--passes N] [--seconds S] [--servers 8] [--connections 1,16,64] [--json FILE]
"""

import argparse
import contextlib
import json
import os
import pathlib
import subprocess
import tempfile

from front import FIRST, KEYS, LOAD, cpu, load, numbers, proxies
from stands import FANIN, ROOT, ended, start

RELAY = os.environ.get("RELAY", str(ROOT / "bench/relay/target/release/relay"))
LOOPS = ["epoll", "uring", "tokio"]


@contextlib.contextmanager
def relays(servers):
    """All of them, before the same servers: the port of each and its process."""
    with tempfile.TemporaryDirectory() as folder, proxies(servers) as found, ended([]) as processes:
        for port in range(FIRST, FIRST + servers):
            # A relay places keys as it likes: every server has them all.
            subprocess.run([LOAD, "fill", f"127.0.0.1:{port}", str(KEYS)], check=True)
        addresses = [f"127.0.0.1:{server}" for server in range(FIRST, FIRST + servers)]
        config = pathlib.Path(folder) / "front.toml"
        listed = ", ".join(f'"{address}"' for address in addresses)
        pool = f'[[pool]]\nlisten = "127.0.0.1:{FIRST + 109}"\nservers = [{listed}]\n'
        config.write_text(f'threads = 1\nevent_loop = "epoll"\n{pool}')
        processes.append(start(FIRST + 109, FANIN, "front", "--config", config))
        found["fanin by epoll"] = (FIRST + 109, processes[-1].pid)
        for port, how in enumerate(LOOPS, FIRST + 110):
            processes.append(start(port, RELAY, how, port, *addresses))
            found[how] = (port, processes[-1].pid)
        yield found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--servers", type=int, default=8)
    parser.add_argument("--connections", type=numbers, default=[1, 16, 64])
    parser.add_argument("--json")
    options = parser.parse_args()
    rows = []
    with relays(options.servers) as all:
        for connections in options.connections:
            took = {name: [] for name in all}
            for turn in range(options.passes):
                for name in list(all) if turn % 2 == 0 else list(all)[::-1]:
                    port, pid = all[name]
                    before = cpu(pid)
                    found = load(port, connections, 1, options.seconds)
                    took[name].append((cpu(pid) - before) / found["keys"] * 1e6)
            least = {name: round(min(found), 2) for name, found in took.items()}
            ratios = {name: round(least[name] / least["nutcracker"], 2) for name in all}
            rows.append({"servers": options.servers, "connections": connections, "cpu_s_a_mget": least, "ratios": ratios})
            print(f"{connections:3} connections: " + ", ".join(f"{name} {least[name]} ({ratios[name]})" for name in all), flush=True)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
