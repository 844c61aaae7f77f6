"""Tests of a user-defined algorithm against vectors, such as `vectors/newreno.json`."""

from __future__ import annotations

import json
import os
from typing import Any

from fanin._fanin import Ack, Congestion, Window

US = 1_000_000


class Flow:
    """An algorithm's object and its window, driven by a file's steps."""

    def __init__(self, made: type[Any], case: dict[str, Any]) -> None:
        self.law = made()
        self.mss = case["settings"]["mss"]
        self.window = Window(**case["start"])
        self.una = 1
        self.gave: int | None = None

    def step(self, step: dict[str, Any]) -> None:
        """Apply one input."""
        self.gave = None
        if "ack" in step:
            ack = self._ack(step["ack"])
            self._tell("observe", ack)
            self.law.grow(ack, self.mss, self.window)
        elif "observe" in step:
            self._tell("observe", self._ack(step["observe"]))
        elif "cut" in step:
            times = {"now": US * step.get("now_us", 0), "srtt": US * step.get("srtt_us", 0)}
            at = Congestion(step.get("flight", 0), self.una, **times)
            self.gave = self.law.cut(step["cut"], at, self.mss, self.window)
        elif "begin" in step:
            deadline = US * step["deadline_us"] if "deadline_us" in step else None
            self._tell("begin", self.una, self.una + step["begin"], deadline)
        elif "sample_us" in step:
            self._tell("sample", US * step["sample_us"])
        elif "set" in step:
            self.window = Window(**step["set"])
        else:
            raise ValueError(f"unknown step: {step}")

    def shows(self, name: str) -> Any:
        """The value of this name: from the window, the result of `cut`, else the object's attribute."""
        return {"cwnd": self.window.cwnd, "usable": self.window.cwnd, "cut": self.gave}.get(name, getattr(self.law, name, None))

    def _tell(self, method: str, *what: Any) -> None:
        getattr(self.law, method, lambda *_: None)(*what)

    def _ack(self, ack: dict[str, Any]) -> Ack:
        self.una = ack.get("una", self.una + ack.get("acked", 0))
        rtt = US * ack["rtt_us"] if "rtt_us" in ack else None
        times = {"now": US * ack.get("now_us", 0), "srtt": US * ack.get("srtt_us", 0)}
        return Ack(ack.get("acked", 0), self.una, ack.get("nxt", self.una), ece=ack.get("ece", False), rtt=rtt, **times)


def held(made: type[Any], path: str | os.PathLike[str]) -> int:
    """Replay a file of vectors against a class and return the number of checked values. A wrong value raises an `AssertionError`.

    A class has no settings: cases that set anything but `mss` are for a variant of the built-in algorithm and are skipped.
    """
    with open(path, encoding="utf-8") as file:
        vectors = json.load(file)
    checked = 0
    for case in (case for case in vectors["cases"] if case["settings"].keys() == {"mss"}):
        flow = Flow(made, case)
        for number, step in enumerate(case["steps"], 1):
            flow.step(step)
            for name, wanted in step.get("expect", {}).items():
                found, near = flow.shows(name), vectors.get("tolerance", {}).get(name, {})
                within = max(near.get("absolute", 0), near.get("relative", 0) * abs(wanted or 0))
                right = found == wanted if found is None or wanted is None else abs(found - wanted) <= within
                if not right:
                    raise AssertionError(f"{case['name']}, step {number}: {step}: {name} is {found}, not {wanted}")
                checked += 1
    return checked
