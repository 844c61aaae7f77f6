"""From `import` to a first figure of `fixed-fragment`, a notebook's page, beside the program that writes its report: seconds of the clock
and of processors, each in a fresh process, the two in turn; of the differences the middle one counts."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCENARIO = "scenarios/fixed-fragment.toml"
CODE = f"import fanin; assert 'svg' in fanin.Scenario('{SCENARIO}').compare(cache=False)._repr_html_()"
MOST_S = 5.0


def seconds(command: list[str]) -> tuple[float, float]:
    """Of the clock, and of processors."""
    before, begun = os.times(), time.perf_counter()
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    took, after = time.perf_counter() - begun, os.times()
    return took, after.children_user + after.children_system - before.children_user - before.children_system


def main() -> None:
    """Measures, prints, and says whether it holds."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--program", default=str(ROOT / "target" / "release" / "fanin"))
    arguments.add_argument("--turns", type=int, default=3)
    arguments = arguments.parse_args()
    more, more_cpu = [], []
    for _ in range(arguments.turns):
        with tempfile.TemporaryDirectory() as folder:
            there = seconds([arguments.program, "compare", SCENARIO, "--no-cache", "--out", str(pathlib.Path(folder, "out"))])
        here = seconds([sys.executable, "-c", CODE])
        more.append(here[0] - there[0])
        more_cpu.append(here[1] - there[1])
    figures = {
        "more_s": round(statistics.median(more), 2),
        "more_of_processors_s": round(statistics.median(more_cpu), 2),
        "the_program_takes_s": round(there[0], 2),
    }
    print(json.dumps(figures))
    if figures["more_s"] > MOST_S:
        raise SystemExit(f"first: at most {MOST_S} s more than the program are wanted")


if __name__ == "__main__":
    main()
