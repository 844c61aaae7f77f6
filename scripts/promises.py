#!/usr/bin/env python3
"""Holds the documents to the times that they promise, on an otherwise idle machine with two cores: builds from an empty clone.

A promise is a line that names a command of make and the minutes that it takes: "`make demo` takes N minutes". Prints wall and processor
time of each; 1 if one takes longer.
"""

import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = ["README.md", "docs/quick-start.md"]
PROMISE = re.compile(r"`make ([a-z-]+)` takes (?:about )?(\d+) minutes")


def promises():
    """The least minutes that any page promises, by target."""
    found = {}
    for page in PAGES:
        for target, minutes in PROMISE.findall((ROOT / page).read_text().replace("\n", " ")):
            found[target] = min(int(minutes), found.get(target, int(minutes)))
    return found


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main():
    found = promises()
    if not found:
        sys.exit(f"promises: {' and '.join(PAGES)} promise nothing")
    late = []
    for target, minutes in found.items():
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True)
            environment = {key: value for key, value in os.environ.items() if key != "CARGO_TARGET_DIR"}
            environment["XDG_CACHE_HOME"] = f"{folder}/cache"
            began, used = time.monotonic(), processor_seconds()
            subprocess.run(["make", target], cwd=folder, check=True, env=environment, stdout=subprocess.DEVNULL)
            wall = time.monotonic() - began
            print(f"promises: make {target}: {wall:.0f} s, {processor_seconds() - used:.0f} s of processor time; promised: {minutes} minutes")
            if wall > minutes * 60:
                late.append(target)
    if late:
        sys.exit(f"promises: too slow: {', '.join(late)}; is the machine idle?")


if __name__ == "__main__":
    main()
