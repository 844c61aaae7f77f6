"""Clients of botocore and aiobotocore, and with them s3fs (fsspec), under a limit.

>>> fs = s3fs.S3FileSystem()
>>> fs.connect()
>>> fanin.limit.s3.limited(fs.s3, limit)

Reads of objects wait for a grant; other operations do not. An object's bytes are in flight until they are read. A body that has
ended, failed or is closed holds nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, TypeVar

from fanin.limit import Grant, Limit
from fanin.limit.http import range_size

Client = TypeVar("Client")


def limited(client: Client, limit: Limit) -> Client:
    """Put the client under the limit, and return it. A client of botocore waits in its thread, one of aiobotocore in its task."""
    call: Any = client._make_api_call  # type: ignore[attr-defined]

    def wrapped(operation: str, arguments: Mapping[str, Any]) -> Any:
        if operation != "GetObject":
            return call(operation, arguments)
        with _Held(limit.acquire(range_size(arguments.get("Range")))) as held:
            return held.into(call(operation, arguments), _Body)

    async def wrapped_async(operation: str, arguments: Mapping[str, Any]) -> Any:
        if operation != "GetObject":
            return await call(operation, arguments)
        with _Held(await limit.ready(range_size(arguments.get("Range")))) as held:
            return held.into(await call(operation, arguments), _AsyncBody)

    client._make_api_call = wrapped_async if inspect.iscoroutinefunction(call) else wrapped  # type: ignore[attr-defined]
    return client


class _Held:
    """A grant until a body has it."""

    def __init__(self, grant: Grant) -> None:
        self.grant: Grant | None = grant

    def into(self, response: dict[str, Any], kind: type[_Body]) -> dict[str, Any]:
        grant, self.grant = self.grant, None
        assert grant is not None
        size = response.get("ContentLength")
        if size is not None:
            grant.expect(size)
        return {**response, "Body": kind(response["Body"], grant, size)}

    def __enter__(self) -> _Held:
        return self

    def __exit__(self, *error: object) -> None:
        if self.grant is not None:
            self.grant.release()


class _Body:
    """The body of an object, otherwise as botocore's."""

    def __init__(self, body: Any, grant: Grant, size: int | None) -> None:
        self._body, self._grant, self._rest = body, grant, size

    def __getattr__(self, name: str) -> Any:
        return getattr(self._body, name)

    def _count(self, part: bytes, amount: int | None) -> bytes:
        self._grant.received(len(part))
        if self._rest is not None:
            self._rest -= len(part)
        # A read of everything is the last one; after the last byte some callers do not read again.
        if amount is None or amount < 0 or (not part and amount > 0) or self._rest == 0:
            self._grant.finish()
        return part

    def read(self, amt: int | None = None) -> Any:
        """Read at most `amt` bytes, or all."""
        return self._count(self._body.read(amt), amt)

    def iter_chunks(self, chunk_size: int = 1024) -> Any:
        """Iterate over parts."""
        return iter(lambda: self.read(chunk_size), b"")

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.iter_chunks())

    def close(self) -> None:
        """Close the body."""
        self._grant.release()
        self._body.close()

    def __enter__(self) -> _Body:
        self._body.__enter__()
        return self

    def __exit__(self, *error: Any) -> Any:
        self._grant.release()
        return self._body.__exit__(*error)


class _AsyncBody(_Body):
    """The body of an object, otherwise as aiobotocore's."""

    async def read(self, amt: int | None = None) -> bytes:
        """Read at most `amt` bytes, or all."""
        return self._count(await (self._body.read() if amt is None else self._body.read(amt)), amt)

    async def iter_chunks(self, chunk_size: int = 1024) -> AsyncIterator[bytes]:
        """Iterate over parts."""
        while part := await self.read(chunk_size):
            yield part

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self.iter_chunks()

    async def __aenter__(self) -> _AsyncBody:
        await self._body.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> Any:
        self._grant.release()
        return await self._body.__aexit__(*error)
