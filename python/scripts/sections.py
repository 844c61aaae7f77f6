"""Writes fanin/sections.py, with which editors complete scenario keys; with --check, checks that the file is up to date."""

import keyword
import pathlib
import sys
import textwrap

from fanin import _fanin
from fanin.words import explain

FILE = pathlib.Path(__file__).resolve().parent.parent / "fanin" / "sections.py"
HEAD = '''"""The sections of a scenario, whose keys complete in an editor. Written by scripts/sections.py: do not edit.

>>> fanin.Scenario({"schemes": ["dctcp"], "link": Link(rate="10 Gbit/s"), "workload": Workload(fragment="64 KiB")})
"""

from __future__ import annotations

from typing import Any, TypedDict
'''


def kind(form: str) -> str:
    """The type of a key's values."""
    numbers = [
        ("a whole number, or", "int | str"),
        ("a number of packets, or", "int | str"),
        ("a traffic class", "int | str"),
        ("a whole number", "int"),
        ("true or false", "bool"),
    ]
    numbers += [("a share", "float | str"), ("a number", "float | str"), ("a list of", "list[str]")]
    return next((what for begins, what in numbers if form.startswith(begins)), "str")


def said(text: str, indent: str) -> str:
    """A docstring."""
    text = " ".join(text.split()).replace("\\", "\\\\").replace('"""', "'''")
    text += " " if text.endswith('"') else ""
    lines = textwrap.wrap(f'"""{text}"""', 110 - len(indent), break_on_hyphens=False, break_long_words=False)
    return "\n".join(indent + line for line in lines)


def written() -> str:
    """The whole file."""
    keys: dict[str, list[dict]] = {}
    for key in explain("scenario")["keys"]:
        section, name = key["key"].split(".")
        assert not keyword.iskeyword(name), name
        keys.setdefault(section, []).append({**key, "name": name})
    parts, fields = [HEAD], []
    for section, says in _fanin.sections():
        if section == "sweep":
            fields.append((section, "dict[str, list[Any]]", says))
            continue
        called = "".join(word.capitalize() for word in section.split("_"))
        fields.append((section, called, says))
        lines = [f"class {called}(TypedDict, total=False):", said(f"`[{section}]` {says}", "    "), ""]
        for key in keys[section]:
            right = key["form"] + (f"; {key['range']}" if key["range"] else "")
            lines += [f"    {key['name']}: {kind(key['form'])}"]
            lines += [said(f"{key['says']} Use {right}. Default: {key['default']}.", "    ")]
        parts.append("\n".join(lines) + "\n")
    lines = ["class ScenarioDict(TypedDict, total=False):", '    """A whole scenario."""', ""]
    lines += ["    title: str", "    schemes: list[str | dict[str, Any]]"]
    lines += [f"    {name}: {called}" for name, called, _ in fields]
    return "\n\n".join([*parts, "\n".join(lines) + "\n"])


if __name__ == "__main__":
    if "--check" not in sys.argv:
        FILE.write_text(written())
    elif FILE.read_text() != written():
        sys.exit("python/fanin/sections.py is out of date; run python python/scripts/sections.py")
