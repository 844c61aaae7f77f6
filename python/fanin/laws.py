"""User-defined congestion control algorithms: a class whose objects control a connection's window. Quick to write, slow to run.

>>> @fanin.law("timid")
... class Timid(fanin.Law):
...     def grow(self, ack, mss, window):
...         window.cwnd += mss * mss // window.cwnd
...
...     def cut(self, cause, at, mss, window):
...         return max(at.flight // 2, 2 * mss)
>>> fanin.Scenario("scenarios/fixed-fragment.toml").schemes("newreno", "timid", "timid+m21").compare()
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import pathlib
import sys
import sysconfig
import threading
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from fanin import _fanin, given
from fanin._fanin import Ack, Congestion, Window
from fanin.errors import AskedError

Class = TypeVar("Class", bound=type[Any])

# The classes by name, and digests of those received or sent, so that they are not unpacked again.
LAWS: dict[str, type[Any]] = {}
_known: set[bytes] = set()
_at_work = threading.Lock()
# The present name of a trait, by the former one.
[(FORMER, PRESENT)] = dict(gives_way="is_delay_based").items()  # noqa: C408


class Law:
    """The interface of an algorithm, one object per connection. Sizes are in bytes, times in picoseconds, all integers.

    A class that does not inherit from this one must have `grow` and `cut`. As for built-in algorithms, outside `cut` it may only add
    to `cwnd` and must not change `ssthresh`, unless `is_delay_based` is set.
    """

    ecn: bool = False
    """React to marks as DCTCP does: ports mark above a threshold, each mark is echoed, and `cut` gets `"ecn"`."""
    is_delay_based: bool = False
    """`grow` may also reduce `cwnd` and `ssthresh`, down to two segments."""

    def begin(self, start: int, end: int, deadline: int | None) -> None:
        """The application writes the stream's bytes from `start` to `end`, to be delivered by `deadline`, if it has one."""

    def sample(self, rtt: int) -> None:
        """The handshake measured a round-trip time; ACKs carry the others."""

    def observe(self, ack: Ack) -> None:
        """An ACK of new data arrived, in or outside recovery."""

    def grow(self, ack: Ack, mss: int, window: Window) -> None:
        """An ACK of new data arrived outside recovery: change `window.cwnd`, by slow start below `window.ssthresh`."""
        raise NotImplementedError

    def cut(self, cause: str, at: Congestion, mss: int, window: Window) -> int:
        """Congestion by `"loss"`, `"timeout"` or `"ecn"`: return the new ssthresh, at least two segments."""
        raise NotImplementedError


MUST = {"grow": "grow(self, ack, mss, window)", "cut": "cut(self, cause, at, mss, window)"}
MAY = {"begin": "begin(self, start, end, deadline)", "sample": "sample(self, rtt)", "observe": "observe(self, ack)"}


def law(name: str) -> Callable[[Class], Class]:
    """Register a class as a congestion control algorithm, by a name for schemes: `"timid"`, `"timid+m21"`, `"red+timid"`.

    Registering the same name again replaces the class.
    """
    if not isinstance(name, str):
        raise TypeError(f'law: {name!r} is not a name; use a text, such as @fanin.law("timid")')

    def registered(made: Class) -> Class:
        bring(name, made)
        return made

    return registered


def bring(name: str, made: type[Any]) -> None:
    """Register a class."""
    if not isinstance(made, type):
        raise TypeError(f"law {name!r}: {made!r} is a {type(made).__name__}; use a class")
    has = []
    for method, form in {**MUST, **MAY}.items():
        own = inspect.getattr_static(made, method, None)
        if own is None or own is inspect.getattr_static(Law, method):
            if method in MUST:
                raise TypeError(f"law {name!r}: {made.__name__} has no {method}; define {form}")
            continue
        if not callable(getattr(made, method)):
            raise TypeError(f"law {name!r}: {made.__name__}.{method} is not a method; define {form}")
        has.append(method)
    ecn, is_delay_based, former = (given.flag(f"law {name!r}: {trait}", getattr(made, trait, False)) for trait in ("ecn", PRESENT, FORMER))
    if former:
        renamed = f"{FORMER} is now {PRESENT}; the old name is accepted until the next release"
        warnings.warn(f"law {name!r}: {renamed}", FutureWarning, stacklevel=3)
    _fanin.register(name, made, has, ecn, is_delay_based or former)
    LAWS[name] = made


def packed(names: list[str]) -> bytes:
    """Pickle algorithms by value, so that workers do not need their source file."""
    if not names:
        return b""
    pickle = _cloudpickle()
    modules = {kind.__module__ for name in names for kind in LAWS[name].__mro__} - pickle.list_registry_pickle_by_value()
    apart = [sys.modules[module] for module in modules if _is_own(module)]
    for module in apart:
        pickle.register_pickle_by_value(module)
    try:
        laws: bytes = pickle.dumps({name: LAWS[name] for name in names})
    except Exception as error:
        raise AskedError(f"executor: cannot send the law {', '.join(names)} to workers: {type(error).__name__}: {error}") from error
    finally:
        for module in apart:
            pickle.unregister_pickle_by_value(module)
    _known.add(hashlib.sha256(laws).digest())
    return laws


def under(laws: bytes, work: Callable[[], bytes]) -> bytes:
    """Run `work` with these algorithms registered, and keep their names reserved meanwhile."""
    with _at_work:
        digest = hashlib.sha256(laws).digest()
        if digest not in _known:
            for name, made in _cloudpickle().loads(laws).items():
                bring(name, made)
            _known.clear()
            _known.add(digest)
        return work()


def _is_own(module: str) -> bool:
    """Whether a module is the caller's own file, not an installed one."""
    file = getattr(sys.modules.get(module), "__file__", None)
    return file is not None and not any(pathlib.Path(file).is_relative_to(path) for path in sysconfig.get_paths().values())


def _cloudpickle() -> Any:
    try:
        return importlib.import_module("cloudpickle")
    except ImportError as error:
        raise ImportError(f"{error}: it sends your own laws to workers: pip install cloudpickle") from error
