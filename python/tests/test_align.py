"""bench/linux/align.py: the first difference between a round of a kernel and one of fanin."""

import importlib.util
import pathlib
import types

import pytest

FILE = pathlib.Path(__file__).resolve().parents[2] / "bench/linux/align.py"
MS, US, SIZE = 1_000_000, 1_000, 1448


def loaded():
    spec = importlib.util.spec_from_file_location("align", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


align = loaded()


def of(*packets):
    """A server's segments after a request at 10 us: data as (us, segment), ACKs as (us, "ack", segments)."""
    segments = [(10 * US, False, types.SimpleNamespace(seq=7, ack=100, size=4))]
    for at, *what in packets:
        if what[0] == "ack":
            segments.append((at * US, False, types.SimpleNamespace(seq=11, ack=100 + SIZE * what[1], size=0)))
        else:
            segments.append((at * US, True, types.SimpleNamespace(seq=100 + SIZE * what[0], ack=11, size=SIZE)))
    return align.rounds_of({0: segments})[0][0]


SENT = [(11, 0), (12, 1), (15, "ack", 2), (16, 2), (17, 3)]


def difference(kernel, fanin):
    return align.first_of(0, (of(*kernel), of(*fanin)), 5 * US)


def test_equal_rounds_differ_in_nothing():
    assert difference(SENT, [(at + 1, *what) for at, *what in SENT]) is None


@pytest.mark.parametrize(
    ("kind", "kernel", "fanin"),
    [
        ("window", SENT, [*SENT[:3], (16, 2), (40, 3)]),
        ("window", SENT, SENT[:4]),
        ("ack", SENT, [*SENT[:2], (15, "ack", 1), *SENT[3:]]),
        ("start", SENT, [(at + 20, *what) for at, *what in SENT]),
        ("loss", [*SENT, (30, 2)], SENT),
        ("timer", [*SENT, (8_000, 3)], [*SENT, (12_000, 3)]),
        ("mark", [*SENT, (30, 2), (31, 3)], [*SENT, (30, 3), (31, 2)]),
    ],
)
def test_names_the_first_difference(kind, kernel, fanin):
    found = difference(kernel, fanin)
    assert found.kind == kind, found
    assert found.says.startswith("kernel ")


def test_says_how_much_was_out():
    assert difference(SENT, [*SENT[:3], (16, 2), (40, 3)]).says == (
        "kernel 1448 B from 4344 at 7.0 us with 1448 B out; fanin 1448 B from 4344 at 30.0 us with 1448 B out"
    )
