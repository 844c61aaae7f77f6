"""Incoming transfers of Dask's workers under a limit.

>>> client.register_plugin(fanin.limit.dask.LimitTransfers(link="25 Gbit/s"))

A worker waits for a grant before it requests keys from another worker. Dask's own bounds (`transfer_incoming_count_limit`,
`transfer_incoming_bytes_limit`) are fixed numbers; this limit adapts to the network.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from distributed.diagnostics.plugin import WorkerPlugin

from fanin.limit import Limit


class LimitTransfers(WorkerPlugin):
    """A plugin with the settings of a limit, as for `fanin.limit.Limit`, by name. Each worker process has its own limit."""

    name = "fanin-limit"

    def __init__(self, settings: Mapping[str, Any] | None = None, /, **keys: Any) -> None:
        self.settings = {**(settings or {}), **keys}
        Limit(self.settings)

    def setup(self, worker: Any) -> None:
        """Put a worker's transfers under the limit."""
        limit = worker.fanin_limit = Limit(self.settings)
        gather = worker.gather_dep

        async def gather_dep(worker: str, to_gather: Any, total_nbytes: int, *, stimulus_id: str) -> Any:
            async with limit.ready(total_nbytes) as grant:
                event = await gather(worker, to_gather, total_nbytes, stimulus_id=stimulus_id)
                # One event of several says that the data have come.
                if type(event).__name__ == "GatherDepSuccessEvent":
                    grant.finish(event.total_nbytes)
                return event

        self._gather = worker.gather_dep
        worker.gather_dep = gather_dep

    def teardown(self, worker: Any) -> None:
        """Restore a worker's own transfers."""
        worker.gather_dep = self._gather
