"""User-defined algorithms: rewritten built-in ones give the same bytes; executors; exceptions."""

import importlib.util
import pathlib
import subprocess
import sys
import textwrap
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import nullcontext
from multiprocessing import get_context

import pytest

import fanin
from fanin.vectors import held

polars = pytest.importorskip("polars")
pytest.importorskip("cloudpickle")

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def load(name):
    """A file beside the tests, which no other process can import."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "python" / "examples" / "laws.py")
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


laws = load("laws_of_ones_own")

SCENARIO = """
schemes = [{schemes}]
[link]
rate = "1 Gbit/s"
delay = "25 us"
[switch]
buffer = "64 KiB"
[tcp]
rto_min = "10 ms"
[workload]
fragment = "64 KiB"
duration = "200 ms"
[sweep]
fan_in = [4, 8, 24]
[run]
seeds = 2
"""


def scenario(*schemes):
    return fanin.Scenario(text=SCENARIO.format(schemes=", ".join(schemes)))


def tables(comparison):
    return {name: polars.DataFrame(comparison.table(name)).write_csv() for name in comparison.tables}


HOUSE = ('{ label = "a", scheme = "newreno" }', '{ label = "b", scheme = "newreno+gss" }')
OWN = (
    '{ label = "a", scheme = "py-newreno" }',
    '{ label = "b", scheme = "py-gentle", tcp.initial_window = 2 }',
)


def test_laws_of_the_house_rewritten_give_the_same_tables_byte_for_byte():
    assert tables(scenario(*HOUSE).compare(cache=False)) == tables(scenario(*OWN).compare())


def test_they_stand_in_any_scheme():
    for with_part in ("{}+m21", "{}+red+ecn", "{}+ictcp", "{}+grants", "{}+gss", "sliding-window+{}"):
        label = '{{ label = "a", scheme = "{}" }}'
        house, own = (scenario(label.format(with_part.format(base))) for base in ("newreno", "py-newreno"))
        if "sliding" in with_part:
            house, own = (s.set("workload.kind", "key_value") for s in (house, own))
        assert tables(house.compare(cache=False)) == tables(own.compare()), with_part


def test_they_answer_the_vectors_of_the_laws_that_they_are():
    assert held(laws.NewReno, ROOT / "vectors" / "newreno.json") >= 10
    assert held(laws.GentleSlowStart, ROOT / "vectors" / "gentle_slow_start.json") >= 10

    class Wrong(laws.NewReno):
        def cut(self, cause, at, mss, window):
            return at.flight

    with pytest.raises(AssertionError, match=r"step \d+: .* cut is \d+, not \d+"):
        held(Wrong, ROOT / "vectors" / "newreno.json")


def test_they_go_to_processes_and_threads_which_know_nothing_of_their_file():
    own = scenario(*OWN)
    here = tables(own.compare())
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        assert tables(own.compare(executor=processes)) == here
    with ThreadPoolExecutor(2) as threads:
        assert tables(own.compare(executor=threads)) == here


def test_a_law_is_what_it_was_last_registered_as_on_workers_too():
    def made(share):
        @fanin.law("py-share")
        class Share(laws.NewReno):
            def cut(self, cause, at, mss, window):
                return max(at.flight // share, 2 * mss)

        return scenario('"py-share"')

    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        there = [tables(made(share).compare(executor=processes)) for share in (2, 8, 2)]
    assert there[0] == there[2] != there[1]
    assert there[1] == tables(made(8).compare())


def test_runs_with_them_are_never_kept(tmp_path):
    for _ in range(2):
        assert scenario(*OWN).compare(cache=tmp_path).cached == 0
    assert scenario(*OWN, '"dctcp"').compare(cache=tmp_path).cached == 0
    assert scenario(*OWN, '"dctcp"').compare(cache=tmp_path).cached == 6


def fails_at(least):
    """Raise in runs with that many servers, recognised by their window."""

    @fanin.law("py-fails")
    class Fails(laws.NewReno):
        def begin(self, start, end, deadline):
            self.sent = end

        cut = lambda self, cause, at, mss, window: max(at.flight // (0 if at.flight > least else 2), 2 * mss)  # noqa: E731

    return scenario('"newreno"', '"py-fails"')


@pytest.mark.parametrize("executor", [lambda _: nullcontext(), ThreadPoolExecutor, ProcessPoolExecutor])
def test_one_that_raises_ends_its_run_with_its_traceback_and_no_other(executor):
    # Fewer servers have larger windows.
    fails = fails_at(40_000)
    with executor(1) as carries, pytest.warns(fanin.CutShortWarning, match=r"py-fails at fan_in \d+ under seed \d: Trace") as told:
        comparison = fails.compare(cache=False, executor=carries)
    done, planned = comparison.finished
    assert planned == 12
    assert 6 < done < 12, "all of the house's, and some of its own"
    assert "ZeroDivisionError: integer division or modulo by zero" in str(told[0].message)
    assert "in <lambda>" in str(told[0].message)
    with pytest.warns(fanin.CutShortWarning, match="Traceback"):
        assert ("fanin.cut_short", f"{done} of 12 runs finished") in comparison.frame().metadata


def test_where_all_runs_fail_the_traceback_is_the_error():
    fails = fails_at(0)
    with pytest.raises(fanin.LawError, match=r"(?s)under seed 1: Traceback.*ZeroDivisionError"):
        fails.run("py-fails", 8)
    with pytest.raises(fanin.LawError, match="ZeroDivisionError"):
        fails.trace("/dev/null", "py-fails", 8)


@pytest.mark.parametrize(
    ("method", "says"),
    [
        ("def grow(self, ack, mss, window): window.cwnd -= 1", "grow left cwnd at .*; use a cwnd that does not shrink"),
        ("def grow(self, ack, mss, window): window.ssthresh = 1", "grow left ssthresh at 1 bytes"),
        ("def grow(self, ack, mss, window): window.cwnd = 2.5", "TypeError"),
        ("def grow(self, ack, mss, window): window.cwnd = -1", "OverflowError"),
        ("def cut(self, cause, at, mss, window): return 1", "cut returned 1; return .* at least two segments"),
        ("def cut(self, cause, at, mss, window): return None", "cut returned None; return"),
        ("def __init__(self, more): pass", "TypeError: .*missing 1 required positional argument"),
    ],
)
def test_what_a_law_may_not_do_is_said(method, says):
    names = {"NewReno": laws.NewReno}
    exec(f"class Wrong(NewReno):\n    {method}", names)
    fanin.law("py-wrong")(names["Wrong"])
    with pytest.raises(fanin.LawError, match=f"(?s){says}"):
        scenario('"py-wrong"').run("py-wrong", 24)


@pytest.mark.parametrize(
    ("name", "made", "says"),
    [
        ("dctcp", laws.NewReno, "`dctcp` is the name of a built-in algorithm"),
        ("m21", laws.NewReno, "`m21` is the name of a built-in algorithm"),
        ("a+b", laws.NewReno, r"`a\+b` is not a valid algorithm name"),
        (7, laws.NewReno, "law: 7 is not a name"),
        ("py-x", lambda ack: ack, "is a function; use a class"),
        ("py-x", type("X", (), {}), r"X has no grow; define grow\(self, ack, mss, window\)"),
        ("py-x", type("X", (fanin.Law,), {"grow": 1}), "X.grow is not a method"),
        ("py-x", type("X", (laws.NewReno,), {"ecn": 1}), "ecn: 1 is a int; use True or False"),
    ],
)
def test_what_is_no_law_is_refused(name, made, says):
    with pytest.raises((TypeError, fanin.AskedError), match=says):
        fanin.law(name)(made)


def test_a_law_that_reacts_to_marks_or_is_delay_based_says_so():
    heard = set()

    @fanin.law("py-marks")
    class Marks(laws.NewReno):
        ecn = True

        def cut(self, cause, at, mss, window):
            heard.add(cause)
            return max(window.cwnd // 2, 2 * mss)

    fanin.Scenario(text=SCENARIO.format(schemes='"py-marks"')).run("py-marks", 8)
    assert "ecn" in heard

    @fanin.law("py-yields")
    class Yields(laws.NewReno):
        is_delay_based = True

        def grow(self, ack, mss, window):
            window.cwnd = max(window.cwnd - 1, 2 * mss)

    assert scenario('"py-yields"').run("py-yields", 8).finished == (1, 1)

    class Former(laws.NewReno):
        gives_way = True
        grow = Yields.grow

    with pytest.warns(FutureWarning, match="gives_way is now is_delay_based"):
        fanin.law("py-former")(Former)
    assert scenario('"py-former"').run("py-former", 8).finished == (1, 1)


def test_what_the_page_shows_runs(monkeypatch):
    page = (ROOT / "docs" / "adding-an-algorithm.md").read_text()
    code = page.split("```python\n")[1].split("```")[0]
    monkeypatch.chdir(ROOT)
    exec(code.replace("s.compare(seeds=3)", 's.sweep("fan_in", [8]).compare(seeds=1, cache=False)'), {})


def test_a_law_that_cannot_travel_says_so():
    held_lock = __import__("threading").Lock()

    @fanin.law("py-stays")
    class Stays(laws.NewReno):
        lock = held_lock

    with ThreadPoolExecutor(1) as threads, pytest.raises(fanin.AskedError, match="cannot send the law py-stays to workers: TypeError"):
        scenario('"py-stays"').compare(executor=threads)


def test_ctrl_c_stops_it_as_any_other():
    code = """
        import os, signal, sys, threading, time
        sys.path.insert(0, sys.argv[1])
        import fanin, laws
        text = 'schemes = ["py-gentle"]\\n[sweep]\\nfan_in = [16]\\n[workload]\\nfragment = "64 KiB"\\nduration = "100000 s"'
        long = fanin.Scenario(text=text)
        sent = []
        def send():
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)
        threading.Timer(1, send).start()
        try:
            long.compare()
        except fanin.Interrupted:
            print(time.monotonic() - sent[0])
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(ROOT / "python" / "examples")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert float(done.stdout) < 10, done
