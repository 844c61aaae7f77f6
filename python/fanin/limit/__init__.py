"""A limit of the bytes on their way into this host, over all servers, for clients that request from many servers at once.

>>> limit = fanin.limit.Limit(link="25 Gbit/s")
>>> with limit.acquire(64_000) as grant:         # in a task: async with limit.ready(64_000) as grant
...     response = get("http://server/object")
...     grant.finish(len(response))

`fanin.limit.httpx`, `fanin.limit.s3` and `fanin.limit.dask` have wrappers. Threads and tasks may share a limit.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pathlib
import threading
from collections.abc import Generator, Mapping
from typing import Any

from fanin import _fanin
from fanin._fanin import Grant, Limiter, Wait

__all__ = ["Grant", "Limit", "Limiter"]


class Limit(_fanin.Limit):
    """A limit, with settings from a JSON file, such as `fanin advise` writes, from a mapping, or by name.

    `law` is `ictcp-window`, `sw` or `one-all`; `link` is the rate of the host's link, `budget` the maximum number of bytes in flight, and
    `expected` the assumed size of a response before any is known. Callers with waiting requests get equal shares of bytes.

    Processes that give the same folder as `shared`, such as one in `/dev/shm`, divide the budget. A process that ends, or is killed, gives
    back its part at once. Make the limit after a fork. The folder is this user's or root's, and closed to others but the group whose
    number is `group`.
    """

    def __new__(
        cls,
        settings: str | os.PathLike[str] | Mapping[str, Any] | None = None,
        /,
        *,
        shared: str | os.PathLike[str] | None = None,
        **keys: Any,
    ) -> Limit:
        """Read the settings; an error names the key, the problem and the solution."""
        if settings is None or isinstance(settings, Mapping):
            return super().__new__(cls, json.dumps({**(settings or {}), **keys}), shared)
        if keys:
            raise TypeError(f"settings from a file and by name ({', '.join(keys)}); use one of the two")
        return super().__new__(cls, pathlib.Path(settings).read_text(), shared)

    def acquire(self, expected: int | None = None, *, caller: int = 0, timeout: float | None = None) -> Grant:
        """Wait in this thread until a response of this size, if the request states one, may be requested.

        Raises `TimeoutError` after `timeout` seconds.
        """
        grant = self.try_acquire(expected)
        if grant is not None:
            return grant
        woken = threading.Event()
        wait = self.wait(expected, caller, woken.set)
        try:
            grant = wait.claim()
            if grant is None:
                woken.wait(timeout)
                grant = wait.claim()
            if grant is None:
                raise TimeoutError(f"no place for a response within {timeout} s")
            return grant
        finally:
            wait.cancel()

    def ready(self, expected: int | None = None, *, caller: int = 0) -> Ready:
        """Wait in this task: `grant = await limit.ready(size)`, or `async with limit.ready(size) as grant`."""
        return Ready(self, expected, caller)

    async def _ready(self, expected: int | None, caller: int) -> Grant:
        grant = self.try_acquire(expected)
        if grant is not None:
            return grant
        loop = asyncio.get_running_loop()
        woken: asyncio.Future[None] = loop.create_future()

        def end() -> None:
            if not woken.done():
                woken.set_result(None)

        def wake() -> None:
            # A closed loop has no tasks that wait.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(end)

        wait: Wait = self.wait(expected, caller, wake)
        try:
            grant = wait.claim()
            while grant is None:
                await woken
                grant = wait.claim()
            return grant
        finally:
            wait.cancel()


class Ready:
    """A task's wait for a grant."""

    def __init__(self, limit: Limit, expected: int | None, caller: int) -> None:
        self._limit, self._expected, self._caller = limit, expected, caller
        self._grant: Grant | None = None

    def __await__(self) -> Generator[Any, Any, Grant]:
        return self._limit._ready(self._expected, self._caller).__await__()

    async def __aenter__(self) -> Grant:
        self._grant = await self
        return self._grant

    async def __aexit__(self, *error: object) -> None:
        if self._grant is not None:
            self._grant.release()
