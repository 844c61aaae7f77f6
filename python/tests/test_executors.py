"""Runs over executors give the same bytes, whatever happens to workers."""

import os
import signal
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import pytest

import fanin
from fanin import _fanin

polars = pytest.importorskip("polars")


def same(one, other):
    for name in ("summary", "flows", "queries", "ports"):
        assert polars.DataFrame(one.table(name)).equals(polars.DataFrame(other.table(name))), name


def pool(workers=2):
    return ProcessPoolExecutor(workers, mp_context=get_context("spawn"))


class Faulty(Executor):
    """Threads whose work a function may discard, by number."""

    def __init__(self, fault):
        self.fault, self.handed, self.held = fault, [], []
        self.threads = ThreadPoolExecutor(2)
        self._max_workers = 2

    def submit(self, work, *arguments):
        number = len(self.handed)
        self.handed.append(arguments)
        fault = self.fault(number)
        if fault is None:
            return self.threads.submit(work, *arguments)
        future = Future()
        if fault == "cancelled":
            future.cancel()
            future.set_running_or_notify_cancel()
        elif isinstance(fault, bytes):
            future.set_result(fault)
        else:
            future.set_exception(fault)
        return future


@pytest.fixture
def wide(short):
    return short.set("run.seeds", 12)


def test_threads_and_processes_give_what_the_library_gives(wide):
    here = wide.compare(cache=False)
    with ThreadPoolExecutor(2) as threads:
        same(here, wide.compare(executor=threads, cache=False))
    with pool() as processes:
        same(here, wide.compare(executor=processes, cache=False))


def test_what_is_cancelled_or_lost_is_handed_in_again(wide):
    here = wide.compare(cache=False)
    for fault in ("cancelled", ConnectionError("cut"), b"what is this", TimeoutError()):
        faulty = Faulty(lambda number, fault=fault: fault if number < 4 else None)
        there = wide.compare(executor=faulty, cache=False)
        same(here, there)
        assert there.finished[0] == there.finished[1]


def test_a_run_that_is_lost_three_times_is_named_and_the_others_are_there(short):
    def fault(number):
        return OSError("a worker was killed") if number >= 3 else None

    with pytest.warns(fanin.CutShortWarning, match="3 times and lost each time: OSError: a worker was killed"):
        there = short.set("run.seeds", 30).compare({"fan_in": [2, 4, 8, 64]}, executor=Faulty(fault), cache=False)
    done, planned = there.finished
    assert 0 < done < planned
    assert any("under seed" in warning for warning in there.warnings)
    with pytest.warns(fanin.CutShortWarning):
        table = there.frame()
    assert ("fanin.cut_short", f"{done} of {planned} runs finished") in table.metadata


def test_a_worker_of_another_engine_is_refused_and_both_are_named(short):
    answer = _fanin.work(b"fanin-e\x01\x01x")
    assert _fanin.engine().encode() in answer
    other = answer.replace(_fanin.engine().encode(), b"0123456789abcdef")
    with pytest.raises(fanin.ExecutorError, match=f"0123456789abcdef, not {_fanin.engine()} as here"):
        short.compare(executor=Faulty(lambda _: other), cache=False)


def test_a_worker_without_the_package_says_what_to_install(short):
    fault = ModuleNotFoundError("No module named 'fanin'")
    with pytest.raises(fanin.ExecutorError, match="install fanin on every worker"):
        short.compare(executor=Faulty(lambda _: fault), cache=False)


def test_an_executor_that_is_shut_down_is_an_error(short):
    threads = ThreadPoolExecutor(1)
    threads.shutdown()
    with pytest.raises(fanin.ExecutorError, match="cannot schedule new futures after shutdown"):
        short.compare(executor=threads, cache=False)


class Mortal(ProcessPoolExecutor):
    """Processes of which one is killed after N submitted batches."""

    def __init__(self, after):
        super().__init__(2, mp_context=get_context("spawn"))
        self.left = after

    def submit(self, *arguments):
        self.left -= 1
        if self.left == 0:
            os.kill(next(iter(self._processes)), signal.SIGKILL)
        return super().submit(*arguments)


def test_a_broken_pool_ends_with_what_is_done(wide):
    long = wide.set("workload.duration", "2 s")
    with Mortal(7) as processes, pytest.warns(fanin.CutShortWarning, match="accepts no more runs: BrokenProcessPool"):
        there = long.compare({"fan_in": [8, 16, 32]}, executor=processes, cache=False)
    done, planned = there.finished
    assert 0 < done < planned


def test_a_broken_pool_is_made_again_where_a_function_makes_it(wide):
    long, made = wide.set("workload.duration", "2 s"), []

    def make():
        made.append(pool() if made else Mortal(7))
        return made[-1]

    there = long.compare({"fan_in": [8, 16, 32]}, executor=make, cache=False)
    assert len(made) == 2
    same(long.compare({"fan_in": [8, 16, 32]}, cache=False), there)


def test_the_cache_is_asked_here_first_and_workers_have_a_folder(short, tmp_path):
    short.compare()
    nobody = Faulty(lambda _: AssertionError("nothing is handed in"))
    assert short.compare(executor=nobody).cached == 8
    assert nobody.handed == []
    there = tmp_path / "there"
    with ThreadPoolExecutor(1) as threads:
        assert short.compare(executor=threads, cache=False, worker_cache=there).cached == 0
        assert short.compare(executor=threads, cache=False, worker_cache=there).cached == 8


def test_no_future_is_held_once_it_is_read(wide):
    import gc
    import weakref

    alive = []

    class Counting(Faulty):
        def submit(self, work, *arguments):
            future = super().submit(work, *arguments)
            self.held.append(weakref.ref(future))
            gc.collect()
            alive.append(sum(held() is not None for held in self.held))
            return future

    counting = Counting(lambda _: None)
    wide.compare({"fan_in": [8, 32, 64]}, seeds=200, executor=counting, cache=False)
    assert len(alive) >= 8
    assert max(alive) <= 8


def test_papers_advice_and_planners_go_the_same_way(short, tmp_path):
    with ThreadPoolExecutor(2) as threads:
        one = short.compare({"fan_in": [2, 8, 32, 64]}, onset=True, executor=threads, cache=False)
        same(short.compare({"fan_in": [2, 8, 32, 64]}, onset=True, cache=False), one)
        asked = {"budget": 1_000_000, "remedies": ["rto-min"], "cache": False}
        assert short.advise(executor=threads, **asked) == short.advise(**asked)
        by_threads = fanin.reproduce("m21", figure="M-4", quick=True, executor=threads, cache=tmp_path / "a")
    here = fanin.reproduce("m21", figure="M-4", quick=True, cache=tmp_path / "b")
    assert by_threads.scorecard["papers"] == here.scorecard["papers"]
