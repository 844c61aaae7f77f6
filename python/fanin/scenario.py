"""Scenarios: compare, run, trace and advise."""

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
    """A cluster, a workload, schemes and a sweep to compare.

    From a file, a string or a dict:

    >>> fanin.Scenario("scenarios/fixed-fragment.toml")
    >>> fanin.Scenario(text='schemes = ["dctcp"]')
    >>> fanin.Scenario({"schemes": ["dctcp"], "link": fanin.sections.Link(rate="10 Gbit/s")})

    Every change returns a new scenario. `fanin.explain("scenario")` explains every key.
    """

    def __init__(
        self,
        source: PathOf | ScenarioDict | Mapping[str, Any] | None = None,
        *,
        text: str | None = None,
        name: str | None = None,
    ) -> None:
        if (source is None) == (text is None):
            raise TypeError("a scenario needs exactly one source; use a path, a dict, or text=")
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
            raise TypeError(f"a scenario cannot be a {type(source or text).__name__}; use a path, a dict or a text")

    @property
    def text(self) -> str:
        """The scenario as TOML."""
        return self._native.text

    @property
    def arguments(self) -> list[str]:
        """Later changes, as the equivalent arguments of `fanin compare`."""
        return list(self._arguments)

    def set(self, key: str, value: Value) -> Scenario:
        """Set a key: `set("switch.buffer", "128 KiB")`."""
        if not isinstance(key, str):
            raise ScenarioError(f'set: {key!r} is not a key; use a text such as "link.rate"')
        value = given.plain(value)
        # As with --set, the string "5" is a number.
        written = value if isinstance(value, str) else toml.value(key, value)
        assignment = f"{key}={written}"
        return self._with(self._native.set(f"set({key!r}, {value!r})", assignment), "--set", assignment)

    def sweep(self, key: str, values: Iterable[Scalar]) -> Scenario:
        """Sweep over a key, replacing its values: `sweep("fan_in", [8, 32])`."""
        if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
            raise ScenarioError(f"sweep: {key}: {values!r} is not a list of values; use a list such as [8, 32]")
        listed = [given.plain(item) for item in values]
        shown = ",".join(item if isinstance(item, str) else toml.value(f"sweep: {key}", item) for item in listed)
        said = f"sweep={{{key!r}: {listed!r}}}"
        return self._with(self._native.sweep(said, f"{key}={shown}"), "--sweep", f"{key}={shown}")

    def schemes(self, *names: str) -> Scenario:
        """Select these schemes, in this order: the scenario's own labels, or names such as `dctcp+gss`."""
        for name in names:
            if not isinstance(name, str):
                raise ScenarioError(f'schemes: {name!r} is a {type(name).__name__}; use names, such as "dctcp"')
        return self._with(self._native.schemes(list(names)), "--schemes", ",".join(names))

    def check(self) -> list[str]:
        """Check every setting of every scheme at every point; return warnings or raise an error."""
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
        """Compare the schemes over a sweep.

        `onset` searches for the collapse point with few points; `precision=0.02` adds seeds until goodput is known within 2 %.

        `executor` is any `concurrent.futures.Executor`, such as Dask's `client.get_executor()`, or a function that creates
        one, which is called again if a pool breaks. `cache` is `False`, or a folder instead of the user's; `worker_cache` is
        a folder on the workers. Results do not depend on either.

        Ctrl-C raises `fanin.Interrupted`, which has the comparison of the finished runs.
        """
        onset = given.flag("onset", onset)
        asked, arguments = self._over(sweep, seeds, first_seed)
        arguments += ["--onset"] if onset else []
        precision = given.plain(precision)
        if precision is not None:
            if not isinstance(precision, float) or not 0 < precision < 1:
                raise TypeError(f"precision: {precision!r} is not valid; use a share such as 0.02")
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
        """Run one scheme once. `samples="100 us"` also records its course: `table("samples")`, `table("events")`.

        `servers` selects the servers whose windows are recorded, counted from one [default: all].
        """
        asked, arguments = self._once(scheme, fan_in, seed)
        step = None if samples is None else _fanin.time_ps("samples", given.text("samples", samples, 'a time, such as "100 us"'))
        if servers is not None and step is None:
            raise TypeError('servers: requires samples, such as samples="100 us"')
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
        """Write the packets of one run at a host (`client`, `server3`) or a port (`switch>client`) as pcapng.

        Return the number of packets.
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
        """Recommend changes, best first: the output of `fanin advise --json`.

        `goal` is for example `"p99 < 10 ms"`; `grow_to` is the future number of servers; `budget` limits simulated data packets,
        `seconds` the time.
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
        """The user-defined algorithms in this scenario."""
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
            raise ScenarioError(f'sweep: {sweep!r} is not a dict; use one such as {{"fan_in": [8, 32]}}')
        for key, values in (sweep or {}).items():
            asked = asked.sweep(key, values)
        for name, number in (("seeds", given.plain(seeds)), ("first_seed", given.plain(first_seed))):
            if number is not None:
                if isinstance(number, bool) or not isinstance(number, int):
                    raise ScenarioError(f"{name}: {number!r} is not a number; use a whole number", argument=name)
                native = asked._native.set(f"{name}={number}", f"run.{name}={number}")
                asked = asked._with(native, f"--{name.replace('_', '-')}", str(number))
        return asked, asked._arguments

    def _once(self, scheme: str | None, fan_in: int | None, seed: int | None) -> tuple[Scenario, list[str]]:
        labels = self._native.check()[0]
        if scheme is None and len(labels) > 1:
            raise ScenarioError(f"scheme: a run has one scheme; use one of {', '.join(labels)}", argument="scheme")
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
    """Return the comparison, marked with the reason if it was cut short, or raise that reason."""
    done, planned = comparison.finished
    ending = None if how.carrier is None else how.carrier.ending
    if isinstance(interrupted, KeyboardInterrupt):
        comparison._cut_short = "stopped by Ctrl-C"
        what = f"stopped with {done} of {planned} runs finished; they are in this exception's `comparison`"
        raise Interrupted(what, comparison) from None
    if interrupted is not None:
        raise interrupted
    if raised := comparison._native.raised:
        comparison._cut_short = raised[0] if len(raised) == 1 else f"{raised[0]}\n{len(raised) - 1} more runs failed"
        if not done:
            raise LawError(comparison._cut_short)
        warnings.warn(f"{done} of {planned} runs finished: {comparison._cut_short}", CutShortWarning, stacklevel=3)
        return comparison
    if ending is not None:
        kind, why = ending
        comparison._cut_short = why
        if kind == "refused" or not done:
            raise ExecutorError(why, comparison if done else None)
        warnings.warn(f"{done} of {planned} runs finished: {why}", CutShortWarning, stacklevel=3)
    return comparison


class carried:
    """Raise the executor's own reason if its work gives no result at all."""

    def __init__(self, how: Means) -> None:
        self._how = how

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        ending = None if self._how.carrier is None else self._how.carrier.ending
        if ending is not None and isinstance(error, Exception):
            raise ExecutorError(ending[1]) from error
