#!/usr/bin/env python3
"""Run a command, and kill it with its children once it has printed nothing for 20 minutes.

A test that waits for ever is thereby a failure, and the last lines name it: Rust's test runner prints a test that runs for over a minute.
"""

import os
import signal
import subprocess
import sys
import threading
import time

SILENCE_S = 20 * 60


def main(command):
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    printed = [time.monotonic()]

    def copy():
        for line in child.stdout:
            printed[0] = time.monotonic()
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()

    def forward(number, _):
        os.killpg(child.pid, number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, forward)
    copier = threading.Thread(target=copy, daemon=True)
    copier.start()
    while True:
        try:
            code = child.wait(timeout=1)
            break
        except subprocess.TimeoutExpired:
            if time.monotonic() - printed[0] > SILENCE_S:
                os.killpg(child.pid, signal.SIGKILL)
                copier.join(timeout=5)
                command = " ".join(command)
                sys.exit(f"limit: ended {command}: it printed nothing for {SILENCE_S // 60} minutes; the lines above name the test")
    # A process that the command has left behind may hold the pipe open.
    copier.join(timeout=5)
    sys.stdout.flush()
    os._exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main(sys.argv[1:])
