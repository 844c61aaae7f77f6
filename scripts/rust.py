"""Rust source parsing for the checks: comments, strings, bodies, unit tests, and uses."""

import re

# A string, a raw string, a character (no lifetime), a comment.
QUIET = re.compile(
    r'b?r(#*)".*?"\1|b?"(?:\\.|[^"\\])*"|b?\'(?:\\.[^\']*|[^\'\\])\'|//[^\n]*|/\*.*?\*/', re.S
)
USE = re.compile(r"^[ \t]*(pub(?:\([a-z: ]+\))?\s+)?use\s+([^;]+);", re.M)
TESTS = re.compile(r"#\[cfg\(test\)\]\s*mod\s+\w+\s*\{")


def without_comments(text):
    """The text with comments and literals blanked out, line for line."""
    return QUIET.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def end_of(text, brace):
    """The place of the brace that closes the one at a place of a text without comments."""
    depth = 0
    for match in re.compile(r"[{}]").finditer(text, brace):
        depth += 1 if match[0] == "{" else -1
        if depth == 0:
            return match.start()
    raise ValueError("a brace is not closed")


def without_tests(text):
    """The text without modules of unit tests, line for line."""
    while match := TESTS.search(text):
        end = end_of(text, match.end() - 1) + 1
        text = text[: match.start()] + re.sub(r"[^\n]", " ", text[match.start() : end]) + text[end:]
    return text


def leaves(tree, before=()):
    """The paths of a use tree, each with the name that it is known by."""
    tree = tree.strip()
    if tree.endswith("}"):
        head, _, rest = tree.partition("{")
        before += tuple(part for part in head.strip().split("::") if part)
        depth, at, rest = 0, 0, rest[:-1]
        for i, letter in enumerate(rest + ","):
            depth += (letter == "{") - (letter == "}")
            if letter == "," and depth == 0:
                if rest[at:i].strip():
                    yield from leaves(rest[at:i], before)
                at = i + 1
        return
    path, _, known_as = tree.partition(" as ")
    path = before + tuple(part.strip() for part in path.split("::"))
    if path[-1] == "self":
        path = path[:-1]
    yield path, known_as.strip() or path[-1]


def uses(text):
    """Uses of a text without comments: whether each is re-exported, its path, and its local name."""
    for public, tree in USE.findall(text):
        for path, name in leaves(" ".join(tree.split())):
            yield bool(public), path, name
