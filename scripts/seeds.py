#!/usr/bin/env python3
"""Checks that tests draw from fixed seeds: every property test takes its cases from `fanin_testing::cases`, and no test draws from the system.

`make properties` runs the same tests with a random seed, which it prints.
"""

import pathlib
import re
import subprocess
import sys

from rust import without_comments

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROPERTIES = re.compile(r"\bproptest!\s*\{(?P<begin>[^#]*#!\[proptest_config\([^\]]*\bfanin_testing::cases\([\d_]+\)[^\]]*\)\])?")
# Sources of randomness that differ from run to run, by language.
UNSEEDED = {
    ".rs": r"TestRunner::(?:default\(|new\((?!fanin_testing::cases\())|\bthread_rng\(|\brand::(?:rng|random)\(|\bfrom_(?:entropy|os_rng)\(|\bSysRng\b|\bOsRng\b",
    ".py": r"\brandom\.(?:random|choice|choices|sample|shuffle|randint|randrange|uniform)\(|\bRandom\(\)|\bdefault_rng\(\)|\bhypothesis\b",
    ".mjs": r"\bMath\.random\(",
}


def tests():
    """Files with tests that `make test` runs."""
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n")
    for name in names:
        path = pathlib.PurePath(name)
        rust = path.suffix == ".rs" and path.parts[0] == "crates" and path.parts[1] != "testing"
        other = path.suffix in (".py", ".mjs") and path.parts[0] in ("python", "web") and ("tests" in path.parts or "test" in path.parts)
        if rust or other:
            yield path


def lines(text, pattern):
    return [text.count("\n", 0, found.start()) + 1 for found in re.finditer(pattern, text)]


def wrong(path):
    text = (ROOT / path).read_text()
    if path.suffix == ".rs":
        text = without_comments(text)
        for found in PROPERTIES.finditer(text):
            if not found["begin"]:
                line = text.count("\n", 0, found.start()) + 1
                yield f"{path}:{line}: begin with #![proptest_config(fanin_testing::cases(N))], whose seed is fixed"
        if "tests" not in path.parts and path.name != "tests.rs":
            text = text[text.find("#[cfg(test)]"):] if "#[cfg(test)]" in text else ""
    for line in lines(text, UNSEEDED[path.suffix]):
        yield f"{path}:{line}: draws differ from run to run; take a fixed seed"


def main():
    found = [line for path in tests() for line in wrong(path)]
    print("\n".join(f"seeds: {line}" for line in found) or "seeds: every property test has a fixed seed")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
