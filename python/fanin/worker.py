"""What runs on a worker. Executors carry this function by its name: the package has to be installed there."""

from __future__ import annotations

from fanin import _fanin
from fanin.laws import under


def work(parcel: bytes, ticket: str, laws: bytes = b"") -> bytes:
    """Carries out a parcel's runs, under laws of the caller's, and gives their answer; the ticket tells it from all others."""
    return under(laws, lambda: _fanin.work(parcel)) if laws else _fanin.work(parcel)
