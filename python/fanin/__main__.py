"""The program `fanin`, included in the package: `fanin compare my.toml`, or `python3 -m fanin compare my.toml`."""

from __future__ import annotations

import signal
import sys

from fanin import _fanin


def main() -> None:
    """Run the program with this process's arguments and exit with its code."""
    # The interpreter would only handle Ctrl-C after the program ends. A signal that the caller ignores stays ignored.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_fanin.program(["fanin", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
