"""Results of a comparison or a run."""

from __future__ import annotations

import html
import json
import os
import warnings as warn
from typing import Any, NamedTuple

from fanin import given
from fanin._fanin import Comparison as Native
from fanin._fanin import Table
from fanin.errors import CutShortWarning
from fanin.heat import HeatMap, moving


class Finding(NamedTuple):
    """A verdict on a scheme, in words."""

    scheme: str | None
    verdict: str
    head: str
    says: str

    def __str__(self) -> str:
        return f"{self.scheme or ''} {self.head}. {self.says}".strip()


class Comparison:
    """Results of a comparison: figures with confidence intervals over seeds, findings, and every table of every run.

    Notebooks show the report's charts, after a heat map if two keys are swept; terminals show a table.
    """

    def __init__(self, native: Native, arguments: list[str], cut_short: str | None = None) -> None:
        self._native = native
        self._arguments = arguments
        self._cut_short = cut_short
        self._summary: dict[str, Any] | None = None

    @property
    def summary(self) -> dict[str, Any]:
        """The output of `fanin compare --json`: rows, onsets, findings, cost."""
        if self._summary is None:
            self._summary = json.loads(self._native.summary())
        return self._summary

    def frame(self) -> Table:
        """One row per scheme and point: means and their confidence intervals, for any data frame library.

        `polars.DataFrame(c.frame())`, `pandas.DataFrame.from_arrow(c.frame())`, `pyarrow.table(c.frame())`, and DuckDB
        by the variable's name. If runs are missing, it issues a `CutShortWarning` and sets `metadata`.
        """
        return self.table("summary")

    def table(self, name: str) -> Table:
        """One of `tables`, with one row per flow, round, port and so on; `rounds` is another name for `queries`."""
        given.text("name", name, f"one of {', '.join(self.tables)}")
        done, planned = self.finished
        if done < planned:
            warn.warn(f"{done} of {planned} runs finished: {self._cut_short}", CutShortWarning, stacklevel=2)
        return self._native.table(name)

    @property
    def tables(self) -> list[str]:
        """The names of the tables, the same as those of the files that `report` writes."""
        return self._native.tables()

    def heat_map(self, measure: str = "goodput_mbps") -> HeatMap:
        """A heat map of a number of `summary["rows"]` over two swept keys: `"goodput_mbps"`, `"qct_ms.p99"`, `"timeouts"`."""
        given.text("measure", measure, 'a name, such as "goodput_mbps" or "qct_ms.p99"')
        return HeatMap(self.summary["rows"], measure)

    def onset(self, scheme: str) -> Any:
        """The collapse point of a scheme's goodput along the first swept key; `None` without a collapse.

        With several swept keys, a list with the other keys' values.
        """
        return self._of(self.summary["onset"], scheme)

    def verdict(self, scheme: str) -> Finding:
        """The verdict on a scheme; with several swept keys, the first of `verdicts`."""
        return self.verdicts(scheme)[0]

    def verdicts(self, scheme: str) -> list[Finding]:
        """The verdicts on a scheme, one per curve."""
        self._of(self.summary["onset"], scheme)
        return [finding for finding in self.findings if finding.scheme == scheme]

    @property
    def findings(self) -> list[Finding]:
        """Findings: about all schemes first, then scheme by scheme."""
        return [Finding(**finding) for finding in self.summary["findings"]]

    @property
    def schemes(self) -> list[str]:
        """The schemes, in order."""
        return list(self.summary["onset"])

    @property
    def warnings(self) -> list[str]:
        """Reasons to doubt the results."""
        cut_short = [] if self._cut_short is None else [f"cut short: {self._cut_short}"]
        return self._native.warnings + cut_short

    @property
    def finished(self) -> tuple[int, int]:
        """The numbers of finished and of planned runs."""
        done, planned = self._native.finished
        return done, planned

    @property
    def cached(self) -> int:
        """The number of runs taken from the cache."""
        return self._native.cached

    def report(self, folder: str | os.PathLike[str]) -> None:
        """Write the tables (CSV and Parquet), the manifest and the report into a new or empty folder."""
        self._native.write(given.path("folder", folder), self._arguments)

    def _of(self, found: dict[str, Any], scheme: str) -> Any:
        if scheme not in found:
            raise KeyError(f"there is no scheme {scheme!r} here; use one of {', '.join(found)}")
        return found[scheme]

    def __repr__(self) -> str:
        return self._native.shown()

    def _repr_html_(self) -> str:
        page = html.escape(self._native.page(self._arguments), quote=True)
        # A heat map needs no script and shows in untrusted notebooks too.
        heat = self.heat_map()._repr_html_() if len(moving(self.summary["rows"])) == 2 else ""
        return f'{heat}<iframe srcdoc="{page}" style="width: 100%; height: 60em; border: 0"></iframe>'


class Run(Comparison):
    """Results of one run."""

    @property
    def result(self) -> dict[str, Any]:
        """The output of `fanin run --json`: totals, rounds, ports."""
        result: dict[str, Any] = json.loads(self._native.json())
        return result

    @property
    def goodput_mbps(self) -> float:
        """Goodput in Mbit/s over the measured time."""
        return float(self.result["goodput_mbps"])

    def __repr__(self) -> str:
        totals = "\n".join(f"  {name:<28}{value}" for name, value in self.result["totals"].items())
        result = self.result
        return f"{result['scheme']} at fan_in {result['fan_in']}, seed {result['seed']}: " + (f"{result['goodput_mbps']} Mbit/s\n{totals}")

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(repr(self))}</pre>"
