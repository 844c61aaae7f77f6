#!/usr/bin/env python3
"""Checks that every file that a document names in back ticks exists. `src/` and `crates/` may be left out, and leading folders."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAMED = re.compile(r"`([a-z][\w-]*(?:/[\w.-]+)+\.(?:rs|py|ts|sh|md|toml))`")
# Entries of a release stay as they were; NAME and the folder `found` are the reader's.
HISTORY, EXAMPLES = "CHANGELOG.md", ("NAME", "found/")


def endings(file):
    """The ways to name a file: from any of its folders on, without `src/`."""
    for path in (file, file.replace("/src/", "/")):
        parts = path.split("/")
        yield from ("/".join(parts[at:]) for at in range(len(parts) - 1))


def main():
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    known = {ending for file in files for ending in endings(file)}
    documents = [file for file in files if file.endswith(".md") and file != HISTORY and (ROOT / file).exists()]
    wrong = []
    for document in documents:
        for number, line in enumerate((ROOT / document).read_text().splitlines(), 1):
            stale = (path for path in NAMED.findall(line) if not any(one in path for one in EXAMPLES) and path not in known)
            wrong += [f"{document}:{number}: no file {path}" for path in stale]
    if wrong:
        sys.exit("\n".join(f"paths: {line}" for line in wrong))
    print(f"paths: {len(documents)} documents, every file that they name exists")


if __name__ == "__main__":
    main()
