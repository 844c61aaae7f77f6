"""What can go wrong. Each error says what, where, and what would be right."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fanin.comparison import Comparison


class Error(Exception):
    """Any error of this package, but for an interruption."""


class ScenarioError(Error, ValueError):
    """What a scenario says, or what is set in it, cannot be.

    `file` and `line` say where it stands, or `argument` which call it was.
    """

    def __init__(self, what: str, *, file: str | None = None, line: int | None = None, argument: str | None = None) -> None:
        super().__init__(what)
        self.file = file
        self.line = line
        self.argument = argument


class AskedError(Error, ValueError):
    """What is asked for is not there, does not go together, or does not fit into the memory."""


class FolderError(Error, OSError):
    """A file or folder that cannot be read or written."""


class SimulatorError(Error, RuntimeError):
    """A run broke an invariant: a fault of the simulator, to be reported with the scenario."""


class StoppedError(Error, RuntimeError):
    """It was stopped before there was anything to give."""


class ExecutorError(Error, RuntimeError):
    """An executor's workers are not fit, or it takes nothing: `comparison` has what was done, if anything was."""

    def __init__(self, what: str, comparison: Comparison | None = None) -> None:
        super().__init__(what)
        self.comparison = comparison


class LawError(Error, RuntimeError):
    """A law of one's own raised, in all runs that were asked for: its traceback."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C: `comparison` has what was done until then, and the cache has it, too."""

    def __init__(self, what: str, comparison: Comparison) -> None:
        super().__init__(what)
        self.comparison = comparison


class CutShortWarning(UserWarning):
    """Not all runs have finished: figures are of those alone that have."""
