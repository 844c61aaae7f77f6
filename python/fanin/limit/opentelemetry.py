"""Figures of a limit as instruments of an OpenTelemetry meter.

>>> fanin.limit.opentelemetry.observe(limit, opentelemetry.metrics.get_meter("program"))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from opentelemetry.metrics import CallbackOptions, Meter, Observation

from fanin.limit import Limit


def observe(limit: Limit, meter: Meter) -> None:
    """Add the metrics of `limit.prometheus()` to a meter, without `_total`, which exporters to Prometheus add."""
    for place, (name, is_counter, help, _) in enumerate(limit.metrics()):
        create = meter.create_observable_counter if is_counter else meter.create_observable_gauge
        create(f"fanin_limit_{name.removesuffix('_total')}", callbacks=[_value(limit, place)], description=help)


def _value(limit: Limit, place: int) -> Callable[[CallbackOptions], Iterable[Observation]]:
    return lambda _: [Observation(limit.metrics()[place][3])]
