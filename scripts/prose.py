"""Prose check: refuses words and phrases that docs/style.md replaces, in documents, help texts, messages, comments and names."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Phrases with plainer alternatives (docs/style.md).
PHRASES = re.compile(
    r"\b(right would be|unless told|stands? still|stood still|hardly (?:an?|any|anything)|so many|is no (?:name|number|goal|law)"
    r"|nothing is known|what nobody|falls short|gives? way|luggage|errands?|(?:is|are|was|were) told|says so|where there is none"
    r"|for want of|hangs? on|have to do with|by itself alone)\b",
    re.IGNORECASE,
)
LONGEST_NAME = 64
# "What" usually hides a noun: the largest share of comment lines that may contain it.
WHAT_SHARE = 0.005

COMMENT = re.compile(r'#(?!!)|//|/?\*|"""')
GENERATED = {"node_modules", "dist", "build", "target"}

# The page of style quotes what it replaces; generated pages are checked at their sources.
QUOTED = {"docs/style.md"}


def documents():
    for pattern in ("*.md", "docs/*.md", "docs/decisions/*.md", "python/*.md", "bench/*.md"):
        for path in sorted(ROOT.glob(pattern)):
            if str(path.relative_to(ROOT)) not in QUOTED:
                yield path


def sources():
    for folder in ("crates", "python/src"):
        yield from sorted((ROOT / folder).rglob("*.rs"))


def scripts():
    """Files whose every line may contain a comment, a docstring or a message."""
    for pattern in ("python/fanin/*.py", "web/src/*.ts"):
        yield from sorted(ROOT.glob(pattern))


def helpers():
    """Files of which only comments are checked: their texts are for maintainers."""
    for folder in ("bench", "scripts", "web", "python"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".py", ".sh", ".c", ".cc", ".h", ".ts", ".mjs") and not GENERATED & set(path.parts):
                yield path


class Comments:
    """Comment lines of one kind of file, and how many contain `what`."""

    def __init__(self):
        self.lines, self.whats = 0, 0

    def add(self, text):
        self.lines += 1
        self.whats += bool(re.search(r"\bwhat\b", text, re.IGNORECASE))

    def faults(self, files):
        share = self.whats / max(1, self.lines)
        if share > WHAT_SHARE:
            yield f"{100 * share:.1f} % of comment lines of {files} contain `what`, more than {100 * WHAT_SHARE:.1f} %"


def main():
    found, of_sources, of_helpers = [], Comments(), Comments()

    def refuse(path, number, text, why):
        found.append(f"{path.relative_to(ROOT)}:{number}: {why}: {text.strip()[:100]}")

    for path in [*documents(), *scripts()]:
        for number, line in enumerate(path.read_text().split("\n"), 1):
            # Backticks mark code, except in TypeScript, where they contain messages.
            text = line if path.suffix == ".ts" else re.sub(r"`[^`]*`", "", line)
            if match := PHRASES.search(text):
                refuse(path, number, line, f"`{match.group()}`")
    for path in sources():
        for number, line in enumerate(path.read_text().split("\n"), 1):
            text = line.strip()
            if text.startswith("//"):
                of_sources.add(text)
            if text.startswith("//") or '"' in text:
                if match := PHRASES.search(re.sub(r"`[^`]*`", "", text)):
                    refuse(path, number, line, f"`{match.group()}`")
            name = re.match(r"(?:pub(?:\([a-z]+\))? )?(?:const )?fn (\w+)", text)
            if name and len(name.group(1)) > LONGEST_NAME:
                refuse(path, number, line, f"a name of over {LONGEST_NAME} letters")
    for path in helpers():
        for number, line in enumerate(path.read_text().split("\n"), 1):
            text = line.strip()
            if COMMENT.match(text):
                of_helpers.add(text)
                if match := PHRASES.search(re.sub(r"`[^`]*`", "", text)):
                    refuse(path, number, line, f"`{match.group()}`")
    found += [*of_sources.faults("crates"), *of_helpers.faults("scripts")]
    for line in found:
        print(line)
    if found:
        sys.exit(f"prose: {len(found)} places to rewrite, see docs/style.md")
    print(f"prose: {of_sources.lines + of_helpers.lines} comment lines, all documents and messages are clean")


if __name__ == "__main__":
    main()
