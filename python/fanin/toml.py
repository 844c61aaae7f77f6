"""Conversion of a scenario's dict to TOML."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fanin import given
from fanin.errors import ScenarioError

RIGHT = 'use a text with its unit, such as "10 Gbit/s", a number, True, False or a list of these'


def value(path: str, what: Any) -> str:
    """A value in TOML."""
    what = given.plain(what)
    if isinstance(what, bool):
        return "true" if what else "false"
    if isinstance(what, (int, float)):
        return repr(what)
    if isinstance(what, str):
        return json.dumps(what, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(what, (list, tuple, range)):
        return f"[{', '.join(value(path, item) for item in what)}]"
    raise ScenarioError(f"{path}: {what!r} is a {type(what).__name__}; {RIGHT}", argument=path)


def text(scenario: Mapping[str, Any]) -> str:
    """The text of a whole scenario."""
    top, sections = [], []
    for name, what in scenario.items():
        if isinstance(what, Mapping):
            lines = [f"{key(inner)} = {value(f'{name}.{inner}', held)}" for inner, held in what.items()]
            sections.append("\n".join([f"[{key(name)}]", *lines]))
        elif name == "schemes" and isinstance(what, (list, tuple)):
            top.append(f"schemes = [{', '.join(scheme(item) for item in what)}]")
        else:
            top.append(f"{key(name)} = {value(name, what)}")
    return "\n".join([*top, *sections, ""])


def scheme(what: Any) -> str:
    """A scheme: a name, or a table with its own settings."""
    return table("schemes", what) if isinstance(what, Mapping) else value("schemes", what)


def table(path: str, what: Mapping[str, Any]) -> str:
    """An inline table."""
    entries = [
        f"{key(name)} = " + (table(f"{path}.{name}", held) if isinstance(held, Mapping) else value(f"{path}.{name}", held))
        for name, held in what.items()
    ]
    return f"{{ {', '.join(entries)} }}"


def key(name: Any) -> str:
    """A quoted key."""
    if not isinstance(name, str):
        raise ScenarioError(f"{name!r} is a {type(name).__name__}; use the name of a key, a text")
    return json.dumps(name, ensure_ascii=False)
