"""What runs on a worker. Executors carry this function by its name: the package has to be installed there."""

from __future__ import annotations

from fanin import _fanin


def work(parcel: bytes, ticket: str) -> bytes:
    """Carries out a parcel's runs and gives their answer; the ticket tells it from all others."""
    return _fanin.work(parcel)
