"""Execution options: threads, cache, executor and progress."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeAlias, Union

from fanin import given
from fanin.carry import Futures, checked
from fanin.laws import packed

LOG = logging.getLogger("fanin")

Cache: TypeAlias = Union[bool, str, "os.PathLike[str]"]


@dataclass(frozen=True)
class Means:
    """Options for the library."""

    jobs: int | None
    cached: bool
    cache: str | None
    carrier: Futures | None
    worker_cache: str | None
    hear: Hearer | None


class Hearer:
    """Show progress; other notices go to the log `fanin`."""

    def __init__(self, shows: bool) -> None:
        self._bar: Any = None
        self._tqdm: Any = None
        if shows:
            try:
                from tqdm.auto import tqdm  # type: ignore[import-untyped]
            except ImportError:
                return
            self._tqdm = tqdm

    def __call__(self, kind: str, values: tuple[Any, ...]) -> None:
        if kind == "progress" and self._tqdm is not None:
            done, total = values[:2]
            if self._bar is None:
                self._bar = self._tqdm(total=total, unit="run", leave=False)
            self._bar.total = total
            self._bar.update(done - self._bar.n)
        elif kind == "notice":
            LOG.info("%s", values[0])

    def close(self) -> None:
        """Remove the progress bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def __enter__(self) -> Hearer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def is_interactive() -> bool:
    """Whether this is a notebook or a prompt, not a script."""
    return hasattr(sys, "ps1") or "ipykernel" in sys.modules


@contextmanager
def means(
    jobs: int | None,
    cache: Cache,
    executor: Any = None,
    worker_cache: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
    laws: list[str] | None = None,
) -> Iterator[Means]:
    """Check the options for the library; at the end, shut down executors that were created here."""
    jobs, cache = given.plain(jobs), given.plain(cache)
    if jobs is not None and (isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1):
        raise TypeError(f"jobs: {jobs!r} is not a number of threads; use a whole number from 1 on")
    if not isinstance(cache, (bool, str, os.PathLike)):
        raise TypeError(f"cache: {cache!r} is not valid; use True, False or a folder")
    if worker_cache is not None and executor is None:
        raise TypeError("worker_cache: requires an executor; set executor as well")
    carrier = None if executor is None else Futures(checked(executor), packed(laws or []))
    # Only one thread at a time runs Python: more would compete for the interpreter.
    jobs = 1 if laws and jobs is None else jobs
    if progress is not None:
        progress = given.flag("progress", progress)
    folder = None if isinstance(cache, bool) else os.fspath(cache)
    there = None if worker_cache is None else given.path("worker_cache", worker_cache)
    with Hearer(is_interactive() if progress is None else progress) as hear:
        try:
            yield Means(jobs, cache is not False, folder, carrier, there, hear)
        finally:
            if carrier is not None:
                carrier.close()
