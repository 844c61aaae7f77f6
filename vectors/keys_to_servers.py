#!/usr/bin/env python3
"""Writes keys_to_servers.json: where nutcracker (twemproxy) and libmemcached put keys, which `fanin front` must put alike.

Asks the programs themselves: nutcracker before memcached servers, then every server for its keys; libmemcached by a few lines of C
against its library. Needs Debian's memcached, nutcracker, libmemcached-dev and gcc. Nothing else writes the file.
"""

import json
import pathlib
import socket
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "bench"))
from stands import ended, memcached, start, wait

PORTS = [22181, 22182, 22183, 22184, 11211]
HASHES = "one_at_a_time md5 crc16 crc32 crc32a fnv1_64 fnv1a_64 fnv1_32 fnv1a_32 hsieh murmur jenkins".split()
# libmemcached's names of the same.
THEIRS = {"one_at_a_time": "DEFAULT", "md5": "MD5", "crc32": "CRC", "fnv1_64": "FNV1_64", "fnv1a_64": "FNV1A_64", "fnv1_32": "FNV1_32",
          "fnv1a_32": "FNV1A_32", "murmur": "MURMUR", "jenkins": "JENKINS"}
WEIGHTS = {"even": [1, 1, 1, 1, 1], "uneven": [1, 2, 3, 5, 7]}
# One that is not ASCII, since C's char has a sign; lengths around every block of every hash.
KEYS = ["k%d" % i for i in range(40)] + ["x" * n for n in range(1, 20)] + ["user:1234:profile", "y" * 250, "schlüssel", "ключ"]


def ask(port, text):
    with socket.create_connection(("127.0.0.1", port), 5) as s:
        s.sendall(text)
        got = b""
        while not got.endswith((b"END\r\n", b"STORED\r\n", b"OK\r\n")):
            more = s.recv(65536)
            if not more:
                raise SystemExit(f"port {port} answers {got!r}")
            got += more
    return got


def twemproxy(folder):
    """Sets every key through a pool of each hash and set of weights, and looks which server has it."""
    pools, text, port = [], "", 22200
    for hash in HASHES:
        for weights, numbers in WEIGHTS.items():
            servers = "".join(f"   - 127.0.0.1:{p}:{w}\n" for p, w in zip(PORTS, numbers))
            text += f"p{port}:\n  listen: 127.0.0.1:{port}\n  hash: {hash}\n  distribution: ketama\n  servers:\n{servers}"
            pools.append((hash, weights, port))
            port += 1
    (folder / "n.yml").write_text(text)
    with ended([start(pools[0][2], "nutcracker", "-c", folder / "n.yml", "-s", 22199, "-o", folder / "log")]):
        for hash, weights, port in pools:
            wait(port)
            for server in PORTS:
                ask(server, b"flush_all\r\n")
            for key in KEYS:
                ask(port, b"set %s 0 0 1\r\nx\r\n" % key.encode())
            there = [[server for server in range(len(PORTS)) if b"VALUE" in ask(PORTS[server], b"get %s\r\n" % key.encode())] for key in KEYS]
            assert all(len(one) == 1 for one in there), (hash, there)
            yield {"as": "twemproxy", "hash": hash, "weights": WEIGHTS[weights], "servers": [one[0] for one in there]}


def libmemcached(folder):
    keys = ",".join(json.dumps(key, ensure_ascii=False) for key in KEYS)
    calls = "".join(f'one("{hash}", MEMCACHED_HASH_{name}, {weighted});\n' for hash, name in THEIRS.items() for weighted in (0, 1))
    (folder / "l.c").write_text("""
#include <libmemcached/memcached.h>
#include <stdio.h>
#include <string.h>
static const char *keys[] = {%s};
static const int ports[] = {%s}, weights[] = {%s};
static void one(const char *name, int hash, int weighted) {
    memcached_st *m = memcached_create(NULL);
    memcached_behavior_set(m, MEMCACHED_BEHAVIOR_KETAMA, 1);
    memcached_behavior_set(m, MEMCACHED_BEHAVIOR_HASH, hash);
    memcached_behavior_set(m, MEMCACHED_BEHAVIOR_KETAMA_HASH, hash);
    for (int i = 0; i < %d; i++) memcached_server_add_with_weight(m, "127.0.0.1", ports[i], weighted ? weights[i] : 1);
    printf("%%s %%d", name, weighted);
    for (int i = 0; i < %d; i++) printf(" %%u", memcached_generate_hash(m, keys[i], strlen(keys[i])));
    printf("\\n");
    memcached_free(m);
}
int main(void) {
%sreturn 0;
}
""" % (keys, ",".join(map(str, PORTS)), ",".join(map(str, WEIGHTS["uneven"])), len(PORTS), len(KEYS), calls))
    subprocess.run(["gcc", "-o", folder / "l", folder / "l.c", "-lmemcached"], check=True)
    for line in subprocess.run([folder / "l"], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines():
        hash, weighted, *servers = line.split()
        yield {"as": "libmemcached", "hash": hash, "weights": WEIGHTS["uneven" if weighted == "1" else "even"], "servers": [int(s) for s in servers]}


def main():
    with ended([]) as servers, tempfile.TemporaryDirectory() as folder:
        servers.extend(map(memcached, PORTS))
        found = [*twemproxy(pathlib.Path(folder)), *libmemcached(pathlib.Path(folder))]
    rows = ",\n".join("    " + json.dumps(row) for row in found)
    names = json.dumps([f"127.0.0.1:{port}" for port in PORTS])
    (HERE / "keys_to_servers.json").write_text(f'{{\n  "servers": {names},\n  "keys": {json.dumps(KEYS, ensure_ascii=False)},\n  "rows": [\n{rows}\n  ]\n}}\n')


if __name__ == "__main__":
    main()
