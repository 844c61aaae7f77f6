"""Templates of the texts that `fanin` prints, to read their figures back and compare them with JSON.

A template is a text with fields. `{goodput:rate}` is a field named goodput of the kind rate (KINDS); `{least:at least}`, whose kind is not in
KINDS, is a flag: its text is there if the value is true. `[...]` is optional, `<a|b>` is a or b. All else is literal. If a text of `fanin`
changes, change its template.
"""

import re
from functools import lru_cache

UNITS = {"us": 1e-3, "ms": 1.0, "s": 1e3}
SCALES = {"k": 1e3, "M": 1e6, "G": 1e9, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30,
          "Mbit/s": 1.0, "Gbit/s": 1e3, **UNITS}


def number(text):
    """A printed figure in its base unit, and the largest error of its rounding."""
    digits, unit = re.fullmatch(r"([-+\d.,]+) ?(\D*)", text).groups()
    digits = digits.replace(",", "")
    scale = SCALES.get(unit, 1.0)
    step = scale * 10.0 ** -(len(digits.partition(".")[2]))
    shown = float(digits) * scale
    # A lone 0 is the shortest form of 0.00. JSON has six digits.
    return shown, 0.0051 * scale if digits == "0" else 0.5001 * step + 1e-5 * abs(shown)


def near(text, value):
    """Whether a printed figure is a rounding of a value."""
    if text.startswith("<"):
        return 0 < value < number(text[1:])[0]
    shown, slack = number(text)
    return abs(shown - value) <= slack


def same(text, value):
    return text == str(value)


def at_place(text, servers):
    return text.split()[1] == ("one" if servers == 1 else str(servers))


def in_times(text, value):
    return near("1.0", value) if text == "once" else near(text.split()[0], value)


def in_timeouts(text, value):
    return near("1.0" if text.startswith("one") else text.split()[0], value)


def in_words(text, value):
    if text in ("no", "almost no"):
        return value == 0 if text == "no" else 0 < value < 0.05001
    return near(text, value)


# By kind: its pattern, and whether a text of it agrees with a value. Times are in ms, rates in Mbit/s.
KINDS = {
    "time": (r"[\d.]+ (?:us|ms|s)", near),
    "rate": (r"[\d.]+ [MG]bit/s", near),
    "bytes": (r"[\d.]+ [KMGT]B", near),
    "figure": (r"[+-]?[\d.,]+", near),
    "count": (r"<0\.1|[\d.]+[kM]?", near),
    "large": (r"[\d.]+(?: [kMG])?", near),
    "integer": (r"\d+", same),
    "word": (r"\S+", same),
    "text": (r".*?", same),
    "rank": (r"[ \d]\d|  ", same),
    "some": (r"(?:no|almost no|[\d.]+[kM]?)", in_words),
    "timeouts": (r"(?:one timeout|[\d.]+[kM]? timeouts)", in_timeouts),
    "times": (r"(?:once|(?:<0\.1|[\d.]+[kM]?) times)", in_times),
    "at": (r"[Ww]ith (?:one (?:sender|host)|\d+(?: senders| hosts)?)", at_place),
}


@lru_cache(None)
def compiled(template):
    """The pattern of a template, and its fields with their kinds."""
    kinds, parts = {}, []
    for part in re.split(r"(\{\w+:[^}]+\}|[][<>|])", template):
        if field := re.fullmatch(r"\{(\w+):([^}]+)\}", part):
            name, kind = field.groups()
            kinds[name] = kind
            parts.append(f"(?P<{name}>{KINDS[kind][0] if kind in KINDS else re.escape(kind)})")
        else:
            parts.append({"[": "(?:", "]": ")?", "<": "(?:", ">": ")", "|": "|"}.get(part) or re.escape(part))
    return re.compile("".join(parts)), kinds


def contradictions(template, match, values):
    """Fields of a matched text that disagree with their values. None: the field must be absent. Fields without a value are free."""
    for name, kind in compiled(template)[1].items():
        if name in values:
            text, value = match[name], values[name]
            if kind not in KINDS:
                agrees = bool(text) == bool(value)
            else:
                agrees = (text is None) == (value is None) and (value is None or KINDS[kind][1](text, value))
            if not agrees:
                yield f"{name} is {value}, not {text}: {match[0]}"


class Text:
    """Parts of a text, lines or sentences. Each has to match a template."""

    def __init__(self, parts):
        self.left = [part.rstrip() for part in parts if part.strip()]

    @staticmethod
    def lines(text):
        return Text(text.splitlines())

    @staticmethod
    def sentences(text):
        return Text(re.split(r"(?<=\.) ", text))

    def take(self, template):
        """The first part that matches, and removes it; None if none does."""
        pattern = compiled(template)[0]
        for place, part in enumerate(self.left):
            if match := pattern.fullmatch(part):
                del self.left[place]
                return match
        return None

    def take_all(self, pattern):
        """Removes all parts that match a regular expression, and returns the matches."""
        found = [(part, re.fullmatch(pattern, part)) for part in self.left]
        self.left = [part for part, match in found if not match]
        return [match for _, match in found if match]

    def take_exactly(self, part):
        """Removes all parts equal to this one. False if there is none."""
        found = part.rstrip() in self.left
        self.left = [other for other in self.left if other != part.rstrip()]
        return found

    def judge(self, template, values):
        """Contradictions between a part and these values. Without values the part must be absent."""
        match = self.take(template)
        if match is None and values is not None:
            yield f"missing: {template} with {values}"
        elif match is not None and values is None:
            yield f"unfounded: {match[0]}"
        elif match is not None:
            yield from contradictions(template, match, values)

    def unknown(self):
        yield from (f"no template for: {part}" for part in self.left)
