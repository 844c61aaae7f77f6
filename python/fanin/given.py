"""What a caller gives, held against what it is to be: an error names the parameter, and what would be right."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Protocol


class Numpy(Protocol):
    """A number, a truth value or an array of numpy's."""

    def tolist(self) -> Any:
        """It as Python's own."""


def plain(value: Any) -> Any:
    """A value of Python's own: numpy's integers and truth values are no `int` and no `bool`, and its floats print as `np.float64(0.5)`."""
    return value.tolist() if hasattr(value, "dtype") and hasattr(value, "tolist") else value


def wrong(name: str, value: Any, right: str) -> TypeError:
    """An error that says so."""
    return TypeError(f"{name}: {value!r} is a {type(value).__name__}; right would be {right}")


def text(name: str, value: Any, right: str) -> str:
    """A text."""
    if not isinstance(value, str):
        raise wrong(name, value, right)
    return value


def path(name: str, value: Any) -> str:
    """A path."""
    if not isinstance(value, (str, os.PathLike)):
        raise wrong(name, value, 'a path, such as "out/"')
    return os.fspath(value)


def whole(name: str, value: Any, least: int, such: int) -> int:
    """A whole number, at least so large."""
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise wrong(name, value, f"a whole number, such as {such}")
    if value < least:
        raise TypeError(f"{name}: {value} is too small; right would be a whole number from {least} on")
    return value


def number(name: str, value: Any, such: float) -> float:
    """A number."""
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise wrong(name, value, f"a number, such as {such}")
    return value


def flag(name: str, value: Any) -> bool:
    """Yes or no."""
    value = plain(value)
    if not isinstance(value, bool):
        raise wrong(name, value, "True or False")
    return value


def several(name: str, values: Any, kind: type | tuple[type, ...], right: str) -> list[Any]:
    """A list of things of a kind."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise wrong(name, values, f"a list, such as {right}")
    listed = [plain(value) for value in values]
    for value in listed:
        if isinstance(value, bool) or not isinstance(value, kind):
            raise wrong(name, value, f"a list, such as {right}")
    return listed
