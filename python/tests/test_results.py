"""Output of a comparison, and its tables in four data frame libraries."""

import warnings

import pytest

import fanin

duckdb = pytest.importorskip("duckdb")
pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")


def test_a_frame_is_the_same_in_four_libraries(short):
    comparison = short.compare(cache=False)
    table = comparison.frame()
    assert len(table) == 4
    by_polars, by_arrow = polars.DataFrame(table), pyarrow.table(table)
    by_pandas = pandas.DataFrame.from_arrow(table) if hasattr(pandas.DataFrame, "from_arrow") else by_arrow.to_pandas()
    summary = table  # noqa: F841 (DuckDB finds it by its name)
    by_duckdb = duckdb.sql("select * from summary").fetchall()
    assert by_polars.columns == by_arrow.column_names == list(by_pandas.columns) == table.columns
    rows = [row["goodput_mbps"]["mean"] for row in comparison.summary["rows"]]
    assert by_polars["goodput_mbps_mean"].to_list() == by_arrow["goodput_mbps_mean"].to_pylist() == rows
    assert by_pandas["goodput_mbps_mean"].to_list() == rows
    assert [row[table.columns.index("goodput_mbps_mean")] for row in by_duckdb] == rows


def test_tables_are_read_more_than_once_and_outlive_their_comparison(short):
    table = short.compare(cache=False).table("rounds")
    assert table.name == "queries"
    assert polars.DataFrame(table).equals(polars.DataFrame(table))
    assert polars.DataFrame(table)["seed"].unique().sort().to_list() == [1, 2]


def test_absent_numbers_are_null(short):
    queries = polars.DataFrame(short.compare(cache=False).table("queries"))
    assert queries["qct_ps"].null_count() > 0
    assert queries["qct_ps"].dtype == polars.UInt64


def test_a_table_that_is_not_there_names_those_that_are(short):
    comparison = short.compare(cache=False)
    assert comparison.tables[:2] == ["summary", "slowdown"]
    with pytest.raises(fanin.AskedError, match="no table `nothing`; use one of summary"):
        comparison.table("nothing")


def test_onsets_and_verdicts_are_a_schemes(short):
    comparison = short.compare({"fan_in": [2, 32, 64]}, cache=False)
    assert comparison.onset("newreno") == comparison.summary["onset"]["newreno"]
    verdict = comparison.verdict("dctcp")
    assert verdict.scheme == "dctcp"
    assert verdict.verdict in ("sustains", "slow", "degrades", "collapsed", "open")
    assert str(verdict).startswith("dctcp ")
    with pytest.raises(KeyError, match="newreno, dctcp"):
        comparison.verdict("cubic")


def test_two_swept_keys_have_an_onset_a_curve(short):
    comparison = short.compare({"fan_in": [2, 8], "tcp.rto_min": ["10 ms", "200 ms"]}, seeds=1, cache=False)
    assert len(comparison.frame()) == 8
    assert [set(onset) for onset in comparison.onset("newreno")] == [{"point", "onset"}] * 2
    assert len(comparison.verdicts("newreno")) == 2
    assert "tcp.rto_min" in comparison.frame().columns


def test_two_swept_keys_show_a_heat_map(short):
    comparison = short.compare({"fan_in": [2, 8], "tcp.rto_min": ["10 ms", "200 ms"]}, seeds=1, cache=False)
    heat = comparison.heat_map("qct_ms.p99")
    assert (heat.keys, heat.columns, heat.rows) == (("fan_in", "tcp.rto_min"), [2, 8], ["10 ms", "200 ms"])
    for row in comparison.summary["rows"]:
        point = row["point"]
        line, column = heat.rows.index(point["tcp.rto_min"]), heat.columns.index(point["fan_in"])
        assert heat.values[row["scheme"]][line][column] == row["qct_ms"]["p99"]
    lines = repr(heat).splitlines()
    assert lines[0] == "newreno: qct_ms.p99, fan_in across, tcp.rto_min down"
    assert [line.split()[:2] for line in lines[1:4]] == [["2", "8"], ["10", "ms"], ["200", "ms"]]
    shown = heat._repr_html_()
    assert (shown.count("<table>"), shown.count("<td ")) == (2, 8)
    # Minimum and maximum of all schemes.
    assert "0.00)" in shown
    assert "0.75)" in shown
    assert comparison._repr_html_().startswith(comparison.heat_map()._repr_html_() + "<iframe srcdoc=")


def test_a_heat_map_needs_two_keys_and_a_number(short):
    comparison = short.compare({"fan_in": [2, 8]}, seeds=1, cache=False)
    assert "<table>" not in comparison._repr_html_().split("<iframe")[0]
    with pytest.raises(fanin.AskedError, match="swept here: fan_in; sweep two keys, such as compare"):
        comparison.heat_map()
    two = short.compare({"fan_in": [2, 8], "tcp.rto_min": ["10 ms", "200 ms"]}, seeds=1, cache=False)
    for measure in ("goodput", "point", "qct_ms", "scheme"):
        with pytest.raises(fanin.AskedError, match=f"measure: '{measure}' is not a number .*use one of .*goodput_mbps, .*qct_ms.p99"):
            two.heat_map(measure)


def test_it_shows_a_table_in_a_terminal_and_the_reports_charts_in_a_notebook(short):
    comparison = short.compare(cache=False)
    text = repr(comparison)
    assert text.startswith("a short one\n")
    assert text.count("newreno") >= 2
    page = comparison._repr_html_()
    assert page.startswith("<iframe srcdoc=")
    assert "fanin compare" in page
    assert "<pre>" in short.run("dctcp", 2, cache=False)._repr_html_()


def test_finished_runs_are_kept_and_a_folder_may_be_named(short, tmp_path):
    assert short.compare().cached == 0
    assert short.compare().cached == 8
    assert short.compare(cache=tmp_path / "mine").cached == 0
    assert short.compare(cache=str(tmp_path / "mine")).cached == 8
    assert short.compare(cache=False).cached == 0


def test_planners_ask_for_more_where_that_is_wished(short):
    comparison = short.compare({"fan_in": [2, 4, 8, 16, 32, 64, 128]}, onset=True, cache=False)
    assert comparison.summary["searched"]
    assert len(comparison.frame()) < 14
    comparison = short.compare({"fan_in": [8]}, precision=0.05, cache=False)
    assert comparison.finished[0] > 4


def test_warnings_of_a_scenario_stand_in_its_comparison(short):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        comparison = short.set("gss.initial_window", 2).compare(seeds=1, cache=False)
    assert any("gss.initial_window" in warning for warning in comparison.warnings)


def test_a_warning_of_many_points_is_one(short):
    sizes = ["4 KiB", "8 KiB", "12 KiB"]
    comparison = short.compare({"switch.buffer": sizes, "fan_in": [2, 4]}, seeds=1, cache=False)
    assert len(comparison.warnings) == 1
    assert comparison.warnings[0].endswith("(also at 2 more points: switch.buffer 8 KiB; switch.buffer 12 KiB)")
    assert repr(comparison).count("warning: ") == 1


def test_a_report_needs_a_new_folder(short, tmp_path):
    comparison = short.compare(cache=False)
    comparison.report(tmp_path / "out")
    with pytest.raises(fanin.FolderError, match="new or empty folder"):
        comparison.report(tmp_path / "out")


LOSSLESS = {
    "schemes": ["dcqcn", "nscc"],
    "link": {"rate": "100 Gbit/s", "delay": "1 us"},
    "switch": {"shared_buffer": "2 MiB"},
    "host": {"packet_jitter": "none"},
    "workload": {"kind": "one-shot", "fragment": "200 KB", "duration": "1 s"},
    "sweep": {"fan_in": [32]},
    "run": {"seeds": 1},
}


def test_pauses_are_in_rows_findings_and_a_table():
    comparison = fanin.Scenario(LOSSLESS).compare(cache=False)
    rows = {row["scheme"]: row for row in comparison.summary["rows"]}
    pauses = rows["dcqcn"]["pauses"]
    assert pauses["count"] > 0
    assert 0 < pauses["share"] <= 1
    assert rows["nscc"]["pauses"] is None
    assert "Switches pause links" in comparison.verdict("dcqcn").says
    assert (comparison.verdict("dcqcn").verdict == "sustains") == (pauses["share"] < 0.1)
    frame = polars.DataFrame(comparison.table("pauses"))
    assert frame["pauses"].sum() == pauses["count"]
    assert all(0.2 < row["goodput_mbps"]["mean"] / row["allowed_mbps"] <= 1 for row in rows.values())
