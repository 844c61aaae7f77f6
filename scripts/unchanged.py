#!/usr/bin/env python3
"""Whether the files on which a suite of tests depends are those with which it last passed: `unchanged.py SUITE` exits with 0 if so.

`unchanged.py --record SUITE` notes that it has passed. `.ci/run` calls both; the record is committed, so that CI, too, leaves out what
cannot have changed. `make check` runs every suite in any case.
"""

import hashlib
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RECORD = ROOT / ".ci" / "passed.json"
# Every suite depends on these.
SHARED = [".ci/run", "Cargo.lock", "Cargo.toml", "Makefile", "rust-toolchain.toml", "scripts/python.sh", "scripts/setup.sh", "scripts/test.py"]
LABORATORY = "crates/laboratory"
SUITES = {
    # Commands and their output in documents.
    "documents": ["README.md", "docs", "papers", "scenarios", "crates"],
    "test-browser": ["web", "scenarios", "crates/engine/tables", *(f"{LABORATORY}/{crate}" for crate in ["advise", "lab", "papers", "report"])],
    "test-python": ["python", "vectors", "crates/limit", "crates/scenario/spec", *(f"{LABORATORY}/{crate}" for crate in ["execute", "fanin", "lab"])],
}


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def digest(suite):
    """Digest of the files on which a suite depends; `None` if some are not committed."""
    paths = ["--", *SHARED, *SUITES[suite]]
    if git("status", "--porcelain", *paths):
        return None
    return hashlib.sha256(git("ls-tree", "-r", "HEAD", *paths[1:]).encode()).hexdigest()


def main():
    recorded = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    match sys.argv[1:]:
        case [suite] if suite in SUITES:
            sys.exit(0 if recorded.get(suite, "") == digest(suite) else 1)
        case ["--record", suite] if suite in SUITES:
            if now := digest(suite):
                RECORD.write_text(json.dumps({**recorded, suite: now}, indent=2, sort_keys=True) + "\n")
        case _:
            sys.exit(f"usage: unchanged.py [--record] {'|'.join(SUITES)}")


if __name__ == "__main__":
    main()
