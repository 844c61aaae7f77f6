"""Commands for Linux that make a scenario's network and set its hosts' TCP, as `fanin_assemble::linux` maps them (its example linux_setup)."""

import functools
import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


@functools.cache
def program():
    """The program, built anew if its sources changed."""
    subprocess.run(["cargo", "build", "--quiet", "--locked", "--package", "fanin-assemble", "--example", "linux_setup"], cwd=ROOT, check=True)
    return pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug" / "examples" / "linux_setup"


def ask(*words):
    done = subprocess.run([program(), *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr.strip())
    return json.loads(done.stdout)


def text_of(value):
    """A key's value as a scenario has it."""
    return json.dumps(value) if isinstance(value, bool) else value


def setup(scenario, scheme, servers, namespaces, settings):
    """`files` for `ip`, `tc` and `sysctl`, `receive_buffer` and `round_trip_us` of a point; servers have `own` namespaces or a `shared` one."""
    return ask(scenario, scheme, servers, namespaces, *(f"{key}={text_of(value)}" for key, value in settings.items()))


def port(scenario, scheme, servers, device):
    """Lines of `tc -batch` for the port to the client."""
    return ask(scenario, scheme, servers, "port", device)["tc"]
