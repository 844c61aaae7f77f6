"""Shared fixtures: the project's folder, the program, and short scenarios."""

import os
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = pathlib.Path(os.environ.get("FANIN", ROOT / "target" / "release" / "fanin"))

SHORT = """
title = "a short one"
schemes = ["newreno", "dctcp"]
[link]
rate = "1 Gbit/s"
delay = "25 us"
[switch]
buffer = "64 KiB"
[workload]
fragment = "64 KiB"
duration = "200 ms"
[sweep]
fan_in = [2, 8]
[run]
seeds = 2
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """Start every test with an empty cache, at the project's root."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(ROOT)


@pytest.fixture
def short():
    """A scenario that runs for a few milliseconds."""
    import fanin

    return fanin.Scenario(text=SHORT)


@pytest.fixture
def program():
    """The program built from the same sources."""
    if not PROGRAM.exists():
        pytest.fail(f"{PROGRAM} is not there: make build, or FANIN=<path>")
    return str(PROGRAM)
