#!/usr/bin/env python3
"""Run the Rust tests again and again on a busy machine: beside processes that only compute, and beside other copies of themselves.

Prints a line for each run, and every failed test with its output. Exits with 1 if any failed.
"""

import argparse
import contextlib
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FAILED = re.compile(r"^test (\S+) \.\.\. FAILED$", re.M)
PASSED = re.compile(r"^test result: \w+\. (\d+) passed", re.M)


@contextlib.contextmanager
def busy(count):
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def crowd(command, copies, folder):
    """Runs copies of the tests at once; returns the texts that they print, and their exit codes."""
    files = [pathlib.Path(folder) / str(copy) for copy in range(copies)]
    with contextlib.ExitStack() as opened:
        outputs = [opened.enter_context(file.open("wb")) for file in files]
        running = [subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT) for output in outputs]
        codes = [process.wait() for process in running]
    return [file.read_text(errors="replace") for file in files], codes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--busy", type=int, default=14, help="processes that only compute")
    parser.add_argument("--copies", type=int, default=2, help="copies of the tests at once")
    parser.add_argument("tests", nargs="*", default=["--workspace"], help="arguments of cargo test")
    options = parser.parse_args()
    command = ["cargo", "test", "--locked", "--no-fail-fast", *options.tests]
    subprocess.run([*command[:3], "--no-run", "--quiet", *options.tests], cwd=ROOT, check=True)
    any_failed = False
    for run in range(1, options.runs + 1):
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder, busy(options.busy):
            texts, codes = crowd(["scripts/limit.py", *command], options.copies, folder)
        failed = [name for text in texts for name in FAILED.findall(text)]
        passed = sum(int(count) for text in texts for count in PASSED.findall(text))
        print(f"run {run}: {passed} passed, {len(failed)} failed, {time.monotonic() - began:.0f} s", *failed, flush=True)
        if any(codes):
            any_failed = True
            print("\n".join(text.partition("\nfailures:\n")[2] or text[-4000:] for text, code in zip(texts, codes) if code), flush=True)
    sys.exit(any_failed)


if __name__ == "__main__":
    main()
