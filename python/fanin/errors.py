"""Errors. Each says what is wrong, where, and what to use instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fanin.comparison import Comparison


class Error(Exception):
    """Base class of this package's errors, except for interruptions."""


class ScenarioError(Error, ValueError):
    """A scenario, or a value set in it, is invalid.

    `file` and `line` locate it in a file; `argument` names the call.
    """

    def __init__(self, what: str, *, file: str | None = None, line: int | None = None, argument: str | None = None) -> None:
        super().__init__(what)
        self.file = file
        self.line = line
        self.argument = argument


class AskedError(Error, ValueError):
    """A request for something that does not exist, cannot be combined, or does not fit into memory."""


class FolderError(Error, OSError):
    """A file or folder that cannot be read or written."""


class SimulatorError(Error, RuntimeError):
    """A run broke an invariant: a bug of the simulator. Report it with the scenario."""


class StoppedError(Error, RuntimeError):
    """Stopped before there were any results."""


class ExecutorError(Error, RuntimeError):
    """An executor's workers are unsuitable, or it accepts no runs; `comparison` has the finished runs, if any."""

    def __init__(self, what: str, comparison: Comparison | None = None) -> None:
        super().__init__(what)
        self.comparison = comparison


class LawError(Error, RuntimeError):
    """A user-defined algorithm raised an exception in all runs; the message is its traceback."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C; `comparison` has the finished runs, which are also cached."""

    def __init__(self, what: str, comparison: Comparison) -> None:
        super().__init__(what)
        self.comparison = comparison


class CutShortWarning(UserWarning):
    """Not all runs have finished; figures include only finished runs."""
