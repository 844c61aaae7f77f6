"""A real Dask cluster: workers are killed, the scheduler's connection is cut, and the program's `--on`."""

import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import pytest

import fanin

polars = pytest.importorskip("polars")
distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as client:
        client.wait_for_workers(3)
        yield client


@pytest.fixture
def sweep(short):
    return short.set("workload.duration", "1 s").set("run.seeds", 10).sweep("fan_in", [4, 16, 64])


def frames(comparison):
    return [polars.DataFrame(comparison.table(name)) for name in ("summary", "flows", "queries", "ports")]


def same(one, other):
    assert all(a.equals(b) for a, b in zip(frames(one), frames(other), strict=True))


def kill(client, after_s):
    pids = list(client.run(os.getpid).values())
    timer = threading.Timer(after_s, lambda: os.kill(pids[0], signal.SIGKILL))
    timer.start()
    return timer


def test_a_killed_worker_changes_nothing(client, sweep):
    here = sweep.compare(cache=False)
    for after_s in (0.1, 0.6):
        client.wait_for_workers(3)
        timer = kill(client, after_s)
        same(here, sweep.compare(executor=client.get_executor(), cache=False))
        timer.join()


def test_a_cut_connection_changes_nothing(client, sweep):
    here = sweep.compare(cache=False)
    timer = threading.Timer(0.5, lambda: client.loop.add_callback(client.scheduler_comm.comm.abort))
    timer.start()
    there = sweep.compare(executor=client.get_executor(), cache=False)
    timer.join()
    same(here, there)


def test_nothing_is_left_on_the_scheduler(client, sweep):
    sweep.compare(executor=client.get_executor(), cache=False)
    for _ in range(1_200):
        left = client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))
        if not left:
            break
        time.sleep(0.1)
    assert left == 0


def test_a_client_is_told_how_it_is_meant(client, short):
    with pytest.raises(TypeError, match=r"executor=client\.get_executor\(\)"):
        short.compare(executor=client)


def test_a_scheduler_that_is_gone_for_good_ends_with_what_is_done(short):
    long = short.set("workload.duration", "3 s").set("run.seeds", 20)
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        client = distributed.Client(cluster, timeout="2s")
        client.wait_for_workers(1)
        threading.Timer(1.5, client.close).start()
        with pytest.warns(fanin.CutShortWarning):
            there = long.compare({"fan_in": [8, 32]}, executor=client.get_executor(), cache=False)
    done, planned = there.finished
    assert 0 < done < planned


def on(program, cluster, path, *arguments):
    bin_folder = str(pathlib.Path(sys.executable).parent)
    environment = {**os.environ, "PATH": bin_folder + os.pathsep + os.environ["PATH"]}
    there = [] if cluster is None else ["--on", cluster]
    command = [program, "compare", str(path), "--no-cache", *there, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)


def test_the_program_carries_runs_over_a_cluster(client, cluster, program, sweep, tmp_path):
    path = tmp_path / "short.toml"
    path.write_text(sweep.text)
    done = on(program, cluster.scheduler_address, path, "--out", str(tmp_path / "there"))
    assert done.returncode == 0, done.stderr
    here = on(program, None, path, "--out", str(tmp_path / "here"))
    assert done.stdout == here.stdout
    for file in (tmp_path / "here").iterdir():
        if file.name != "manifest.json":
            assert file.read_bytes() == (tmp_path / "there" / file.name).read_bytes(), file.name


def test_the_program_says_what_is_wrong_with_a_cluster(program, sweep, tmp_path):
    path = tmp_path / "short.toml"
    path.write_text(sweep.text)
    done = on(program, "tcp://127.0.0.1:9", path)
    assert done.returncode == 3
    assert "no response from a scheduler" in done.stderr
    environment = {**os.environ, "PATH": "/usr/bin:/bin"}
    command = [program, "compare", str(path), "--on", "tcp://127.0.0.1:9"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if "No module named" in done.stderr or "cannot be started" in done.stderr:
        assert "pip install fanin" in done.stderr.replace("\n", " ")
        assert done.returncode == 3
