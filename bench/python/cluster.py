"""5,000 short runs, of five milliseconds each, on a real Dask scheduler with two workers, beside the program on two threads: runs a second,
the overhead of a run, and what the scheduler's memory does. The two take turns; of the ratios the middle one counts.

Dask's processes tick while nothing is done, too: the longer a busy machine takes, the more of that there is, so that processors' time is
told with it and without."""

import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import tempfile
import time

import fanin

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TEXT = """
schemes = ["newreno", "cubic"]
[link]
rate = "10 Gbit/s"
delay = "5 us"
[host]
packet_jitter = "transmission"
[tcp]
rto_min = "10 ms"
[workload]
fragment = "16 KiB"
duration = "100 ms"
[sweep]
fan_in = [2, 4, 8, 12, 16, 24, 32, 40, 48, 64]
"switch.buffer" = ["16 KiB", "32 KiB", "64 KiB", "128 KiB", "256 KiB"]
[run]
seeds = 50
"""
RUNS = 5000
LEAST = 0.85
MOST_OVERHEAD_S = 1e-3


def of_the_program(program: str, text: str) -> tuple[float, float]:
    """Seconds that the program takes on two threads: of the clock, and of the processor."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "short.toml")
        path.write_text(text)
        begun = time.perf_counter()
        subprocess.run([program, "compare", path, "--jobs", "2", "--no-cache", "--json"], check=True, stdout=subprocess.DEVNULL)
        took = time.perf_counter() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def spent(client) -> float:
    """Processors' time of a cluster so far. The scheduler is in this process, as the client is."""
    return time.process_time() + sum(client.run(time.process_time).values())


def ticking(client, seconds: float = 5.0) -> float:
    """Processors' time that a cluster takes in a second in which nothing is done."""
    before = spent(client)
    time.sleep(seconds)
    return (spent(client) - before) / seconds


def of_dask(client, text: str) -> tuple[float, float, list[int]]:
    """Seconds that a cluster takes, of the clock and of all its processors, and the scheduler's memory before and after."""

    def memory(dask_scheduler) -> int:
        return dask_scheduler.monitor.proc.memory_info().rss

    before, spent_before = client.run_on_scheduler(memory), spent(client)
    begun = time.perf_counter()
    comparison = fanin.Scenario(text=text).compare(executor=client.get_executor(), cache=False, progress=False)
    took = time.perf_counter() - begun
    assert comparison.finished == (RUNS, RUNS), comparison.finished
    return took, spent(client) - spent_before, [before, client.run_on_scheduler(memory)]


def main() -> None:
    """Measures, prints, and says whether it holds."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--program", default=str(ROOT / "target" / "release" / "fanin"))
    arguments.add_argument("--turns", type=int, default=3)
    arguments.add_argument("--duration", default="100 ms", help="of a run, simulated: 10 ms take half a millisecond")
    arguments = arguments.parse_args()
    text = TEXT.replace("100 ms", arguments.duration)
    from dask.distributed import Client, LocalCluster

    ratios, of_processors, without_ticks, overheads, memories = [], [], [], [], []
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        client.wait_for_workers(2)
        of_dask(client, text)
        ticks = ticking(client)
        for _ in range(arguments.turns):
            (program, program_cpu), (dask, dask_cpu, memory) = of_the_program(arguments.program, text), of_dask(client, text)
            ratios.append(program / dask)
            of_processors.append(program_cpu / dask_cpu)
            without_ticks.append(program_cpu / (dask_cpu - ticks * dask))
            overheads.append((dask_cpu - ticks * dask - program_cpu) / RUNS)
            memories += memory
    figures = {
        "runs": RUNS,
        "ratio": round(statistics.median(ratios), 3),
        "ratios": [round(ratio, 3) for ratio in ratios],
        "overhead_of_a_run_ms": round(statistics.median(overheads) * 1e3, 3),
        "scheduler_mb": [round(bytes / 1e6, 1) for bytes in memories],
        "ratio_of_processor_time": round(statistics.median(of_processors), 3),
        "without_ticks": round(statistics.median(without_ticks), 3),
        "ticks_of_a_core": round(ticks, 3),
        "cores": os.cpu_count(),
    }
    print(json.dumps(figures))
    if figures["ratio"] < LEAST or figures["overhead_of_a_run_ms"] > MOST_OVERHEAD_S * 1e3:
        raise SystemExit(f"cluster: at least {LEAST} of the program's runs a second, and under 1 ms a run, are wanted")


if __name__ == "__main__":
    main()
