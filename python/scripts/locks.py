"""Checks that the package is built of the libraries that the program is built of: Cargo.lock and python/Cargo.lock agree."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def libraries(lock: pathlib.Path) -> dict[str, set[str]]:
    """The versions of every library from a registry."""
    found: dict[str, set[str]] = {}
    for package in lock.read_text().split("[[package]]")[1:]:
        if "\nsource = " in package:
            name, version = (re.search(rf'^{key} = "(.*)"$', package, re.M)[1] for key in ("name", "version"))
            found.setdefault(name, set()).add(version)
    return found


program, package = libraries(ROOT / "Cargo.lock"), libraries(ROOT / "python" / "Cargo.lock")
wrong = [name for name in package.keys() & program.keys() if not package[name] <= program[name]]
if wrong:
    sys.exit(
        f"python/Cargo.lock has other versions than Cargo.lock of {', '.join(sorted(wrong))}: copy Cargo.lock over it, then cargo check"
    )
