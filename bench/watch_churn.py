#!/usr/bin/env python3
"""One `fanin watch` that runs for long, and others that are started and killed, under connections that come and go.

In two network namespaces behind a short queue: 2 to 64 new connections each 0.3 s, with losses, and readers that stop. Ends with 1 if the
long-lived sensor's memory or open files grow, a killed one leaves a program in the kernel, the kernel's log has a new warning, or it saves
more bursts than it may.

    watch_churn.py [--minutes N] [--seed K]
"""

import argparse
import asyncio
import contextlib
import ctypes
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = os.environ.get("FANIN_KERNEL", str(ROOT / "target/release/fanin-kernel"))
RECEIVER, SENDER = (f"fanin-churn-{os.getpid()}{end}" for end in "rs")
WARNINGS = re.compile(r"WARNING|BUG|Oops|Call Trace|refcount|use-after-free|general protection|lockdep|stall", re.IGNORECASE)
KEEP = 3
# Growth of the memory after the first minute that is no leak: the allocator's, and the summary of services.
ROOM_KIB = 2048
PORT = 7000
BPF_SYSCALL, PROG_NEXT = 321, 11
libc = ctypes.CDLL(None, use_errno=True)


def bpf(command, *words):
    """A call whose attributes are 32-bit words; returns its result and the words."""
    attributes = (ctypes.c_uint32 * 32)(*words)
    return libc.syscall(BPF_SYSCALL, command, ctypes.byref(attributes), ctypes.sizeof(attributes)), attributes


def programs():
    """Numbers of all programs in the kernel."""
    found, number = set(), 0
    while True:
        result, attributes = bpf(PROG_NEXT, number)
        if result:
            return found
        number = attributes[1]
        found.add(number)


def programs_of(process):
    """Numbers of a sensor's programs, which its open files name."""
    texts = []
    for file in pathlib.Path(f"/proc/{process.pid}/fdinfo").iterdir():
        with contextlib.suppress(OSError):
            texts.append(file.read_text())
    return {int(number) for text in texts for number in re.findall(r"prog_id:\s+(\d+)", text)}


def log():
    return set(subprocess.run(["dmesg"], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines())


def inside(namespace, *command):
    return ["ip", "netns", "exec", namespace, *command]


async def respond(reader, writer):
    try:
        while request := await reader.readexactly(4):
            writer.write(bytes(int.from_bytes(request, "big")))
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    writer.close()


async def serve():
    server = await asyncio.start_server(respond, "10.77.0.2", PORT, backlog=512)
    print("ready", flush=True)
    async with server:
        await server.serve_forever()


async def ask(chance):
    reads_late = chance.random() < 0.03
    size = 400_000 if reads_late else chance.choice([1_000, 20_000, 60_000])
    reader, writer = await asyncio.open_connection("10.77.0.2", PORT, limit=4096)
    writer.write(size.to_bytes(4, "big"))
    if reads_late:
        await asyncio.sleep(0.1)
    await reader.readexactly(size)
    writer.close()


async def waves(seed):
    """Rounds of new connections, until a signal."""
    chance = random.Random(seed)
    while True:
        asked = [ask(chance) for _ in range(chance.randint(2, 64))]
        await asyncio.gather(*asked, return_exceptions=True)
        await asyncio.sleep(0.3)


def up():
    lines = [
        f"netns add {RECEIVER}", f"netns add {SENDER}", f"link add vr netns {RECEIVER} type veth peer name vs netns {SENDER}",
        f"-n {RECEIVER} addr add 10.77.0.1/24 dev vr", f"-n {SENDER} addr add 10.77.0.2/24 dev vs", f"-n {RECEIVER} link set vr up", f"-n {SENDER} link set vs up",
        f"-n {RECEIVER} link set lo up",
    ]
    for line in lines:
        subprocess.run(["ip", *line.split()], check=True)
    subprocess.run(inside(SENDER, *"tc qdisc add dev vs root tbf rate 200mbit burst 3200 limit 60000".split()), check=True)


def memory(process):
    """Resident memory in KiB, and open files."""
    text = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", text).group(1)), len(os.listdir(f"/proc/{process.pid}/fd"))


def watch(place, namespace, device, *more):
    command = [PROGRAM, "watch", "--interface", device, "--rate-mbit", "200", "--json", *more]
    return subprocess.Popen(inside(namespace, *command), stdout=place.open("a"), stderr=subprocess.STDOUT)


def act(chance, folder):
    """Starts a sensor and ends it, mostly by force; returns its name and what it left."""
    namespace, device = chance.choice([(RECEIVER, "vr"), (SENDER, "vs")])
    saves = chance.random() < 0.5
    more = ["--save", str(folder / "others"), "--keep", "1"] if saves else []
    child = watch(folder / "others.txt", namespace, device, *more)
    time.sleep(chance.uniform(0, 3))
    how = chance.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM])
    own = programs_of(child)
    child.send_signal(how)
    child.wait(30)
    for _ in range(200):
        left = programs() & own
        if not left:
            break
        time.sleep(0.02)
    return f"{how.name} {device}{' --save' * saves}{'' if own else ' before it loads'}", left


def churn(options, folder):
    chance, old, began, acts, wrong = random.Random(options.seed), log(), time.monotonic(), {}, []
    this = [sys.executable, __file__]
    server = subprocess.Popen(inside(SENDER, *this, "--serve"), stdout=subprocess.PIPE, text=True)
    server.stdout.readline()
    clients = subprocess.Popen(inside(RECEIVER, *this, "--ask", "--seed", str(options.seed)))
    more = ["--save", str(folder / "saved"), "--keep", str(KEEP), "--write", str(folder / "hours"), "--metrics", "127.0.0.1:9153"]
    long_lived = [watch(folder / "receiver.txt", RECEIVER, "vr", *more), watch(folder / "sender.txt", SENDER, "vs")]
    first = None
    try:
        while time.monotonic() - began < options.minutes * 60 and not wrong:
            name, left = act(chance, folder)
            acts[name] = acts.get(name, 0) + 1
            wrong += [f"{name} left programs {left}"] * bool(left)
            wrong += [f"log: {line}" for line in log() - old if WARNINGS.search(line)]
            wrong += [f"{process.args} ended" for process in [server, clients, *long_lived] if process.poll() is not None]
            if first is None and time.monotonic() - began > 60:
                first = [memory(process) for process in long_lived]
        if wrong:
            return [*wrong, *(place.read_text()[-400:] for place in sorted(folder.glob("*.txt")))]
        last = [memory(process) for process in long_lived]
        own = set().union(*map(programs_of, long_lived))
    finally:
        for process in long_lived:
            process.terminate()
            process.wait(30)
        for process in (clients, server):
            process.kill()
            process.wait()
    for (kib, files), (kib_after, files_after) in zip(first or last, last):
        print(f"memory {kib} KiB after a minute, {kib_after} KiB at the end; open files {files}, {files_after}")
        wrong += ["memory grew"] * (kib_after > kib + ROOM_KIB) + ["open files grew"] * (files_after > files)
    time.sleep(1)
    wrong += [f"the long-lived sensors left programs {programs() & own}"] * bool(programs() & own)
    saved = len(list((folder / "saved").iterdir()))
    wrong += [f"{saved} bursts are saved"] * (saved > KEEP)
    rows = [json.loads(line) for place in ("receiver", "sender") for line in (folder / f"{place}.txt").open() if line.startswith("{")]
    kinds = {kind: sum(1 for row in rows if row["type"] == kind) for kind in ("burst", "wait", "saved")}
    causes = {cause: sum(1 for row in rows if row.get("cause") == cause) for cause in ("timeout", "loss-probe", "fast-retransmit", "zero-window")}
    print(f"{(time.monotonic() - began) / 60:.1f} minutes, {sum(acts.values())} sensors started and ended: {dict(sorted(acts.items()))}")
    print(f"rows {kinds}, waits {causes}, log: {len(log() - old)} new lines")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--ask", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve or options.ask:
        return asyncio.run(serve() if options.serve else waves(options.seed))
    if os.geteuid():
        sys.exit("watch_churn: the sensor needs root")
    with tempfile.TemporaryDirectory() as folder:
        try:
            up()
            wrong = churn(options, pathlib.Path(folder))
        finally:
            for namespace in (RECEIVER, SENDER):
                subprocess.run(["ip", "netns", "del", namespace], check=False)
    print("\n".join(wrong) or "nothing wrong, nothing left")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
