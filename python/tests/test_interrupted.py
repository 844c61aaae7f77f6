"""Ctrl-C, other threads, and progress."""

import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import fanin

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


# Runs that end at once, and others that do not end.
MIXED = {"workload.duration": ["1 ms", "100000 s"]}


@pytest.fixture
def long(short):
    return short.set("workload.duration", "3 s").set("run.seeds", 20)


def interrupted(call, after_s):
    """The exception, and how long after the signal it was raised."""
    sent = []

    def send():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Timer(after_s, send).start()
    with pytest.raises(KeyboardInterrupt) as raised:
        call()
    return raised.value, time.monotonic() - sent[0]


def test_ctrl_c_stops_within_100_ms_and_keeps_what_is_done(long):
    late = []
    for _ in range(3):
        error, took = interrupted(lambda: long.compare(MIXED, cache=False), 1.5)
        done, planned = error.comparison.finished
        assert isinstance(error, fanin.Interrupted)
        assert 0 < done < planned
        with pytest.warns(fanin.CutShortWarning, match="stopped by Ctrl-C"):
            assert len(error.comparison.frame()) > 0
        assert "cut short" in repr(error.comparison)
        late.append(took)
    # A delay by a busy machine does not count.
    assert sorted(late)[0] < 0.1, late


def test_ctrl_c_stops_what_an_executor_carries(long):
    with ThreadPoolExecutor(2) as threads:
        error, took = interrupted(lambda: long.compare(MIXED, executor=threads, cache=False), 1.5)
    done, planned = error.comparison.finished
    assert 0 < done < planned
    # Without the signal it would not end.
    assert took < 10


def test_what_was_done_is_kept(long):
    error, _ = interrupted(lambda: long.compare(MIXED), 1.5)
    done = error.comparison.finished[0]
    again, _ = interrupted(lambda: long.compare(MIXED), 1.0)
    assert again.comparison.cached >= done


def test_a_handler_that_raises_ends_it_with_its_own_error(long):
    def handler(*_):
        raise TimeoutError("time is over")

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        with pytest.raises(TimeoutError, match="time is over"):
            long.compare(cache=False)
    finally:
        signal.signal(signal.SIGALRM, before)


def test_the_lock_is_free_while_runs_go_on(long):
    counted, going = [0], [True]

    def count():
        while going[0]:
            counted[0] += 1
            time.sleep(0.001)

    counter = threading.Thread(target=count)
    counter.start()
    long.compare({"fan_in": [32]}, seeds=4, jobs=1, cache=False)
    going[0] = False
    counter.join()
    assert counted[0] > 50


def test_it_may_be_called_from_several_threads_at_once(short):
    with ThreadPoolExecutor(4) as threads:
        done = [threads.submit(short.compare, cache=False) for _ in range(8)]
        assert len({repr(future.result()) for future in done}) == 1


def script(text, *flags):
    program = textwrap.dedent(text)
    return subprocess.run([sys.executable, *flags, "-c", program], capture_output=True, text=True, cwd=ROOT, timeout=120)


def test_a_script_says_nothing_by_itself_and_progress_can_be_asked_for(short):
    text = f"""
        import fanin
        s = fanin.Scenario(text={short.text!r})
        c = s.set("workload.duration", "4 s").compare(cache=False, progress=ASKED)
    """
    quiet = script(text.replace("ASKED", "None"))
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")
    pytest.importorskip("tqdm")
    assert "run" in script(text.replace("ASKED", "True")).stderr
