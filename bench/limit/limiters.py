"""Limiters of tasks for comparison, with as much of `fanin.limit.Limit` as its wrappers for s3fs and Dask use."""

import asyncio
import collections
import json
import math
import time

import fanin.limit


class Requests:
    """A number of requests; no limit by default."""

    def __init__(self, limit=math.inf):
        self.limit, self.in_flight, self.waiting = limit, 0, collections.deque()

    def ready(self, expected=None):
        return Ready(self)

    def admits(self):
        return self.in_flight + 1 <= self.limit

    async def begin(self):
        if self.waiting or not self.admits():
            place = asyncio.get_running_loop().create_future()
            self.waiting.append(place)
            await place
        else:
            self.in_flight += 1
        return Grant(self)

    def end(self, grant):
        self.in_flight -= 1
        while self.waiting and self.admits():
            self.in_flight += 1
            self.waiting.popleft().set_result(None)


class Gradient(Requests):
    """Gradient2Limit of Netflix's concurrency-limits with its default settings, as in bench/limit/client/limiters.go."""

    def __init__(self):
        super().__init__(20.0)
        self.long, self.samples = 0.0, 0

    def end(self, grant):
        short = time.monotonic() - grant.begun
        self.samples += 1
        self.long += (short - self.long) * (1 / self.samples if self.samples <= 10 else 2 / 601)
        if self.long / short > 2:
            self.long *= 0.95
        if grant.in_flight >= self.limit / 2:
            slope = max(0.5, min(1, 1.5 * self.long / short))
            self.limit = max(20.0, min(200.0, self.limit * 0.8 + (self.limit * slope + 4) * 0.2))
        super().end(grant)


class Grant:
    """Permission for one response."""

    def __init__(self, limiter):
        self.limiter, self.begun, self.in_flight = limiter, time.monotonic(), limiter.in_flight

    def expect(self, size):
        """The size does not matter."""

    received = expect

    def finish(self, size=0):
        limiter, self.limiter = self.limiter, None
        if limiter is not None:
            limiter.end(self)

    release = finish


class Ready:
    """A task's wait for a grant."""

    def __init__(self, limiter):
        self.limiter = limiter

    def __await__(self):
        return self.limiter.begin().__await__()

    async def __aenter__(self):
        self.grant = await self
        return self.grant

    async def __aexit__(self, *error):
        self.grant.release()


def named(name):
    """The limiter of an option: none, gradient, fixed:N, or settings in JSON."""
    if name == "none":
        return Requests()
    if name == "gradient":
        return Gradient()
    if name.startswith("fixed:"):
        return Requests(int(name.removeprefix("fixed:")))
    return fanin.limit.Limit(json.loads(name))
