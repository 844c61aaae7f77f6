"""`python3 -I -m fanin.bridge tcp://scheduler:8786`: sends batches of the program's `--on` to a Dask cluster.

Batches arrive on standard input, each as a number, a length (8 bytes each, little-endian) and its bytes. Results go to standard
output, each after its kind: `a` (answer), `l` (lost), `r` (refused), `g` (gone), or `s` (slots: the number of batches in progress).
"""

from __future__ import annotations

import os
import struct
import sys
import threading
import time
from typing import Any, BinaryIO

from fanin.carry import Futures, said

HEAD = struct.Struct("<cQQ")
PARCEL = struct.Struct("<QQ")


class Bridge:
    """Connection to one cluster."""

    def __init__(self, futures: Futures, out: BinaryIO) -> None:
        self._futures = futures
        self._out = out
        self._lock = threading.Lock()

    def say(self, kind: bytes, number: int, what: bytes = b"") -> None:
        """Write one result."""
        with self._lock:
            self._out.write(HEAD.pack(kind, number, len(what)) + what)
            self._out.flush()

    def take(self, source: BinaryIO) -> None:
        """Submit batches until standard input closes."""
        while len(head := source.read(PARCEL.size)) == PARCEL.size:
            number, length = PARCEL.unpack(head)
            why = self._futures.hand_in(number, source.read(length))
            if why is not None:
                self.say(b"g", number, why.encode())
        self._futures.give_up()
        os._exit(0)

    def tell(self) -> None:
        """Write the results of batches and the number of workers."""
        slots, told = 0, 0.0
        while True:
            if time.monotonic() - told > 0.5:
                told, now = time.monotonic(), self._futures.at_once()
                if now != slots:
                    slots = now
                    self.say(b"s", slots)
            came = self._futures.next(0.05)
            if came is not None:
                number, kind, what = came
                self.say(kind[0].encode(), number, what if isinstance(what, bytes) else what.encode())


def main(address: str) -> None:
    """Serve the program's batches."""
    try:
        from distributed import Client
    except ImportError as error:
        sys.exit(f"{error}: pip install 'dask[distributed]'")
    try:
        client: Any = Client(address, timeout="10s", set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, TypeError) as error:
        sys.exit(f"{address}: no response from a scheduler: {said(error)}")
    bridge = Bridge(Futures(client.get_executor()), sys.stdout.buffer)
    threading.Thread(target=bridge.take, args=(sys.stdin.buffer,), daemon=True).start()
    bridge.tell()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python3 -I -m fanin.bridge tcp://scheduler:8786")
    main(sys.argv[1])
