"""What there is, and what it means."""

from __future__ import annotations

import json
from typing import Any

from fanin import _fanin, given


def explain(subject: str) -> dict[str, Any]:
    """Explains a scheme, every key of a `"scenario"`, the closed forms of the `"model"`, or what is not modelled."""
    explained: dict[str, Any] = json.loads(_fanin.explain(given.text("subject", subject, 'such as "dctcp"')))
    return explained


def listed() -> dict[str, list[dict[str, Any]]]:
    """Schemes, workloads, fabrics, switches and hosts' TCPs, each with what it is."""
    there: dict[str, list[dict[str, Any]]] = json.loads(_fanin.listed())
    return there


def schemes() -> dict[str, str]:
    """The schemes by their names, each with what it is."""
    return {scheme["name"]: scheme["says"] for scheme in listed()["schemes"]}
