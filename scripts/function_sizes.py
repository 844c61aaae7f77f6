#!/usr/bin/env python3
"""Checks that every function has at most 70 lines from its `fn` (in Python its `def`) to its last brace, including signature,
comments and blank lines. Tests, build scripts and Python scripts count, too."""

import ast
import pathlib
import re
import sys

from rust import end_of, without_comments

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST = 70

# A function's signature up to its body; it may include an array's length.
FUNCTION = re.compile(r"\bfn\s+(\$?\w+)(?:\[[^\]]*\]|[^;{}\[])*\{")


def in_rust(text):
    """Functions with their first and last line."""
    text = without_comments(text)
    for match in FUNCTION.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        yield match[1], line, text.count("\n", 0, end_of(text, match.end() - 1)) + 1


def in_python(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            yield node.name, node.lineno, node.end_lineno


def main():
    wrong, count, longest = [], 0, 0
    files = [file for folder in ("crates", "fuzz", "scripts", "bench") for file in sorted((ROOT / folder).rglob("*.*"))]
    for file in files:
        read = {".rs": in_rust, ".py": in_python}.get(file.suffix)
        if read is None or "target" in file.parts:
            continue
        for name, first, last in read(file.read_text()):
            lines = last - first + 1
            count, longest = count + 1, max(longest, lines)
            if lines > MOST:
                wrong.append(f"{file.relative_to(ROOT)}:{first}: {name} has {lines} lines; the limit is {MOST}")
    for line in wrong:
        print(f"function sizes: {line}")
    if wrong:
        sys.exit(1)
    print(f"function sizes: {count} functions, the longest has {longest} lines")


if __name__ == "__main__":
    main()
