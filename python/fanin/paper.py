"""Reproduction of papers: figures and verdicts on claims."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Sequence
from typing import Any

from fanin import _fanin, given
from fanin.means import Cache, means
from fanin.scenario import carried


class Reproduced:
    """Results of reproduced papers."""

    def __init__(self, native: _fanin.Reproduced) -> None:
        self._native = native
        self._scorecard: dict[str, Any] = json.loads(native.json())

    @property
    def scorecard(self) -> dict[str, Any]:
        """The output of `fanin reproduce --json`: every claim with its verdict."""
        return self._scorecard

    @property
    def verdicts(self) -> dict[str, str]:
        """Every claim's verdict: `pass`, `fail` or `undecided`."""
        figures = (figure for paper in self._scorecard["papers"] for figure in paper["figures"])
        return {claim["id"]: claim["verdict"] for figure in figures for claim in figure["claims"]}

    def report(self, folder: str | os.PathLike[str]) -> None:
        """Write the scorecard, its curves and its page into a new or empty folder."""
        self._native.write(given.path("folder", folder))

    def __repr__(self) -> str:
        return "\n".join(f"{verdict:<10} {claim}" for claim, verdict in self.verdicts.items())

    def _repr_html_(self) -> str:
        page = html.escape(self._native.page(), quote=True)
        return f'<iframe srcdoc="{page}" style="width: 100%; height: 60em; border: 0"></iframe>'


def reproduce(
    *papers: str,
    figure: str | None = None,
    quick: bool = False,
    seeds: int | None = None,
    set: Sequence[str] = (),
    papers_in: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    executor: Any = None,
    cache: Cache = True,
    worker_cache: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> Reproduced:
    """Reproduce the figures of papers (by default all of `fanin.papers()`) and judge their claims.

    `set` are keys of their scenarios, such as `"red.instantaneous=false"`, to see what the claims depend on.
    """
    folder = None if papers_in is None else given.path("papers_in", papers_in)
    wanted = given.several("papers", papers, str, '"m21"') or _fanin.papers(folder)
    if figure is not None:
        given.text("figure", figure, 'such as "M-4"')
    quick = given.flag("quick", quick)
    if seeds is not None:
        seeds = given.whole("seeds", seeds, 1, 5)
    settings = given.several("set", set, str, '["red.instantaneous=false"]')
    with means(jobs, cache, executor, worker_cache, progress) as how, carried(how):
        return Reproduced(_fanin.reproduce(wanted, how, figure, quick, seeds, settings, folder))


def papers(papers_in: str | os.PathLike[str] | None = None) -> list[str]:
    """The available papers: this version's, or those of a folder."""
    return _fanin.papers(None if papers_in is None else os.fspath(papers_in))
