"""The package writes the same bytes as the program."""

import json
import pathlib
import subprocess

import pytest

import fanin

SHORTER = {
    "fixed-fragment": (["newreno", "dctcp", "newreno+m21"], {"workload.duration": "300 ms"}, {"fan_in": [4, 32]}),
    "fixed-block": (["newreno", "dctcp"], {"workload.duration": "300 ms"}, {"fan_in": [4, 32]}),
    "two-racks": ([], {"workload.duration": "200 ms"}, None),
    "web-search": ([], {"workload.duration": "200 ms"}, None),
    "poisson-web-search": ([], {"workload.duration": "20 ms"}, None),
    "incast-with-background": ([], {"workload.duration": "200 ms"}, None),
    "clients": ([], {"workload.duration": "100 ms"}, None),
    "bursts": ([], {"workload.duration": "100 ms"}, None),
    "all-reduce": (["newreno", "dctcp"], {"workload.fragment": "1 MB", "workload.queries": 1}, None),
    "shared-memory": ([], {"workload.duration": "100 ms"}, None),
    "bench-barrier": ([], {"workload.duration": "50 ms"}, None),
}


def files(folder):
    return {path.name: path.read_bytes() for path in sorted(pathlib.Path(folder).iterdir())}


@pytest.mark.parametrize("name", SHORTER)
def test_every_file_of_a_comparison_is_the_programs(name, program, tmp_path):
    schemes, settings, sweep = SHORTER[name]
    scenario = fanin.Scenario(f"scenarios/{name}.toml")
    for key, value in settings.items():
        scenario = scenario.set(key, value)
    scenario = scenario.schemes(*schemes) if schemes else scenario
    comparison = scenario.compare(sweep, seeds=2, cache=False)
    comparison.report(tmp_path / "package")
    arguments = [*comparison._arguments, "--no-cache", "--json", "--out", str(tmp_path / "program")]
    # Schemes come after the other settings there too: the order does not matter.
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=True)
    ours, theirs = files(tmp_path / "package"), files(tmp_path / "program")
    manifests = [json.loads(found.pop("manifest.json")) for found in (ours, theirs)]
    assert ours == theirs
    assert len(ours) >= 11
    for manifest in manifests:
        manifest["arguments"] = []
    assert manifests[0] == manifests[1]
    summary, printed = comparison.summary, json.loads(done.stdout)
    summary.pop("engine"), printed.pop("engine")
    assert summary == printed


def test_one_run_is_the_programs_with_what_was_watched_in_it(program, tmp_path):
    scenario = fanin.Scenario("scenarios/fixed-fragment.toml").set("workload.duration", "100 ms")
    run = scenario.run("dctcp", 8, 3, samples="1 ms", cache=False)
    run.report(tmp_path / "package")
    arguments = [*run._arguments, "--no-cache", "--json", "--out", str(tmp_path / "program")]
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=True)
    ours, theirs = files(tmp_path / "package"), files(tmp_path / "program")
    ours.pop("manifest.json"), theirs.pop("manifest.json")
    assert ours == theirs
    assert "samples.csv" in ours
    printed = json.loads(done.stdout)
    result = run.result
    result.pop("engine"), printed.pop("engine")
    assert result == printed
    assert len(run.table("samples")) > 10


def test_packets_are_the_programs(program, tmp_path):
    scenario = fanin.Scenario("scenarios/fixed-fragment.toml").set("workload.duration", "20 ms")
    packets = scenario.trace(tmp_path / "package.pcapng", "newreno", 4)
    out = ["--out", str(tmp_path / "program.pcapng")]
    arguments = ["--scheme", "newreno", "--fan-in", "4", "--set", "workload.duration=20 ms", *out]
    subprocess.run([program, "trace", "scenarios/fixed-fragment.toml", *arguments], check=True, capture_output=True)
    assert packets > 100
    assert (tmp_path / "package.pcapng").read_bytes() == (tmp_path / "program.pcapng").read_bytes()
    with pytest.raises(fanin.AskedError, match="server1 to"):
        scenario.trace(tmp_path / "x", "newreno", 4, at="server9")


def test_advice_and_a_plan_are_the_programs(program, tmp_path):
    file = "scenarios/five-cures.toml"
    advice = fanin.Scenario(file).advise(budget=2_000_000, remedies=["rto-min", "dctcp"], cache=False)
    arguments = ["--budget", "2M", "--remedies", "rto-min,dctcp", "--no-cache", "--json"]
    done = subprocess.run([program, "advise", file, *arguments], check=True, capture_output=True, text=True)
    assert advice == json.loads(done.stdout)
    subprocess.run([program, "plan", "--demo", str(tmp_path / "demo")], check=True, capture_output=True)
    log, cluster = tmp_path / "demo" / "log.csv", tmp_path / "demo" / "cluster.toml"
    done = subprocess.run([program, "plan", log, "--cluster", cluster, "--json"], check=True, capture_output=True)
    assert fanin.plan([log], fanin.Scenario(cluster), folder=tmp_path / "plan") == json.loads(done.stdout)
    assert (tmp_path / "plan" / "plan.json").exists()


def test_a_diagnosis_is_the_programs_and_its_scenario_can_be_compared(program, tmp_path):
    capture = "docs/diagnosing/client.pcap.gz"
    diagnosis = fanin.diagnose(capture)
    done = subprocess.run([program, "diagnose", capture, "--json"], check=True, capture_output=True, text=True)
    found, without = diagnosis.found, json.loads(done.stdout)
    # Without --out the program does not simulate.
    assert found.pop("simulated")
    assert not without.pop("simulated")
    assert found == without
    assert repr(diagnosis) == diagnosis.found["verdict"]["says"]
    assert "<iframe" in diagnosis._repr_html_()
    diagnosis.report(tmp_path / "package")
    subprocess.run([program, "diagnose", capture, "--out", tmp_path / "program"], check=True, capture_output=True)
    ours, theirs = files(tmp_path / "package"), files(tmp_path / "program")
    ours.pop("diagnosis.json"), theirs.pop("diagnosis.json")
    assert ours == theirs
    assert "report.html" in ours
    short = diagnosis.scenario.set("workload.duration", "50 ms").set("run.seeds", 1)
    assert short.compare(cache=False).finished[0] >= 1
    with pytest.raises(fanin.AskedError, match="cannot"):
        fanin.diagnose("nowhere.pcap")
    with pytest.raises(TypeError, match="inputs: 7 is a int; use a list, such as"):
        fanin.diagnose(7)


def test_a_papers_figure_is_the_programs(program):
    reproduced = fanin.reproduce("m21", figure="M-4", quick=True)
    arguments = ["reproduce", "m21", "--figure", "M-4", "--quick", "--json"]
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    assert reproduced.scorecard["papers"] == json.loads(done.stdout)["papers"]
    assert "m21" in fanin.papers()
    with pytest.raises(fanin.AskedError, match="unknown paper `m22`"):
        fanin.reproduce("m22")
