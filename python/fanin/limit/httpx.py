"""Transports of httpx under a limit.

>>> client = httpx.AsyncClient(transport=fanin.limit.httpx.AsyncTransport(limit))

Bytes of a response are in flight until they are read. A response that has ended, failed or is closed holds nothing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import httpx

from fanin.limit import Grant, Limit
from fanin.limit.http import content_length, range_size


def _stated(request: httpx.Request) -> int | None:
    return 0 if request.method == "HEAD" else range_size(request.headers.get("range"))


def _sized(grant: Grant, request: httpx.Request, response: httpx.Response) -> None:
    size = content_length(response.headers)
    if size is not None and request.method != "HEAD":
        grant.expect(size)


class Transport(httpx.BaseTransport):
    """A transport, by default `httpx.HTTPTransport()`, whose requests wait for a grant."""

    def __init__(self, limit: Limit, transport: httpx.BaseTransport | None = None) -> None:
        self._limit, self._transport = limit, transport or httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Wait for a grant, then send the request."""
        grant = self._limit.acquire(_stated(request))
        try:
            response = self._transport.handle_request(request)
            _sized(grant, request, response)
        except BaseException:
            grant.release()
            raise
        assert isinstance(response.stream, httpx.SyncByteStream)
        response.stream = _Stream(response.stream, grant)
        return response

    def close(self) -> None:
        """Close the transport."""
        self._transport.close()


class AsyncTransport(httpx.AsyncBaseTransport):
    """A transport, by default `httpx.AsyncHTTPTransport()`, whose requests wait for a grant."""

    def __init__(self, limit: Limit, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._limit, self._transport = limit, transport or httpx.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Wait for a grant, then send the request."""
        grant = await self._limit.ready(_stated(request))
        try:
            response = await self._transport.handle_async_request(request)
            _sized(grant, request, response)
        except BaseException:
            grant.release()
            raise
        assert isinstance(response.stream, httpx.AsyncByteStream)
        response.stream = _AsyncStream(response.stream, grant)
        return response

    async def aclose(self) -> None:
        """Close the transport."""
        await self._transport.aclose()


class _Stream(httpx.SyncByteStream):
    def __init__(self, stream: httpx.SyncByteStream, grant: Grant) -> None:
        self._stream, self._grant = stream, grant

    def __iter__(self) -> Iterator[bytes]:
        for part in self._stream:
            self._grant.received(len(part))
            yield part
        self._grant.finish()

    def close(self) -> None:
        self._grant.release()
        self._stream.close()


class _AsyncStream(httpx.AsyncByteStream):
    def __init__(self, stream: httpx.AsyncByteStream, grant: Grant) -> None:
        self._stream, self._grant = stream, grant

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._stream:
            self._grant.received(len(part))
            yield part
        self._grant.finish()

    async def aclose(self) -> None:
        self._grant.release()
        await self._stream.aclose()
