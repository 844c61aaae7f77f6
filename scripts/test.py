#!/usr/bin/env python3
"""Runs the workspace's tests in Rust: test programs side by side, since many wait, and then the examples of its documentation.

`cargo test` runs one program after another. Arguments, such as `--skip NAME`, go to every program. A program that takes longer than LIMIT_S is killed with its children, and has failed; the
last lines of its output name the test, since the test runner prints a test that runs for over a minute.
"""

import concurrent.futures
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIMIT_S = 20 * 60
CARGO = ["cargo", "test", "--workspace", "--locked"]
# They begin first, so that none of them is left alone at the end.
LONGEST = ["fanin-daemon", "fanin-cli", "fanin-simulate-tests", "fanin-diagnose"]


def programs():
    """Package, folder and path of each test program, built if needed."""
    built = subprocess.run([*CARGO, "--no-run", "--message-format=json-render-diagnostics"], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if built.returncode:
        sys.exit(built.returncode)
    for line in built.stdout.splitlines():
        message = json.loads(line)
        if message["reason"] == "compiler-artifact" and message["profile"]["test"] and message["executable"]:
            manifest = pathlib.Path(message["manifest_path"])
            package = message["package_id"].split("#")[-1].split("@")[0]
            yield package if package[0].isalpha() else manifest.parent.name, manifest.parent, message["executable"]


def place(program):
    package = program[0]
    return LONGEST.index(package) if package in LONGEST else len(LONGEST)


def run(program):
    """Whether a program passes, its output and its time."""
    package, folder, path = program
    began = time.monotonic()
    child = subprocess.Popen(
        [path, *sys.argv[1:]], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True,
        env={**os.environ, "CARGO_MANIFEST_DIR": str(folder), "CARGO_PKG_NAME": package},
    )
    try:
        output, _ = child.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        output = f"{child.communicate()[0]}test: killed after {LIMIT_S // 60} minutes\n"
    return child.returncode == 0, output, time.monotonic() - began


def main():
    failed = []
    found = sorted(programs(), key=place)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = {pool.submit(run, program): program for program in found}
        for done in concurrent.futures.as_completed(runs):
            passed, output, seconds = done.result()
            package, folder, path = runs[done]
            name = f"{package} ({pathlib.Path(path).name.rsplit('-', 1)[0]})"
            print(f"     Running {name}: {seconds:.0f} s\n{output}", flush=True)
            if not passed:
                failed.append(name)
    if subprocess.run([*CARGO, "--doc"], cwd=ROOT).returncode:
        failed.append("documentation")
    if failed:
        sys.exit(f"test: failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
