#!/usr/bin/env python3
"""Whether clients' own tests take `fanin front` for memcached: memccapable (Debian's libmemcached-tools), pymemcache's integration
tests (PyPI) and gomemcache's TestLocalhost (Go), each against memcached itself and against fanin before four memcacheds: the system's
and the newest release, where that can be had. Fanin is tried in several forms: plainly, with TLS, with `on_down = "next"`, with replicas,
and after a hundred reloads.

What cannot be had here is skipped, with the reason. gomemcache asks port 11211 of this machine, which must be free.
"""

import glob
import re
import shutil
import socket
import subprocess
import sys

from stands import FORMS, ROOT, ended, front_for_all, memcached, memcacheds

WORK = ROOT / "target" / "conformance"
PORT = 11211
SERVERS = [23201, 23202, 23203, 23204]


def call(*command, **more):
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)


def memccapable():
    if not shutil.which("memccapable"):
        return None, "memccapable is not installed: Debian's libmemcached-tools"
    return lambda: call("memccapable", "-h", "127.0.0.1", "-p", PORT, "-a", timeout=120).stdout.count("[pass]"), None


def pymemcache():
    """Its source distribution, since the tests are not installed, and pytest, in an environment of their own."""
    python = WORK / "python" / "bin" / "python"
    if not python.exists():
        made = call(sys.executable, "-m", "venv", WORK / "python")
        if made.returncode:
            return None, f"no virtual environment: {made.stdout.strip().splitlines()[-1]}"
    steps = [
        (python, "-m", "pip", "install", "-q", "pytest", "pytest-cov"),
        (python, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", "-d", WORK, "pymemcache==4.0.0"),
    ]
    for step in steps:
        done = call(*step, timeout=300)
        if done.returncode:
            return None, f"pip: {done.stdout.strip().splitlines()[-1]}"
    shutil.unpack_archive(glob.glob(str(WORK / "pymemcache-*.tar.gz"))[0], WORK)
    source = WORK / "pymemcache-4.0.0"

    def run():
        found = call(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts=", "pymemcache/test/test_integration.py",
                     "--server", "127.0.0.1", "--port", PORT, cwd=source, timeout=300).stdout
        passed = re.search(r"(\d+) passed", found)
        failed = [line for line in found.splitlines() if line.startswith("FAILED")]
        return (int(passed[1]) if passed else 0, *failed)

    return run, None


def gomemcache():
    if not shutil.which("go"):
        return None, "Go is not installed"
    folder = WORK / "go"
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "go.mod").exists():
        call("go", "mod", "init", "conformance", cwd=folder)
    got = call("go", "get", "-t", "github.com/bradfitz/gomemcache/memcache", cwd=folder, timeout=300)
    if got.returncode:
        return None, f"go get: {got.stdout.strip().splitlines()[-1]}"

    def run():
        out = call("go", "test", "-count=1", "-v", "-run", "TestLocalhost", "github.com/bradfitz/gomemcache/memcache", cwd=folder, timeout=300).stdout
        return (out.count("--- PASS: TestLocalhost"), *[line.strip() for line in out.splitlines() if "_test.go:" in line])

    return run, None


def main():
    if not shutil.which("memcached"):
        sys.exit("memcached is not installed")
    WORK.mkdir(parents=True, exist_ok=True)
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", PORT)) == 0:
            sys.exit(f"port {PORT} is in use")
    differ = False
    for name, program in memcacheds().items():
        found = {form: results(form, program) for form in (None, *FORMS)}
        for suite, alone in found.pop(None).items():
            for form, ours in ((form, found[form][suite]) for form in found):
                # The newest itself fails at two of memccapable's, where this is as older ones are.
                passes = alone == ours or suite == "memccapable" and isinstance(alone, int) and ours >= alone
                differ |= not passes
                print(f"{suite}, {name}: memcached {alone}, fanin {form} {ours}: {'no less' if passes else 'THEY DIFFER'}", flush=True)
    sys.exit(differ)


def results(form, program):
    """Results of each suite with a form of fanin before four memcacheds, or with memcached alone."""
    with ended([]) as processes:
        if form is None:
            processes.append(memcached(PORT, program))
        else:
            processes.extend(memcached(port, program) for port in SERVERS)
            processes.extend(front_for_all(PORT, SERVERS, form))
        found = {}
        for suite in (memccapable, pymemcache, gomemcache):
            run, lacks = suite()
            found[suite.__name__] = run() if run else f"skipped: {lacks}"
        return found


if __name__ == "__main__":
    main()
