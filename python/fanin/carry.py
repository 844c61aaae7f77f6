"""Transport of batches of runs over any `concurrent.futures.Executor`.

The library (`crates/laboratory/execute/src/elsewhere`) decides what goes into a batch, what to resubmit and when to end.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import queue
import time
import uuid
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future
from typing import Any, TypeAlias

from fanin.worker import work

Pool: TypeAlias = Executor | Callable[[], Executor]

# Errors that every worker would raise: retrying is useless.
UNFIT = (ImportError, AttributeError, TypeError, pickle.PicklingError)
# Interval of queries for the number of workers, in seconds.
ASKED_EVERY_S = 1.0


def checked(executor: Any) -> Pool:
    """Check that this is an executor, or a function that creates one."""
    if isinstance(executor, Executor):
        return executor
    if hasattr(executor, "get_executor"):
        raise TypeError(f"executor: this is a {type(executor).__name__}; use executor=client.get_executor()")
    if callable(executor) and not hasattr(executor, "submit"):
        return executor  # type: ignore[no-any-return]
    if callable(getattr(executor, "submit", None)):
        return executor  # type: ignore[no-any-return]
    raise TypeError(
        f"executor: {executor!r} is not an executor; use a concurrent.futures.Executor, such as "
        "client.get_executor() of Dask, or a function that makes one"
    )


class Futures:
    """The futures of submitted batches."""

    def __init__(self, pool: Pool, laws: bytes = b"") -> None:
        # Sent with every batch: the caller's own algorithms.
        self._with = (laws,) if laws else ()
        self._make = None if hasattr(pool, "submit") else pool
        self._executor: Executor | None = None if self._make else pool  # type: ignore[assignment]
        self._under_way: dict[int, Future[bytes]] = {}
        # With a Dask client: its own futures behind those.
        self._behind: dict[int, list[Any]] = {}
        self._came: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._session = uuid.uuid4().hex
        self._slots: int | None = None
        self._asked: Future[Any] | None = None
        self._asked_at = 0.0
        self.ending: tuple[str, str] | None = None

    def at_once(self) -> int:
        """The number of batches in progress at once, as far as known."""
        client = getattr(self._executor, "_client", None)
        if client is not None and hasattr(client, "loop"):
            return self._of_cluster(client)
        known = getattr(self._executor, "_max_workers", None)
        return known if isinstance(known, int) else os.cpu_count() or 1

    def _of_cluster(self, client: Any) -> int:
        """Threads of a Dask cluster's workers, queried from time to time without waiting."""
        if self._asked is not None and self._asked.done():
            if not self._asked.cancelled() and self._asked.exception() is None:
                self._slots = sum(self._asked.result().values())
            self._asked = None
        if self._asked is None and time.monotonic() - self._asked_at > ASKED_EVERY_S:
            self._asked_at = time.monotonic()
            self._asked = asyncio.run_coroutine_threadsafe(client.scheduler.ncores(), client.loop.asyncio_loop)
        # An adaptive cluster starts without workers.
        return max(self._slots or 0, 2)

    def hand_in(self, number: int, parcel: bytes) -> str | None:
        """Submit a batch; return the reason if the executor accepts no more."""
        for again in (False, True):
            try:
                if self._executor is None:
                    assert self._make is not None
                    self._executor = self._make()
                before = set(self._of_dask())
                future = self._executor.submit(work, parcel, f"{self._session}-{number}", *self._with)
                self._behind[number] = [held for key, held in self._of_dask().items() if key not in before]
                break
            except Exception as error:  # Whatever it is, nothing was submitted.
                if again or self._make is None:
                    return f"the executor accepts no more runs: {said(error)}"
                self._let_go()
        self._under_way[number] = future
        future.add_done_callback(lambda _: self._came.put(number))
        return None

    def next(self, most_s: float) -> tuple[int, str, bytes | str] | None:
        """The next result of a batch: its number, `answer`, `lost` or `refused`, and the response or the reason."""
        try:
            number = self._came.get(timeout=most_s)
        except queue.Empty:
            return self._gone()
        # Drop the references, so that the result is freed.
        future = self._under_way.pop(number, None)
        self._behind.pop(number, None)
        if future is None:
            return None
        try:
            return number, "answer", future.result(timeout=0)
        except UNFIT as error:
            hint = "; install fanin on every worker" if isinstance(error, ImportError) else ""
            return number, "refused", f"workers cannot execute runs: {said(error)}{hint}"
        except CancelledError:
            return number, "lost", "it was cancelled: its worker or the connection to it is gone"
        except Exception as error:
            # A broken pool refuses the next batch: only then create another pool, once.
            return number, "lost", said(error)

    def _gone(self) -> tuple[int, str, str] | None:
        """Detect a closed Dask client, which delivers no more results and raises no error."""
        closed = getattr(getattr(self._executor, "_client", None), "status", None) == "closed"
        for number in list(self._under_way):
            # When a connection is cut, Dask cancels its own futures, and may leave the wrapping ones waiting forever.
            if closed or any(held.status == "cancelled" for held in self._behind.get(number, [])):
                self._under_way.pop(number, None)
                self._behind.pop(number, None)
                return number, "lost", "the connection to the scheduler is gone"
        return None

    def _of_dask(self) -> dict[str, Any]:
        """A Dask client's own futures by key; empty for other executors."""
        of_dask = hasattr(self._executor, "_client")
        return {held.key: held for held in list(getattr(self._executor, "_futures", ()))} if of_dask else {}

    def give_up(self) -> None:
        """Cancel all batches in progress."""
        under_way, self._under_way = self._under_way, {}
        self._behind = {}
        for future in under_way.values():
            future.cancel()

    def ended(self, kind: str, why: str) -> None:
        """Record that work ended early, and why."""
        self.ending = (kind, why)

    def close(self) -> None:
        """Cancel batches in progress, and shut down the pool if it was created here."""
        self.give_up()
        if self._make is not None:
            self._let_go()

    def _let_go(self) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=False)
        self._executor = None


def said(error: BaseException) -> str:
    """An error as one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
