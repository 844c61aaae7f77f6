"""The program in the wheel."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest

import fanin

PROGRAM = pathlib.Path(sys.executable).parent / "fanin"


@pytest.fixture
def file(tmp_path, short):
    path = tmp_path / "short.toml"
    path.write_text(short.text)
    return str(path)


def test_it_is_installed_beside_the_interpreter_and_prints_the_packages_version():
    for command in ([str(PROGRAM)], [sys.executable, "-m", "fanin"]):
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
        assert re.fullmatch(rf"fanin {re.escape(fanin.__version__)}( \(\w+\))?\n", done.stdout), command
        usage = subprocess.run([*command, "compare", "--help"], capture_output=True, text=True, check=True).stdout
        assert "Usage: fanin compare" in usage, command


def test_it_prints_what_the_package_gives(file, short, tmp_path):
    arguments = ["compare", file, "--seeds", "1", "--no-cache", "--json", "--out", str(tmp_path / "out")]
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=True)
    printed, summary = json.loads(done.stdout), fanin.Scenario(file).compare(seeds=1, cache=False).summary
    printed.pop("engine"), summary.pop("engine")
    assert printed == summary
    # The user's command, not the interpreter's.
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["arguments"] == arguments


def test_its_exit_codes_are_the_programs(file, tmp_path):
    def code(*arguments, **how):
        return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, **how).returncode

    wrong = tmp_path / "wrong.toml"
    wrong.write_text('schemes = ["dctcp"]\n[link]\nrat = "10 Gbit/s"\n')
    assert code("list") == 0
    assert code("compare", str(wrong)) == 2
    assert code("no-such-command") == 2
    # Like the program of Cargo: a closed reader is no error, an unwritable output is one.
    both = subprocess.run(f"'{PROGRAM}' list | true; '{PROGRAM}' list >&-; echo $?", shell=True, capture_output=True, text=True)
    assert both.stdout == "3\n"
    assert both.stderr == "error: cannot write to standard output: standard output is closed\n"


def test_ctrl_c_ends_it_with_what_has_finished(file):
    arguments = ["compare", file, "--set", "workload.duration=3 s", "--seeds", "5000", "--no-cache", "--json"]
    # A shell's background jobs ignore SIGINT, and so would the program.
    began = subprocess.Popen(
        ["/usr/bin/env", "--default-signal=INT", PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while not re.match(r"[1-9]\d* of ", began.stderr.readline()):
        assert began.poll() is None
    os.kill(began.pid, signal.SIGINT)
    out, errors = began.communicate(timeout=120)
    assert began.returncode == 130, errors
    assert "stopped by Ctrl-C; the results include the " in errors
    assert json.loads(out)["scenario"] == "short.toml"
    assert "Traceback" not in errors
