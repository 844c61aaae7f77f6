"""Scenarios: settings and errors."""

import os
import pathlib

import pytest

import fanin
from fanin.sections import Link, Workload

numpy = pytest.importorskip("numpy")


def told(call):
    with pytest.raises(fanin.ScenarioError) as raised:
        call()
    return raised.value


def test_a_dict_a_text_and_a_file_are_one_scenario(tmp_path, short):
    path = tmp_path / "short.toml"
    path.write_text(short.text)
    settings = {
        "title": "a short one",
        "schemes": ["newreno", "dctcp"],
        "link": Link(rate="1 Gbit/s", delay="25 us"),
        "switch": {"buffer": "64 KiB"},
        "workload": Workload(fragment="64 KiB", duration="200 ms"),
        "sweep": {"fan_in": [2, 8]},
        "run": {"seeds": 2},
    }
    hashes = {s.compare(cache=False).summary["hash"] for s in (fanin.Scenario(settings), short, fanin.Scenario(path))}
    assert len(hashes) == 1


def test_a_scheme_of_a_dict_has_settings_of_its_own():
    settings = {
        "schemes": ["dctcp", {"label": "small", "scheme": "dctcp", "switch": {"buffer": "32 KiB"}, "k": "10 packets"}],
        "workload": {"fragment": "64 KiB", "duration": "50 ms"},
        "sweep": {"fan_in": [4]},
    }
    assert fanin.Scenario(settings).compare(cache=False).schemes == ["dctcp", "small"]


def test_a_threshold_may_be_a_plain_number_of_packets(short):
    written = short.set("ecn_threshold.k", "7 packets").compare(cache=False).summary["hash"]
    for other in (short.set("ecn_threshold.k", 7), fanin.Scenario(text=f"{short.text}[ecn_threshold]\nk = 7\n")):
        assert other.compare(cache=False).summary["hash"] == written
    assert fanin.sections.EcnThreshold(k=7) == {"k": 7}
    with pytest.raises(fanin.ScenarioError, match=r"7\.5 has the wrong form; use a number of packets"):
        short.set("ecn_threshold.k", 7.5)


def test_every_change_gives_a_new_scenario(short):
    other = short.set("switch.buffer", "128 KiB").schemes("dctcp")
    assert short.arguments == []
    assert other.arguments == ["--set", "switch.buffer=128 KiB", "--schemes", "dctcp"]
    assert short.compare(cache=False).schemes == ["newreno", "dctcp"]


def test_an_error_has_file_and_line_and_says_what_would_be_right(tmp_path):
    path = tmp_path / "wrong.toml"
    path.write_text('schemes = ["dctcp"]\n[link]\nrat = "10 Gbit/s"\n')
    error = told(lambda: fanin.Scenario(path))
    assert (error.file, error.line) == (str(path), 3)
    assert "link.rat" in str(error)
    assert "did you mean `link.rate`" in str(error)


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("switch.buffer", "12 parsecs", "switch.buffer"),
        ("switch.buffer", 12, "no unit"),
        ("switch.bufer", "12 KiB", "did you mean `switch.buffer`"),
        ("tcp.sack", "perhaps", "true or false"),
        ("link.rate", {"a": 1}, "link.rate"),
        ("link.rate", None, "use"),
        ("buffer", 1, "unknown key"),
    ],
)
def test_what_cannot_be_set_is_refused_there_and_then(short, key, value, says):
    error = told(lambda: short.set(key, value))
    assert says in str(error)
    assert error.argument is None or key in error.argument


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"sweep": {"fan_in": []}}, "fan_in"),
        ({"sweep": {"fan_in": "8"}}, "sweep: fan_in"),
        ({"sweep": {"tcp.rto_min": ["10 parsecs"]}}, "tcp.rto_min"),
        ({"sweep": [8]}, "sweep"),
        ({"seeds": "5"}, "seeds"),
        ({"seeds": 0}, "seeds"),
        ({"first_seed": 1.5}, "first_seed"),
    ],
)
def test_what_a_comparison_cannot_do_names_the_parameter(short, arguments, says):
    assert says in str(told(lambda: short.compare(**arguments)))


def test_wrong_types_of_how_it_is_run_name_the_parameter(short):
    for arguments, says in [
        ({"jobs": 0}, "jobs"),
        ({"cache": 3}, "cache"),
        ({"executor": 5}, "executor"),
        ({"worker_cache": "x"}, "worker_cache"),
        ({"precision": 2}, "precision"),
    ]:
        with pytest.raises(TypeError, match=says):
            short.compare(**arguments)


@pytest.mark.parametrize(
    ("parameter", "call"),
    [
        ("fan_in", lambda s: s.run("newreno", "8")),
        ("fan_in", lambda s: s.run("newreno", 2.5)),
        ("seed", lambda s: s.run("newreno", 8, -1)),
        ("samples", lambda s: s.run("newreno", 8, samples=5)),
        ("samples", lambda s: s.run("newreno", 8, samples="5 parsecs")),
        ("servers", lambda s: s.run("newreno", 8, samples="1 ms", servers="12")),
        ("servers", lambda s: s.run("newreno", 8, samples="1 ms", servers=[0])),
        ("at", lambda s: s.trace("x.pcapng", "newreno", 4, at=5)),
        ("path", lambda s: s.trace(5, "newreno", 4)),
        ("goal", lambda s: s.advise(5)),
        ("goal", lambda s: s.advise("p99 < 10")),
        ("servers", lambda s: s.advise(servers="8")),
        ("grow_to", lambda s: s.advise(grow_to="8")),
        ("budget", lambda s: s.advise(budget=-1)),
        ("seconds", lambda s: s.advise(seconds="x")),
        ("seconds", lambda s: s.advise(seconds=-1.0)),
        ("remedies", lambda s: s.advise(remedies="dctcp")),
        ("folder", lambda s: s.advise(folder=5)),
        ("onset", lambda s: s.compare(onset="yes")),
        ("progress", lambda s: s.compare(progress="yes")),
        ("gap", lambda s: fanin.plan(["x"], s, gap=3)),
        ("gap", lambda s: fanin.plan(["x"], s, gap="3 parsecs")),
        ("logs", lambda s: fanin.plan("x", s)),
        ("cluster", lambda _: fanin.plan(["x"], "s")),
        ("papers", lambda _: fanin.reproduce(7)),
        ("figure", lambda _: fanin.reproduce("m21", figure=7)),
        ("seeds", lambda _: fanin.reproduce("m21", seeds="x")),
        ("set", lambda _: fanin.reproduce("m21", set="a=b")),
        ("subject", lambda _: fanin.explain(7)),
        ("folder", lambda s: s.compare(cache=False).report(7)),
        ("name", lambda s: s.compare(cache=False).table(7)),
    ],
)
def test_wrong_types_and_units_name_the_parameter_and_what_would_be_right(short, parameter, call):
    with pytest.raises((TypeError, fanin.AskedError), match=rf"(?s)^{parameter}: .*use"):
        call(short)


def test_numpys_numbers_are_numbers_wherever_a_scenario_has_one(short):
    ours = short.set("tcp.initial_window", 4).set("dctcp.g", 0.125).set("tcp.sack", True)
    theirs = short.set("tcp.initial_window", numpy.int64(4)).set("dctcp.g", numpy.float64(0.125)).set("tcp.sack", numpy.bool_(True))
    assert theirs.arguments == ours.arguments
    swept = short.sweep("fan_in", numpy.array([2, 8])).sweep("dctcp.g", numpy.array([0.125, 0.25]))
    assert swept.arguments == ["--sweep", "fan_in=2,8", "--sweep", "dctcp.g=0.125,0.25"]
    settings = {"schemes": ["dctcp"], "tcp": {"initial_window": numpy.uint8(4)}, "sweep": {"fan_in": numpy.array([2, 8])}}
    assert "[2, 8]" in fanin.Scenario(settings).text
    assert "= 4\n" in fanin.Scenario(settings).text


def test_numpys_numbers_are_numbers_wherever_a_call_takes_one(short):
    comparison = short.compare(
        {"fan_in": numpy.array([2])},
        seeds=numpy.int64(1),
        first_seed=numpy.uint32(3),
        onset=numpy.bool_(False),
        precision=numpy.float64(0.5),
        jobs=numpy.int32(1),
        cache=numpy.bool_(False),
        progress=numpy.bool_(False),
    )
    assert comparison._arguments[2:] == ["--sweep", "fan_in=2", "--seeds", "1", "--first-seed", "3", "--precision", "50%"]
    run = short.run("newreno", numpy.int64(2), numpy.int64(1), samples="1 ms", servers=numpy.array([1, 2]), cache=False)
    assert run.result["fan_in"] == 2
    for arguments, says in [({"servers": numpy.int64(0)}, "servers: 0 is too small"), ({"seconds": numpy.float64(-1)}, "seconds: ")]:
        with pytest.raises((TypeError, fanin.AskedError), match=says):
            short.advise(**arguments)
    with pytest.raises(TypeError, match=r"fan_in: 2\.5 is a float; use a whole number"):
        short.run("newreno", numpy.float64(2.5))


def test_a_source_is_one_thing():
    for call in (lambda: fanin.Scenario(), lambda: fanin.Scenario("a", text="b"), lambda: fanin.Scenario(3)):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(fanin.FolderError, match=r"nowhere\.toml"):
        fanin.Scenario("nowhere.toml")


def test_every_scenario_of_the_project_is_read():
    for path in sorted(pathlib.Path("scenarios").glob("*.toml")):
        fanin.Scenario(path).check()


def test_words_are_explained():
    assert fanin.explain("dctcp")["laws"]
    assert "dctcp" in fanin.schemes()
    assert fanin.listed()["switches"]
    with pytest.raises(fanin.AskedError, match=r"unknown subject .*scenario"):
        fanin.explain("nothing-of-the-kind")


def test_keys_complete_as_the_library_has_them():
    keys = {key["key"] for key in fanin.explain("scenario")["keys"]}
    for name in ("Link", "Switch", "Tcp", "Workload", "EcnThreshold", "KeyValue"):
        section = getattr(fanin.sections, name)
        assert section.__annotations__, name
    assert set(fanin.sections.Link.__annotations__) == {k.split(".")[1] for k in keys if k.startswith("link.")}
    assert os.path.exists(os.path.join(os.path.dirname(fanin.__file__), "py.typed"))


def test_every_key_has_the_same_effect_by_every_way():
    """A dict, a text, `set` and `sweep`; values are the defaults and others of several forms."""
    base = {"workload": {"fragment": "1 KiB"}, "sweep": {"fan_in": [4]}}
    values = ["none", "true", "2", "3 ms", "20 KB", "7 Gbit/s", "linux", "off"]

    def hashed(make):
        try:
            return make()._native.hash()
        except fanin.ScenarioError:
            return None

    tried = 0
    for key in fanin.explain("scenario")["keys"]:
        section, name = key["key"].split(".")
        if section in ("sweep", "run") or key["key"] == "workload.fan_in":
            continue
        for value in values:
            plain = value == "true" or value.isdigit()
            typed = True if value == "true" else int(value) if plain else value
            settings = {**base, "schemes": ["cubic"], section: {**base.get(section, {}), name: typed}}
            expected = hashed(lambda settings=settings: fanin.Scenario(settings))
            if expected is None:
                continue
            other = fanin.Scenario({**base, "schemes": ["cubic"]})
            assert hashed(lambda args=(other, key["key"], typed): args[0].set(*args[1:])) == expected, f"{key['key']} = {value}"
            tried += 1
    assert tried > 200, tried
