"""Checks of arguments: an error names the parameter and gives a valid example."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Protocol


class Numpy(Protocol):
    """A number, a Boolean or an array of numpy."""

    def tolist(self) -> Any:
        """The value as a Python object."""


def plain(value: Any) -> Any:
    """Convert to a Python value: numpy's integers and Booleans are not `int` or `bool`, and its floats print as `np.float64(0.5)`."""
    return value.tolist() if hasattr(value, "dtype") and hasattr(value, "tolist") else value


def wrong(name: str, value: Any, right: str) -> TypeError:
    """An error for a value of the wrong type."""
    return TypeError(f"{name}: {value!r} is a {type(value).__name__}; use {right}")


def text(name: str, value: Any, right: str) -> str:
    """Check a string."""
    if not isinstance(value, str):
        raise wrong(name, value, right)
    return value


def path(name: str, value: Any) -> str:
    """Check a path."""
    if not isinstance(value, (str, os.PathLike)):
        raise wrong(name, value, 'a path, such as "out/"')
    return os.fspath(value)


def whole(name: str, value: Any, least: int, such: int) -> int:
    """Check an integer with a minimum."""
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise wrong(name, value, f"a whole number, such as {such}")
    if value < least:
        raise TypeError(f"{name}: {value} is too small; use a whole number from {least} on")
    return value


def number(name: str, value: Any, such: float) -> float:
    """Check a number."""
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise wrong(name, value, f"a number, such as {such}")
    return value


def flag(name: str, value: Any) -> bool:
    """Check a Boolean."""
    value = plain(value)
    if not isinstance(value, bool):
        raise wrong(name, value, "True or False")
    return value


def several(name: str, values: Any, kind: type | tuple[type, ...], right: str) -> list[Any]:
    """Check a list of values of one type."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise wrong(name, values, f"a list, such as {right}")
    listed = [plain(value) for value in values]
    for value in listed:
        if isinstance(value, bool) or not isinstance(value, kind):
            raise wrong(name, value, f"a list, such as {right}")
    return listed
