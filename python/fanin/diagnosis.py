"""Diagnosis of captures and counters of a machine."""

from __future__ import annotations

import html
import json
import os
from typing import Any

from fanin import _fanin, given
from fanin.errors import AskedError
from fanin.means import means
from fanin.scenario import Scenario

PathOf = str | os.PathLike[str]


class Diagnosis:
    """A diagnosis. Notebooks show rounds over time and the slowest one server by server; terminals show a sentence."""

    def __init__(self, native: _fanin.Diagnosed) -> None:
        self._native = native

    @property
    def found(self) -> dict[str, Any]:
        """The output of `fanin diagnose --json`: verdict, rounds and causes of delays, the path to the client, hosts."""
        found: dict[str, Any] = json.loads(self._native.json())
        return found

    @property
    def scenario(self) -> Scenario:
        """A matching scenario to compare and to get advice for; raises an error if there is no round to derive it from."""
        text = self._native.scenario()
        if text is None:
            raise AskedError("the input has no round with several servers, so no scenario can be made")
        return Scenario(text=text, name="scenario.toml")

    def report(self, folder: PathOf) -> None:
        """Write the scenario, the page and `diagnosis.json` into a new or empty folder."""
        self._native.write(given.path("folder", folder))

    def __repr__(self) -> str:
        return self._native.says()

    def _repr_html_(self) -> str:
        page = html.escape(self._native.page(), quote=True)
        return f'<iframe srcdoc="{page}" style="width: 100%; height: 60em; border: 0"></iframe>'


def diagnose(*inputs: PathOf) -> Diagnosis:
    """Diagnose captures (pcap, pcapng, gzip or zstd) and counters, such as those of `fanin record`."""
    paths = given.several("inputs", inputs, (str, os.PathLike), '"client.pcap.gz", "nstat.txt"')
    with means(1, False, progress=False) as how:
        return Diagnosis(_fanin.diagnose(how, [os.fspath(path) for path in paths]))
