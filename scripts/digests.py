#!/usr/bin/env python3
"""Digests of every table of every bundled scenario with one seed, and of the quick scorecards: a refactoring must not change
them. Without --update, prints those that differ."""

import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
KEPT = ROOT / "bench" / "digests.json"
FANIN = ROOT / "target" / "release" / "fanin"


def fanin(*arguments):
    command = [str(FANIN), *arguments, "--no-cache", "--json"]
    run = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if run.returncode:
        sys.exit(f"digests: {' '.join(command)}: {run.stderr.strip()}")
    return json.loads(run.stdout)


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]


def of_scenario(path, folder):
    """By table."""
    out = pathlib.Path(folder) / path.replace("/", "-")
    fanin("compare", path, "--seeds", "1", "--out", str(out))
    return {table.stem: digest(table.read_bytes()) for table in sorted(out.glob("*.csv"))}


def of_scorecards():
    card = fanin("reproduce", "all", "--quick")
    for cost in ("wall_s", "cpu_s", "cached_runs"):
        del card[cost]
    for paper in card["papers"]:
        # Figures of this machine's own time.
        paper["figures"] = [figure for figure in paper["figures"] if figure["id"] not in ("S-10", "P-7b")]
    return {paper["paper"]: digest(json.dumps(paper, sort_keys=True).encode()) for paper in card["papers"]}


def main():
    scenarios = sorted(ROOT.glob("scenarios/**/*.toml")) + sorted(ROOT.glob("bench/scenarios/*.toml"))
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(path.relative_to(ROOT)) for path in scenarios]
        found = {path: of_scenario(path, folder) for path in paths} | {"scorecards": of_scorecards()}
    if "--update" in sys.argv:
        KEPT.write_text(json.dumps(found, indent=2) + "\n")
        return
    kept = json.loads(KEPT.read_text())
    differ = [f"{of} {table}" for of in sorted(found.keys() | kept.keys())
              for table in sorted(found.get(of, {}).keys() | kept.get(of, {}).keys())
              if found.get(of, {}).get(table) != kept.get(of, {}).get(table)]
    for line in differ:
        print(f"digests: {line} differs")
    if differ:
        sys.exit(1)
    print(f"digests: {sum(map(len, found.values()))} tables and scorecards are unchanged")


if __name__ == "__main__":
    main()
