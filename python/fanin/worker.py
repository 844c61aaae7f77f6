"""Entry point of workers. Executors send this function by name: the package must be installed there."""

from __future__ import annotations

from fanin import _fanin
from fanin.laws import under


def work(parcel: bytes, ticket: str, laws: bytes = b"") -> bytes:
    """Execute a batch's runs with the caller's algorithms and return the response; the ticket makes each batch unique."""
    return under(laws, lambda: _fanin.work(parcel)) if laws else _fanin.work(parcel)
