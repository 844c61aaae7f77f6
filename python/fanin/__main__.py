"""The program `fanin`, which the package brings: `fanin compare my.toml`, or `python3 -m fanin compare my.toml`."""

from __future__ import annotations

import signal
import sys

from fanin import _fanin


def main() -> None:
    """Runs the program with the arguments of this process, and ends with its exit code."""
    # The interpreter would only hear of Ctrl-C once the program has ended. What a caller has ignored stays ignored.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_fanin.program(["fanin", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
