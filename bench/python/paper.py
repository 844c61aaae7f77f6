"""A whole paper through a Dask cluster of two workers: the scorecard is the program's, to the last verdict and figure."""

import argparse
import json
import pathlib
import subprocess
import time

from distributed import Client, LocalCluster

import fanin

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def main() -> None:
    """Reproduces it both ways, and says whether they agree."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--program", default=str(ROOT / "target" / "release" / "fanin"))
    arguments.add_argument("--paper", default="m21")
    arguments = arguments.parse_args()
    begun = time.monotonic()
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        client.wait_for_workers(2)
        there = fanin.reproduce(arguments.paper, quick=True, executor=client.get_executor(), cache=False, progress=False)
    took = time.monotonic() - begun
    command = [arguments.program, "reproduce", arguments.paper, "--quick", "--no-cache", "--json"]
    # The exit code also reports a claim that does not hold.
    here = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=False).stdout)
    verdicts = list(there.verdicts.values())
    counts = {verdict: verdicts.count(verdict) for verdict in sorted(set(verdicts))}
    same = there.scorecard["papers"] == here["papers"]
    print(json.dumps({"paper": arguments.paper, "claims": counts, "the_same": same, "seconds": round(took, 1)}))
    if not same:
        raise SystemExit(f"paper: the scorecard of {arguments.paper} is another one through Dask")


if __name__ == "__main__":
    main()
