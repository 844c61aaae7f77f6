"""Placement of objects, planned from request logs."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

from fanin import _fanin, given
from fanin.means import means
from fanin.scenario import Scenario


def plan(
    logs: Sequence[str | os.PathLike[str]],
    cluster: Scenario,
    *,
    gap: str = "1 ms",
    skip_bad: bool = False,
    folder: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Plan the placement of a cluster's objects from request logs, and predict the effect.

    Return the output of `fanin plan --json`; the plan's files go to `folder`.
    """
    files = given.several("logs", logs, (str, os.PathLike), '["log.csv"]')
    if not isinstance(cluster, Scenario):
        raise given.wrong("cluster", cluster, 'a scenario, such as fanin.Scenario("cluster.toml")')
    skip_bad = given.flag("skip_bad", skip_bad)
    asked = cluster.schemes("picc")
    gap_ps = _fanin.time_ps("gap", given.text("gap", gap, 'a time, such as "1 ms"'))
    where = None if folder is None else given.path("folder", folder)
    with means(2, False, progress=False) as how:
        found: dict[str, Any] = json.loads(_fanin.plan(asked._native, how, [os.fspath(log) for log in files], gap_ps, skip_bad, where))
    return found
