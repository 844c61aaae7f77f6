"""The library as Python calls it; `fanin` has what is for people."""

import os
from collections.abc import Callable

from typing_extensions import CapsuleType, Self

from fanin.means import Means

__version__: str

class Scenario:
    @staticmethod
    def read(path: str | os.PathLike[str]) -> Scenario: ...
    @staticmethod
    def parse(name: str, text: str) -> Scenario: ...
    def set(self, argument: str, assignment: str) -> Scenario: ...
    def sweep(self, argument: str, axis: str) -> Scenario: ...
    def schemes(self, names: list[str]) -> Scenario: ...
    def laws(self) -> list[str]: ...
    def hash(self) -> str: ...
    def check(self) -> tuple[list[str], list[str]]: ...
    @property
    def text(self) -> str: ...

class Table:
    """A table: any library that knows Arrow's PyCapsule interface takes it."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def columns(self) -> list[str]:
        """The names of its columns, which carry their units."""

    @property
    def metadata(self) -> list[tuple[str, str]]:
        """What is to be known of it: the engine, and whether runs are missing."""

    @property
    def nbytes(self) -> int:
        """Bytes that its columns take."""

    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> CapsuleType: ...

class Ack:
    """What one ACK of new data says. Offsets count the stream's bytes from zero; times are in picoseconds."""

    def __init__(
        self, acked: int, una: int, nxt: int, *, now: int = 0, ece: bool = False, rtt: int | None = None, srtt: int = 0
    ) -> None: ...
    @property
    def now(self) -> int:
        """When it arrived."""

    @property
    def acked(self) -> int:
        """Bytes that it newly acknowledges."""

    @property
    def una(self) -> int:
        """The first byte not yet acknowledged, after this ACK."""

    @property
    def nxt(self) -> int:
        """The next byte to send."""

    @property
    def ece(self) -> bool:
        """Whether it echoes congestion."""

    @property
    def rtt(self) -> int | None:
        """The round-trip time that it measured, if it did."""

    @property
    def srtt(self) -> int:
        """The smoothed round-trip time."""

class Congestion:
    """How a sender stands when it meets congestion. Times are in picoseconds."""

    def __init__(self, flight: int, una: int, *, now: int = 0, srtt: int = 0) -> None: ...
    @property
    def now(self) -> int:
        """When."""

    @property
    def flight(self) -> int:
        """Bytes outstanding."""

    @property
    def una(self) -> int:
        """The first byte not yet acknowledged."""

    @property
    def srtt(self) -> int:
        """The smoothed round-trip time."""

class Window:
    """The congestion window and the slow-start threshold, in bytes; what is beyond 4 GiB counts as that."""

    cwnd: int
    ssthresh: int
    def __init__(self, cwnd: int, ssthresh: int) -> None: ...

class Comparison:
    def json(self) -> str: ...
    def summary(self) -> str: ...
    def tables(self) -> list[str]: ...
    def table(self, name: str) -> Table: ...
    @property
    def finished(self) -> list[int]: ...
    @property
    def cached(self) -> int: ...
    @property
    def warnings(self) -> list[str]: ...
    @property
    def notices(self) -> list[str]: ...
    @property
    def raised(self) -> list[str]: ...
    def write(self, folder: str, arguments: list[str]) -> None: ...
    def page(self, arguments: list[str]) -> str: ...
    def shown(self) -> str: ...

class Diagnosed:
    def json(self) -> str: ...
    def says(self) -> str: ...
    def scenario(self) -> str | None: ...
    def page(self) -> str: ...
    def write(self, folder: str) -> None: ...

class Reproduced:
    def json(self) -> str: ...
    def write(self, folder: str) -> None: ...
    def page(self) -> str: ...

def register(name: str, made: type, methods: list[str], ecn: bool, is_delay_based: bool) -> None: ...
def work(parcel: bytes) -> bytes: ...
def engine() -> str:
    """The name of the engine: another one's tables may differ."""

def explain(subject: str) -> str: ...
def listed() -> str: ...
def sections() -> list[tuple[str, str]]: ...
def cache_folder() -> str | None: ...
def program(arguments: list[str]) -> int: ...
def time_ps(parameter: str, text: str) -> int: ...
def diagnose(means: Means, inputs: list[str]) -> Diagnosed: ...
def compare(scenario: Scenario, means: Means, onset: bool, precision: float | None) -> tuple[Comparison, BaseException | None]: ...
def run(scenario: Scenario, means: Means, step_ps: int | None, servers: list[int] | None) -> tuple[Comparison, BaseException | None]: ...
def trace(scenario: Scenario, means: Means, at: str, path: str) -> tuple[int, float | None]: ...
def advise(
    scenario: Scenario,
    means: Means,
    file: str,
    arguments: list[str],
    servers: int | None,
    grow_to: int | None,
    goal: str | None,
    budget: int,
    seconds: float | None,
    remedies: list[str],
    folder: str | None,
) -> str: ...
def plan(
    cluster: Scenario,
    means: Means,
    logs: list[str],
    gap_ps: int,
    skip_bad: bool,
    folder: str | None,
) -> str: ...
def reproduce(
    names: list[str],
    means: Means,
    figure: str | None,
    quick: bool,
    seeds: int | None,
    set: list[str],
    papers_in: str | None,
) -> Reproduced: ...
def papers(papers_in: str | None) -> list[str]: ...

class Limiter:
    """The limiter's arithmetic, for event loops and tests. Times are in nanoseconds since any moment."""

    def __new__(cls, text: str) -> Limiter: ...
    def request(self, now: int, caller: int, expected: int | None) -> int: ...
    def admit_next(self, now: int) -> int | None: ...
    def is_admitted(self, ticket: int) -> bool: ...
    def expect(self, ticket: int, bytes: int) -> None: ...
    def received(self, ticket: int, bytes: int) -> None: ...
    def finish(self, now: int, ticket: int, bytes: int) -> None: ...
    def cancel(self, now: int, ticket: int) -> None: ...
    def figures(self) -> dict[str, int]: ...

class Limit:
    def __new__(cls, text: str, shared: str | os.PathLike[str] | None = None) -> Self: ...
    def try_acquire(self, expected: int | None = None) -> Grant | None:
        """A grant without a wait, if there is one."""

    def wait(self, expected: int | None, caller: int, wake: Callable[[], object]) -> Wait: ...
    def figures(self) -> dict[str, int]:
        """Counters and state."""

    def prometheus(self) -> str:
        """The figures in Prometheus' text format."""

    def metrics(self) -> list[tuple[str, bool, str, float]]:
        """Name, whether it is a counter, help and value of each metric."""

class Wait:
    def claim(self) -> Grant | None: ...
    def cancel(self) -> None: ...

class Grant:
    """Permission for one response, and its share of the bytes in flight. It ends when it is finished, released, or no longer used."""

    def expect(self, bytes: int) -> None:
        """Corrects the expected size, such as by the response's header."""

    def received(self, bytes: int) -> None:
        """Records bytes that have arrived: others may use their place."""

    def finish(self, bytes: int = 0) -> None:
        """Ends the request with a complete response of this size, or of the bytes received if these are more."""

    def release(self) -> None:
        """Gives back the bytes of a failed or cancelled request; no effect after its end."""

    def __enter__(self) -> Grant: ...
    def __exit__(self, *error: object) -> None: ...
