"""Lists and explanations of schemes, settings and models."""

from __future__ import annotations

import json
from typing import Any

from fanin import _fanin, given


def explain(subject: str) -> dict[str, Any]:
    """Explain a scheme, the keys of a `"scenario"`, the closed forms of the `"model"`, or a feature that is not modelled."""
    explained: dict[str, Any] = json.loads(_fanin.explain(given.text("subject", subject, 'such as "dctcp"')))
    return explained


def listed() -> dict[str, list[dict[str, Any]]]:
    """Schemes, workloads, fabrics, switches and hosts' TCPs with descriptions."""
    there: dict[str, list[dict[str, Any]]] = json.loads(_fanin.listed())
    return there


def schemes() -> dict[str, str]:
    """Descriptions of the schemes by name."""
    return {scheme["name"]: scheme["says"] for scheme in listed()["schemes"]}
