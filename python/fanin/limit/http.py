"""Sizes that HTTP requests and responses state."""

from __future__ import annotations

import re
from collections.abc import Mapping

_RANGE = re.compile(r"bytes=(\d*)-(\d+)")


def range_size(header: str | None) -> int | None:
    """Return the size of a single range, such as `bytes=0-499` or `bytes=-500`, or None."""
    found = _RANGE.fullmatch((header or "").strip())
    if found is None:
        return None
    first, last = found[1], int(found[2])
    if not first:
        return last
    return last - int(first) + 1 if int(first) <= last else None


def content_length(headers: Mapping[str, str]) -> int | None:
    """Return the size that a response's header states, or None."""
    text = headers.get("content-length", "")
    return int(text) if text.isascii() and text.isdigit() else None
