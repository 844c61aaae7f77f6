"""Cost of an algorithm in Python relative to Rust, on work B (barrier reads from 8 servers): CPU time per data packet, the two in
turn; the result is the median ratio."""

import json
import pathlib
import statistics
import sys

import fanin

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python" / "examples"))
import laws  # noqa: E402, F401 - it registers them

TURNS = 3
MOST = 60
PAIRS = {"newreno": "py-newreno", "newreno+gss": "py-gentle"}


def microseconds_a_packet(scheme: str, duration: str) -> float:
    """Processors' time of a run, by its data packets."""
    scenario = fanin.Scenario(ROOT / "scenarios" / "bench-barrier.toml").set("workload.duration", duration)
    scenario = scenario.set("tcp.initial_window", 2).schemes(scheme).sweep("fan_in", [8])
    summary = scenario.compare(seeds=1, jobs=1, cache=False, progress=False).summary
    return summary["engine"]["cpu_s"] * 1e6 / sum(row["data_packets"] for row in summary["rows"])


def main() -> None:
    """Measures, prints, and says whether it holds."""
    figures = {}
    for house, own in PAIRS.items():
        turns = [(microseconds_a_packet(house, "20 s"), microseconds_a_packet(own, "2 s")) for _ in range(TURNS)]
        times = statistics.median(there / here for here, there in turns)
        (here, there) = (statistics.median(column) for column in zip(*turns, strict=True))
        figures[own] = {"us_a_packet": round(there, 3), "in_rust": round(here, 3), "times": round(times, 1)}
    print(json.dumps(figures))
    if any(of["times"] > MOST for of in figures.values()):
        raise SystemExit(f"laws: at most {MOST} times as slow as in Rust is wanted")


if __name__ == "__main__":
    main()
