#!/usr/bin/env python3
"""Checks that no function outside tests has a tuple pattern as a parameter: name the parts in a struct if they belong together, and make
them parameters of their own if they do not. Clippy counts such a tuple as one parameter and has no lint against it."""

import pathlib
import re
import sys

from rust import without_comments, without_tests

ROOT = pathlib.Path(__file__).resolve().parent.parent

FUNCTION = re.compile(r"\bfn\s+(\w+)")
TUPLE = re.compile(r"\s*(?:mut\s+)?&?\(")
# Must be found, and must not.
PLANTED = [("fn a<F: Fn(u8)>(&self, (b, c): (u8, u8)) {}", True), ("fn a(&(b, c): &(u8, u8));", True), ("fn a(b: (u8, u8), c: impl Fn(u8, u8)) {}", False)]


def parts(text, opened):
    """The parts between commas of what the bracket at a place encloses."""
    depth, begin = 0, opened + 1
    for at in range(opened, len(text)):
        letter = text[at]
        depth += (letter in "([{<") - (letter in ")]}" or letter == ">" and text[at - 1] not in "-=")
        if depth == 0 or depth == 1 and letter == ",":
            yield text[begin:at]
            begin = at + 1
        if depth == 0:
            return


def parameters(text, after_name):
    """The parameters of a function, behind its generic ones."""
    at = after_name
    if text[at] == "<":
        at += sum(len(part) + 1 for part in parts(text, at)) + 1
    return parts(text, at) if text[at] == "(" else ()


def with_tuples(text):
    """Functions with tuple patterns, each with its line."""
    text = without_tests(without_comments(text))
    for match in FUNCTION.finditer(text):
        if any(TUPLE.match(parameter) for parameter in parameters(text, match.end())):
            yield match[1], text.count("\n", 0, match.start()) + 1


def main():
    for text, has_tuple in PLANTED:
        if any(True for _ in with_tuples(text)) != has_tuple:
            sys.exit(f"parameters: this check is broken: it is wrong about `{text}`")
    wrong, count = [], 0
    for file in sorted([*ROOT.glob("crates/**/src/**/*.rs"), *ROOT.glob("python/src/**/*.rs")]):
        count += 1
        wrong += [f"{file.relative_to(ROOT)}:{line}: {name} has a tuple for a parameter" for name, line in with_tuples(file.read_text())]
    for line in wrong:
        print(f"parameters: {line}; use a struct with named fields, or a parameter for each part")
    if wrong:
        sys.exit(1)
    print(f"parameters: {count} files, no tuple for a parameter")


if __name__ == "__main__":
    main()
