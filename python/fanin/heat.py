"""Heat map of a sweep over two keys: one table per scheme, with darker cells for larger values."""

from __future__ import annotations

import html
from typing import Any

from fanin.errors import AskedError

Row = dict[str, Any]

_CELL = "padding: 0.3em 0.8em; text-align: right"


def moving(rows: list[Row]) -> list[str]:
    """The keys with more than one value in these rows of a summary."""
    keys = list(rows[0]["point"]) if rows else []
    return [key for key in keys if len({repr(row["point"][key]) for row in rows}) > 1]


class HeatMap:
    """One measure of every scheme over two swept keys.

    The first key's values are the columns, the second's the rows: `values["dctcp"][row][column]`, `None` without runs.
    Notebooks show a coloured table for each scheme, terminals a plain one.
    """

    def __init__(self, rows: list[Row], measure: str) -> None:
        keys = moving(rows)
        if len(keys) != 2:
            such = 'compare({"fan_in": [8, 32], "tcp.rto_min": ["10 ms", "200 ms"]})'
            raise AskedError(f"heat_map: swept here: {', '.join(keys) or 'no key'}; sweep two keys, such as {such}")
        self.measure = measure
        self.keys = (keys[0], keys[1])
        self.columns, self.rows = (list(dict.fromkeys(row["point"][key] for row in rows)) for key in keys)
        self.values: dict[str, list[list[float | None]]] = {}
        for row in rows:
            empty: list[list[float | None]] = [[None] * len(self.columns) for _ in self.rows]
            column, line = (values.index(row["point"][key]) for key, values in zip(keys, (self.columns, self.rows), strict=True))
            self.values.setdefault(row["scheme"], empty)[line][column] = _measured(row, measure)

    def __repr__(self) -> str:
        return "\n\n".join(self._text(scheme) for scheme in self.values)

    def _repr_html_(self) -> str:
        return f'<div style="display: flex; flex-wrap: wrap; gap: 2em">{"".join(self._table(scheme) for scheme in self.values)}</div>'

    def _title(self, scheme: str) -> str:
        return f"{scheme}: {self.measure}, {self.keys[0]} across, {self.keys[1]} down"

    def _text(self, scheme: str) -> str:
        head = ["", *map(str, self.columns)]
        lines = [head] + [[str(name), *map(_shown, line)] for name, line in zip(self.rows, self.values[scheme], strict=True)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
        return "\n".join(
            [self._title(scheme)] + ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
        )

    def _table(self, scheme: str) -> str:
        head = "".join(f'<th scope="col" style="{_CELL}">{_safe(name)}</th>' for name in self.columns)
        body = "".join(
            f'<tr><th scope="row" style="{_CELL}">{_safe(name)}</th>{"".join(map(self._cell, line))}</tr>'
            for name, line in zip(self.rows, self.values[scheme], strict=True)
        )
        corner = f'<th style="{_CELL}">{_safe(self.keys[1])} \\ {_safe(self.keys[0])}</th>'
        return f"<table><caption>{_safe(self._title(scheme))}</caption><tr>{corner}{head}</tr>{body}</table>"

    def _cell(self, value: float | None) -> str:
        known = [one for lines in self.values.values() for line in lines for one in line if one is not None]
        # One scale for all schemes, so that colours are comparable.
        low, high = min(known, default=0.0), max(known, default=0.0)
        share = 0.0 if value is None or high == low else (value - low) / (high - low)
        return f'<td style="{_CELL}; background: rgba(31, 119, 180, {0.75 * share:.2f})">{_shown(value)}</td>'


def _measured(row: Row, measure: str) -> float | None:
    """The value by its name, such as `timeouts` or `qct_ms.p99`; the mean if it has an interval."""
    value: Any = row
    for part in measure.split("."):
        value = value.get(part, {}) if isinstance(value, dict) else {}
    value = value["mean"] if _has_interval(value) else value
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
        raise AskedError(f"measure: {measure!r} is not a number in the summary's rows; use one of {', '.join(_measures(row))}")
    return value


def _has_interval(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() >= {"mean", "lo", "hi"}


def _measures(row: Row, before: str = "") -> list[str]:
    """The names of all numbers of a row."""
    names = []
    for name, value in row.items():
        if isinstance(value, dict) and name != "point":
            names += [before + name] if _has_interval(value) else _measures(value, f"{before}{name}.")
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            names.append(before + name)
    return names


def _shown(value: float | None) -> str:
    """At least three digits, without an exponent."""
    if value is None:
        return ""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _safe(text: Any) -> str:
    return html.escape(str(text), quote=True)
