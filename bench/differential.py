#!/usr/bin/env python3
"""The same bytes to memcached and to `fanin front` before four memcacheds: the same bytes must come back.

Streams of commands are drawn, right and wrong ones, classic and meta, quiet and pipelined, cut anywhere on their way, and put to the
system's memcached and to the newest release, where that can be had. The front end speaks as the newest does; before older servers it
must answer as they do wherever the two agree. What may differ and is left out: unique numbers of `cas`, since each server counts its
own, and what `docs/front.md` lists. Prints the first stream that differs, and what replays it.

    differential.py [--seconds S] [--seed N] [--form plain|tls|next|replicas|reloads]
"""

import argparse
import random
import re
import socket
import sys
import time

from stands import FORMS, ended, front_for_all, memcached, memcacheds

# Of each version: one alone, four behind a front end.
ALONE = {"memcached": 23300, "newest": 23320}
FRONT = {name: port + 10 for name, port in ALONE.items()}
# memcached counts time in seconds and flushes items of earlier ones: only a repeatable difference counts.
TRIES = 3
HAS_REPLICAS = False
KEYS = [b"a", b"b", b"c", b"counter", b"key:1", b"key:2", b"Zm9v", b"foo", b"x" * 250, "schlüssel".encode()]
ODD = [b"x" * 251, b"", b"a b", b"\x01", b"a\tb", b"noreply", b"q"]
NUMBERS = [b"0", b"1", b"5", b"-1", b"4294967295", b"18446744073709551615", b"18446744073709551616", b"x", b"", b"+3", b"10"]
# Flags and times to live in `set` have at most 32 bits: `fanin front` refuses others, and memcached truncates them.
SMALL = [b"0", b"1", b"5", b"-1", b"100", b"x", b""]
# Keys that are base64, and some that are none whatever is passed over.
BASE64 = [b"Zm9v", b"Zm9vYg==", b"foo", b"a"]
FLAGS = [b"v", b"k", b"q", b"b", b"t", b"s", b"f", b"O1", b"Oabc", b"T100", b"T0", b"N100", b"R1", b"MI", b"MD", b"MA", b"ME", b"MS", b"MX", b"D2", b"J7",
         b"I", b"h", b"u", b"F5", b"Fx", b"C1", b"Z", b"qq", b"O" + b"o" * 40, b"~"]


def key(r):
    return r.choice(ODD) if r.random() < 0.05 else r.choice(KEYS)


def short(r):
    """A key that `get` accepts: at one that is too long, memcached also drops earlier responses that it has not written."""
    return r.choice(ODD[1:]) if r.random() < 0.05 else r.choice(KEYS)


def number(r, right, wrong=NUMBERS):
    return r.choice(wrong) if r.random() < 0.1 else right


def store(r):
    verb = r.choice([b"set", b"set", b"set", b"add", b"replace", b"append", b"prepend", b"cas"])
    # No blank value: memcached's `incr` of one reads memory beyond it.
    value = r.choice([b"0", b"5", b"17", b"value", b"v" * r.randrange(1, 300), b"a\r\nb", b"get a\r\n"])
    size = b"%d" % (len(value) if r.random() < 0.97 else r.randrange(0, 20))
    words = [verb, key(r), number(r, b"%d" % r.randrange(100), SMALL), number(r, b"0", SMALL), size]
    words += [number(r, b"1")] if verb == b"cas" else []
    words += [b"noreply"] if r.random() < 0.2 else []
    return b" ".join(words) + b"\r\n" + value + b"\r\n"


def meta(r):
    verb = r.choice([b"mg", b"mg", b"ms", b"md", b"ma", b"mn", b"mx"])
    flags = [r.choice(FLAGS[:20] if r.random() < 0.8 else FLAGS) for _ in range(r.choice([0, 1, 2, 3, 4, 22 if r.random() < 0.05 else 2]))]
    # An opaque that is too long is noticed there when something has been done already.
    if verb == b"ma" or any(flag.startswith(b"N") for flag in flags):
        flags = [flag for flag in flags if len(flag) < 32]
    # Of an item that was not stored by `ms`, memcached prints the bytes behind a key in base64.
    if verb == b"mg" and b"b" in flags:
        flags = [flag for flag in flags if flag != b"k"]
    # With replicas, an empty value that `mg` has made with N is a miss for `get`, and copies count as hits: docs/failover.md.
    if verb == b"mg" and HAS_REPLICAS:
        flags = [flag for flag in flags if not flag.startswith((b"N", b"h"))]
    of = r.choice(BASE64) if b"b" in flags else key(r)
    if verb == b"mn":
        return b"mn\r\n"
    if verb == b"ms":
        value = r.choice([b"0", b"7", b"value"])
        return b" ".join([verb, of, number(r, b"%d" % len(value)), *flags]) + b"\r\n" + value + b"\r\n"
    return b" ".join([verb, of, *flags]) + b"\r\n"


def other(r):
    time_to_live = number(r, b"%d" % r.choice([0, 100, 1000]))
    verb = r.choice(["get", "get", "get", "gat", "delete", "touch", "incr", "decr", "every", "wrong"])
    quiet = [b"noreply"] if r.random() < 0.2 else []
    words = {
        "get": [r.choice([b"get", b"get", b"bget"]), *[short(r) for _ in range(r.randrange(0, 12))]],
        "gat": [b"gat", time_to_live, *[short(r) for _ in range(r.randrange(0, 4))]],
        # With other words behind it, it is refused here as by 1.6.18.
        "delete": [b"delete", key(r).replace(b" ", b"_"), *r.choice([[], [], [b"0"]]), *quiet],
        "touch": [b"touch", key(r), time_to_live, *quiet],
        "incr": [b"incr", r.choice([key(r), b"counter"]), number(r, b"3"), *quiet],
        "decr": [b"decr", r.choice([key(r), b"counter"]), number(r, b"3"), *quiet],
        "every": r.choice([[b"flush_all"], [b"flush_all", b"0", *quiet], [b"flush_all", b"x"], [b"verbosity", b"0", *quiet], [b"verbosity"], [b"version"]]),
        "wrong": [r.choice([b"nonsense", b"GET a", b"set a", b"get", b"", b" ", b"incr a", b"a" * 300, b"mgg a", b"shutdown", b"touch a", b"cas a 0 0 1"])],
    }[verb]
    return b" ".join(words) + r.choice([b"\r\n", b"\r\n", b"\r\n", b"\n"])


def stream(r):
    return b"".join(r.choice([store, store, meta, other, other])(r) for _ in range(r.randrange(1, 30)))


def talk(port, text, r):
    """Everything that is answered to a stream, sent in pieces."""
    with socket.create_connection(("127.0.0.1", port), 5) as s:
        s.settimeout(5)
        # Whatever a broken stream waits for: a value's bytes, the end of a line; then a mark that all is through.
        text += (b"x" * 1000 + b"\r\n") * 4 + b"mg mark k O0000\r\nquit\r\n"
        cuts = sorted(r.randrange(len(text)) for _ in range(r.randrange(3)))
        for start, end in zip([0, *cuts], [*cuts, len(text)]):
            s.sendall(text[start:end])
        got = b""
        while True:
            try:
                more = s.recv(65536)
            except (socket.timeout, ConnectionError):
                return got + b"<no end>"
            if not more:
                return got
            got += more


def without_cas(answer):
    return re.sub(rb" c\d+", b" c", answer)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--form", choices=FORMS, default="plain")
    options = parser.parse_args()
    global HAS_REPLICAS
    HAS_REPLICAS = options.form == "replicas"
    versions = memcacheds()
    with ended([]) as processes:
        for name, program in versions.items():
            servers = range(ALONE[name] + 1, ALONE[name] + 5)
            processes.extend(memcached(port, program) for port in [ALONE[name], *servers])
            processes.extend(front_for_all(FRONT[name], servers, options.form))
        seeds = [options.seed] if options.seed is not None else range(10**9)
        begun, count, again, compared = time.time(), 0, [], dict.fromkeys(versions, 0)
        for seed in seeds:
            if time.time() - begun > options.seconds:
                break
            text = stream(random.Random(seed))
            count += 1
            for _ in range(TRIES):
                alone, ours = ({name: asked(ports[name], text, seed) for name in versions} for ports in (ALONE, FRONT))
                newest = "newest" if "newest" in versions else "memcached"
                agree = [name for name in versions if alone[name] == alone[newest]]
                differ = [name for name in agree if alone[name] != ours[name]]
                if not differ:
                    break
                again.append(seed)
            for name in agree:
                compared[name] += 1
            for name in differ:
                print(f"they differ: --seed {seed}, {name}\nsent      {text!r}\nmemcached {alone[name]!r}\nfanin     {ours[name]!r}")
                sys.exit(1)
        told = ", ".join(f"{times} by {name}" for name, times in compared.items())
        print(f"{count} streams in {time.time() - begun:.0f} s, compared {told}: the same answers, byte for byte; put again, since the first answers differed: {again or 'none'}")


def asked(port, text, seed):
    """Responses to a stream of commands to an empty server."""
    talk(port, b"flush_all\r\n", random.Random(0))
    return without_cas(talk(port, text, random.Random(seed)))


if __name__ == "__main__":
    main()
