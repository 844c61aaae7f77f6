"""Laws of one's own: a class, whose objects say what a connection's window does. To try an idea in minutes, and slowly.

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
from collections.abc import Callable
from typing import Any, TypeVar

from fanin import _fanin, given
from fanin._fanin import Ack, Congestion, Window
from fanin.errors import AskedError

Class = TypeVar("Class", bound=type[Any])

# The classes by their names, and what of them came from elsewhere or went there, so that it is not unpacked again.
LAWS: dict[str, type[Any]] = {}
_known: set[bytes] = set()
_at_work = threading.Lock()


class Law:
    """What a law is told and asked, a connection an object; sizes are in bytes, times in picoseconds, all of them integers.

    Whoever is not this class's heir has `grow` and `cut` at least. What a law may do is what those of the house may: outside a cut it
    only adds to `cwnd` and leaves `ssthresh` alone, unless `gives_way` is set.
    """

    ecn: bool = False
    """Marks are answered, as DCTCP's: ports mark above a threshold, each mark is echoed, and `cut` hears of `"ecn"`."""
    gives_way: bool = False
    """`grow` may take from `cwnd` and `ssthresh`, too, down to two segments."""

    def begin(self, start: int, end: int, deadline: int | None) -> None:
        """The application hands over the bytes from `start` to `end` of the stream, to be there by `deadline`, if it has one."""

    def sample(self, rtt: int) -> None:
        """The handshake has measured a round-trip time; ACKs bring the others."""

    def observe(self, ack: Ack) -> None:
        """An ACK of new data came, in recovery or out of it."""

    def grow(self, ack: Ack, mss: int, window: Window) -> None:
        """An ACK of new data came outside recovery: moves `window.cwnd`, below `window.ssthresh` by slow start."""
        raise NotImplementedError

    def cut(self, cause: str, at: Congestion, mss: int, window: Window) -> int:
        """Congestion, by `"loss"`, `"timeout"` or `"ecn"`: gives the new ssthresh, at least two segments."""
        raise NotImplementedError


MUST = {"grow": "grow(self, ack, mss, window)", "cut": "cut(self, cause, at, mss, window)"}
MAY = {"begin": "begin(self, start, end, deadline)", "sample": "sample(self, rtt)", "observe": "observe(self, ack)"}


def law(name: str) -> Callable[[Class], Class]:
    """Registers a class as a base law, under a name that any scheme may have: `"timid"`, `"timid+m21"`, `"red+timid"`.

    Registered anew, it takes the former one's place.
    """
    if not isinstance(name, str):
        raise TypeError(f'law: {name!r} is no name; right would be such as @fanin.law("timid")')

    def registered(made: Class) -> Class:
        bring(name, made)
        return made

    return registered


def bring(name: str, made: type[Any]) -> None:
    """Registers a class."""
    if not isinstance(made, type):
        raise TypeError(f"law {name!r}: {made!r} is a {type(made).__name__}; right would be a class")
    has = []
    for method, form in {**MUST, **MAY}.items():
        own = inspect.getattr_static(made, method, None)
        if own is None or own is inspect.getattr_static(Law, method):
            if method in MUST:
                raise TypeError(f"law {name!r}: {made.__name__} has no {method}; right would be {form}")
            continue
        if not callable(getattr(made, method)):
            raise TypeError(f"law {name!r}: {made.__name__}.{method} is no method; right would be {form}")
        has.append(method)
    ecn, gives_way = (given.flag(f"law {name!r}: {trait}", getattr(made, trait, False)) for trait in ("ecn", "gives_way"))
    _fanin.register(name, made, has, ecn, gives_way)
    LAWS[name] = made


def packed(names: list[str]) -> bytes:
    """Laws as they travel: classes by value, so that no worker needs the file that they stand in."""
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
        raise AskedError(f"executor: the law {', '.join(names)} cannot travel: {type(error).__name__}: {error}") from error
    finally:
        for module in apart:
            pickle.unregister_pickle_by_value(module)
    _known.add(hashlib.sha256(laws).digest())
    return laws


def under(laws: bytes, work: Callable[[], bytes]) -> bytes:
    """Works where laws are those that came, and none takes their names meanwhile."""
    with _at_work:
        digest = hashlib.sha256(laws).digest()
        if digest not in _known:
            for name, made in _cloudpickle().loads(laws).items():
                bring(name, made)
            _known.clear()
            _known.add(digest)
        return work()


def _is_own(module: str) -> bool:
    """Whether a module is a file of the caller's, and none that is installed."""
    file = getattr(sys.modules.get(module), "__file__", None)
    return file is not None and not any(pathlib.Path(file).is_relative_to(path) for path in sysconfig.get_paths().values())


def _cloudpickle() -> Any:
    try:
        return importlib.import_module("cloudpickle")
    except ImportError as error:
        raise ImportError(f"{error}: laws of one's own travel by it: pip install cloudpickle") from error
