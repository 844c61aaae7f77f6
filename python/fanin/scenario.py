"""Scenarios, and what can be done with one."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias, Union

from fanin import _fanin, given, laws, toml
from fanin.comparison import Comparison, Run
from fanin.errors import CutShortWarning, ExecutorError, Interrupted, LawError, ScenarioError
from fanin.means import Cache, Means, means
from fanin.sections import ScenarioDict

Scalar: TypeAlias = str | int | float | bool | given.Numpy
Value: TypeAlias = Scalar | Sequence[Scalar]
PathOf: TypeAlias = Union[str, "os.PathLike[str]"]


class Scenario:
    """What is to be compared: a cluster, a workload, schemes and a sweep.

    From a file, a text or a dict:

    >>> fanin.Scenario("scenarios/fixed-fragment.toml")
    >>> fanin.Scenario(text='schemes = ["dctcp"]')
    >>> fanin.Scenario({"schemes": ["dctcp"], "link": fanin.sections.Link(rate="10 Gbit/s")})

    Every change gives a new scenario. `fanin.explain("scenario")` explains every key.
    """

    def __init__(
        self,
        source: PathOf | ScenarioDict | Mapping[str, Any] | None = None,
        *,
        text: str | None = None,
        name: str | None = None,
    ) -> None:
        if (source is None) == (text is None):
            raise TypeError("a scenario is of one source: a path, a dict, or text=")
        self._arguments: list[str] = []
        if isinstance(source, Mapping):
            self._name = name or "dict.toml"
            self._native = _fanin.Scenario.parse(self._name, toml.text(source))
        elif isinstance(source, (str, os.PathLike)):
            self._name = os.fspath(source)
            self._native = _fanin.Scenario.read(self._name)
        elif isinstance(text, str):
            self._name = name or "text.toml"
            self._native = _fanin.Scenario.parse(self._name, text)
        else:
            raise TypeError(f"a scenario is a path, a dict or a text; this is a {type(source or text).__name__}")

    @property
    def text(self) -> str:
        """The text of its file."""
        return self._native.text

    @property
    def arguments(self) -> list[str]:
        """What was set since, as the arguments of `fanin compare` that do the same."""
        return list(self._arguments)

    def set(self, key: str, value: Value) -> Scenario:
        """Sets a key: `set("switch.buffer", "128 KiB")`."""
        if not isinstance(key, str):
            raise ScenarioError(f'set: {key!r} is no key; right would be a text such as "link.rate"')
        value = given.plain(value)
        # A text is as behind --set: "5" is a number there, too.
        written = value if isinstance(value, str) else toml.value(key, value)
        assignment = f"{key}={written}"
        return self._with(self._native.set(f"set({key!r}, {value!r})", assignment), "--set", assignment)

    def sweep(self, key: str, values: Iterable[Scalar]) -> Scenario:
        """Sweeps over a key, in place of the values that it has: `sweep("fan_in", [8, 32])`."""
        if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
            raise ScenarioError(f"sweep: {key}: {values!r} is no list of values; right would be such as [8, 32]")
        listed = [given.plain(item) for item in values]
        shown = ",".join(item if isinstance(item, str) else toml.value(f"sweep: {key}", item) for item in listed)
        said = f"sweep={{{key!r}: {listed!r}}}"
        return self._with(self._native.sweep(said, f"{key}={shown}"), "--sweep", f"{key}={shown}")

    def schemes(self, *names: str) -> Scenario:
        """Keeps these schemes, in this order: labels of the scenario's own, or names such as `dctcp+gss`."""
        for name in names:
            if not isinstance(name, str):
                raise ScenarioError(f'schemes: {name!r} is a {type(name).__name__}; right would be names, such as "dctcp"')
        return self._with(self._native.schemes(list(names)), "--schemes", ",".join(names))

    def check(self) -> list[str]:
        """Checks every setting of every scheme at every point: its warnings, or an error."""
        return self._native.check()[1]

    def compare(
        self,
        sweep: Mapping[str, Iterable[Scalar]] | None = None,
        seeds: int | None = None,
        *,
        first_seed: int | None = None,
        onset: bool = False,
        precision: float | None = None,
        jobs: int | None = None,
        executor: Any = None,
        cache: Cache = True,
        worker_cache: PathOf | None = None,
        progress: bool | None = None,
    ) -> Comparison:
        """Compares its schemes over a sweep.

        `onset` looks for the onset with few points; `precision=0.02` adds seeds until goodput is known within 2 %.

        `executor` is any `concurrent.futures.Executor`, such as `client.get_executor()` of Dask, or a function that
        makes one, which is called again where a pool breaks. `cache` is `False`, or a folder in place of the user's;
        `worker_cache` a folder of the workers'. What comes of it hangs on neither.

        Ctrl-C raises `fanin.Interrupted`, which has the comparison of what was done.
        """
        onset = given.flag("onset", onset)
        asked, arguments = self._over(sweep, seeds, first_seed)
        arguments += ["--onset"] if onset else []
        precision = given.plain(precision)
        if precision is not None:
            if not isinstance(precision, float) or not 0 < precision < 1:
                raise TypeError(f"precision: {precision!r} is none; right would be a share such as 0.02")
            arguments += ["--precision", f"{precision * 100:g}%"]
        with means(jobs, cache, executor, worker_cache, progress, asked._laws()) as how:
            native, interrupted = _fanin.compare(asked._native, how, onset, precision)
        return finished(Comparison(native, ["compare", self._name, *arguments]), how, interrupted)

    def run(
        self,
        scheme: str | None = None,
        fan_in: int | None = None,
        seed: int | None = None,
        *,
        samples: str | None = None,
        servers: Sequence[int] | None = None,
        cache: Cache = True,
    ) -> Run:
        """Runs one scheme once. `samples="100 us"` keeps what happened inside, too: `table("samples")`, `table("events")`.

        `servers` are those whose windows are kept, counted from one; all unless told.
        """
        asked, arguments = self._once(scheme, fan_in, seed)
        step = None if samples is None else _fanin.time_ps("samples", given.text("samples", samples, 'a time, such as "100 us"'))
        if servers is not None and step is None:
            raise TypeError('servers: no window is kept without samples, such as samples="100 us"')
        watched = None if servers is None else given.several("servers", servers, int, "[1, 2]")
        arguments += [] if samples is None else [f"--samples={samples.replace(' ', '')}"]
        with means(1, cache, progress=False) as how:
            native, interrupted = _fanin.run(asked._native, how, step, watched)
        run = Run(native, ["run", self._name, *arguments])
        finished(run, how, interrupted)
        return run

    def trace(
        self,
        path: PathOf,
        scheme: str | None = None,
        fan_in: int | None = None,
        seed: int | None = None,
        *,
        at: str = "client",
    ) -> int:
        """Writes the packets of one run as pcapng: those at a host (`client`, `server3`) or a port (`switch>client`).

        Gives how many there are.
        """
        asked, _ = self._once(scheme, fan_in, seed)
        place, file = given.text("at", at, 'a host or a port, such as "client"'), given.path("path", path)
        with means(1, False, progress=False) as how:
            return _fanin.trace(asked._native, how, place, file)[0]

    def advise(
        self,
        goal: str | None = None,
        *,
        servers: int | None = None,
        grow_to: int | None = None,
        budget: int = 250_000_000,
        seconds: float | None = None,
        remedies: Sequence[str] = (),
        folder: PathOf | None = None,
        jobs: int | None = None,
        executor: Any = None,
        cache: Cache = True,
        worker_cache: PathOf | None = None,
        progress: bool | None = None,
    ) -> dict[str, Any]:
        """Says what to change, the best first: what `fanin advise --json` prints.

        `goal` is such as `"p99 < 10 ms"`; `grow_to` how many servers there will be; `budget` how many data packets may be simulated,
        `seconds` how long.
        """
        if goal is not None:
            given.text("goal", goal, 'such as "p99 < 10 ms"')
        if servers is not None:
            servers = given.whole("servers", servers, 1, 32)
        if grow_to is not None:
            grow_to = given.whole("grow_to", grow_to, 2, 48)
        budget = given.whole("budget", budget, 1, 250_000_000)
        if seconds is not None:
            seconds = given.number("seconds", seconds, 30)
        names = given.several("remedies", remedies, str, '["rto-min", "dctcp"]')
        where = None if folder is None else given.path("folder", folder)
        with means(jobs, cache, executor, worker_cache, progress, self._laws()) as how, carried(how):
            advised = _fanin.advise(
                self._native,
                how,
                self._name,
                self._arguments,
                servers,
                grow_to,
                goal,
                budget,
                seconds,
                names,
                where,
            )
        advice: dict[str, Any] = json.loads(advised)
        return advice

    def _laws(self) -> list[str]:
        """The laws of the caller's own that it has."""
        return self._native.laws() if laws.LAWS else []

    def _with(self, native: _fanin.Scenario, *arguments: str) -> Scenario:
        made = Scenario.__new__(Scenario)
        made._name, made._native = self._name, native
        made._arguments = [*self._arguments, *arguments]
        return made

    def _over(
        self,
        sweep: Mapping[str, Iterable[Scalar]] | None,
        seeds: int | None,
        first_seed: int | None,
    ) -> tuple[Scenario, list[str]]:
        asked = self
        if sweep is not None and not isinstance(sweep, Mapping):
            raise ScenarioError(f'sweep: {sweep!r} is no dict; right would be such as {{"fan_in": [8, 32]}}')
        for key, values in (sweep or {}).items():
            asked = asked.sweep(key, values)
        for name, number in (("seeds", given.plain(seeds)), ("first_seed", given.plain(first_seed))):
            if number is not None:
                if isinstance(number, bool) or not isinstance(number, int):
                    raise ScenarioError(f"{name}: {number!r} is no number; right would be a whole number", argument=name)
                native = asked._native.set(f"{name}={number}", f"run.{name}={number}")
                asked = asked._with(native, f"--{name.replace('_', '-')}", str(number))
        return asked, asked._arguments

    def _once(self, scheme: str | None, fan_in: int | None, seed: int | None) -> tuple[Scenario, list[str]]:
        labels = self._native.check()[0]
        if scheme is None and len(labels) > 1:
            raise ScenarioError(f"scheme: one run is of one; right would be one of {', '.join(labels)}", argument="scheme")
        asked = self.schemes(scheme or labels[0])
        arguments = [*self._arguments, "--scheme", scheme or labels[0]]
        asked = asked._with(asked._native.set("one run", "run.seeds=1"))
        if fan_in is not None:
            fan_in = given.whole("fan_in", fan_in, 1, 32)
            asked = asked._with(asked._native.set(f"fan_in={fan_in!r}", f"sweep.fan_in=[{fan_in}]"))
            arguments += ["--fan-in", str(fan_in)]
        if seed is not None:
            seed = given.whole("seed", seed, 0, 1)
            asked = asked._with(asked._native.set(f"seed={seed!r}", f"run.first_seed={seed}"))
            arguments += ["--seed", str(seed)]
        return asked, arguments

    def __repr__(self) -> str:
        return f"<fanin.Scenario {' '.join([self._name, *self._arguments])}>"


def finished(comparison: Comparison, how: Means, interrupted: BaseException | None) -> Comparison:
    """A comparison, or why it is none: what ended it is said of it."""
    done, planned = comparison.finished
    ending = None if how.carrier is None else how.carrier.ending
    if isinstance(interrupted, KeyboardInterrupt):
        comparison._cut_short = "stopped by Ctrl-C"
        what = f"stopped with {done} of {planned} runs finished; this exception's `comparison` has them"
        raise Interrupted(what, comparison) from None
    if interrupted is not None:
        raise interrupted
    if raised := comparison._native.raised:
        comparison._cut_short = raised[0] if len(raised) == 1 else f"{raised[0]}\nand so did {len(raised) - 1} runs more"
        if not done:
            raise LawError(comparison._cut_short)
        warnings.warn(f"{done} of {planned} runs have finished: {comparison._cut_short}", CutShortWarning, stacklevel=3)
        return comparison
    if ending is not None:
        kind, why = ending
        comparison._cut_short = why
        if kind == "refused" or not done:
            raise ExecutorError(why, comparison if done else None)
        warnings.warn(f"{done} of {planned} runs have finished: {why}", CutShortWarning, stacklevel=3)
    return comparison


class carried:
    """Where work by an executor gives nothing at all, its own reason is the error."""

    def __init__(self, how: Means) -> None:
        self._how = how

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        ending = None if self._how.carrier is None else self._how.carrier.ending
        if ending is not None and isinstance(error, Exception):
            raise ExecutorError(ending[1]) from error
