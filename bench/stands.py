"""Shared parts of the measurements of `fanin front`: memcached servers and proxies on this machine, which end with the script."""

import atexit
import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FANIN = os.environ.get("FANIN", str(ROOT / "target/release/fanin"))

# SIGTERM ends the started programs, as Ctrl-C does.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def wait(port):
    """Until somebody listens there."""
    for _ in range(200):
        try:
            return socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
    sys.exit(f"nobody listens on port {port}")


def at(*ports):
    """Addresses on this machine, as `--servers` takes them."""
    return ",".join(f"127.0.0.1:{port}" for port in ports)


def start(port, *command, messages=subprocess.DEVNULL):
    """A program that listens on that port, once it does."""
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=messages)
    try:
        wait(port)
    except SystemExit:
        process.kill()
        raise
    return process


def memcacheds():
    """Programs by name: the system's memcached, and the newest release if it is available."""
    found = {"memcached": "memcached"}
    newest = subprocess.run([ROOT / "scripts/memcached.sh"], stdout=subprocess.PIPE, text=True)
    if newest.returncode == 0:
        found["newest"] = newest.stdout.strip()
    else:
        print("skipped: the newest release of memcached, which cannot be had here (see above)", flush=True)
    for name, program in found.items():
        told = subprocess.run([program, "-V"], stdout=subprocess.PIPE, text=True).stdout.strip()
        print(f"{name}: {told}", flush=True)
    return found


def memcached(port, program="memcached", *more):
    return start(port, program, "-u", "nobody", "-l", "127.0.0.1", "-p", port, "-t", 1, "-m", 64, *more)


def front(port, servers, *more, program=FANIN):
    """`fanin front` before these servers' ports."""
    return start(port, program, "front", "--listen", at(port), "--servers", at(*servers), *more)


# Forms of a front end, with the pool's settings. Clients must not notice a difference.
FORMS = {
    "plain": "",
    "next": 'on_down = "next"',
    "replicas": "replicas = 2",
    "tls": 'tls = { certificate = "own.pem", key = "own.key" }',
    "reloads": "",
}
RELOADS = 100


def certificates(folder):
    """A CA and a certificate for this machine, in the folder."""
    (folder / "san").write_text("subjectAltName=IP:127.0.0.1\n")
    for command in ("req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=test-ca",
                    "req -newkey rsa:2048 -nodes -keyout own.key -out own.csr -subj /CN=127.0.0.1",
                    "x509 -req -in own.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out own.pem -days 2 -extfile san"):
        subprocess.run(["openssl", *command.split()], cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def front_for_all(port, servers, form="plain"):
    """Processes of a front end whose clients may do all that memcached permits, such as `flush_all`, and who need no TLS."""
    with tempfile.TemporaryDirectory() as name:
        folder, listed = pathlib.Path(name), ", ".join(f'"127.0.0.1:{server}"' for server in servers)
        config, own = folder / "front.toml", port + 50 if form == "tls" else port
        pool = f'[[pool]]\nname = "all"\nlisten = "{at(own)}"\nadmin = true\nservers = [{listed}]\n{FORMS[form]}\n'
        config.write_text(pool)
        if form == "tls":
            certificates(folder)
        processes = [start(own, FANIN, "front", "--config", config)]
        # They end with this process, whatever fails here.
        atexit.register(processes[0].kill)
        if form == "tls":
            tunnel = pathlib.Path(__file__).with_name("tunnel.py")
            processes.append(start(port, sys.executable, tunnel, port, own, folder / "ca.pem"))
        for number in range(RELOADS if form == "reloads" else 0):
            config.write_text(pool + ("", 'multiget = "sliding-window"\n', 'timeout = "3 s"\n')[(RELOADS - 1 - number) % 3])
            subprocess.run([FANIN, "front", "--config", config, "--reload"], check=True, stdout=subprocess.DEVNULL)
        return processes


@contextlib.contextmanager
def ended(processes):
    """Whatever is in the list by then ends with the block."""
    try:
        yield processes
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait()


def figures(port):
    """The front end's `stats`, by name."""
    with socket.create_connection(("127.0.0.1", port), 5) as s:
        s.sendall(b"stats\r\nquit\r\n")
        text = b""
        while more := s.recv(1 << 16):
            text += more
    return dict(line.split(" ", 2)[1:] for line in text.decode().splitlines() if line.startswith("STAT "))


def resident(pid):
    """A process's resident memory, MB."""
    return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6
