//! `docs/tables.md`: every file that `--out` writes, every column, and the objects of `--json`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use fanin_lab::catalogue::{Figure, Form, Kind, OF_A_RUN, Part};
use fanin_lab::{Background, Latency, Least, Memories, Ranks, Service, Slowdown, Slowest, SummaryRow, Tier};
use fanin_papers::Measure;
use fanin_tables::{
    CardRow, Cause, ClassRow, CollectiveRow, Column, ColumnType, EventRow, FaultRow, FlowKind, FlowRow, GatheringRow,
    HolderRow, HubRow, HubSpeedRow, LatencyRow, MemoryPartRow, MemoryRow, PauseRow, PortPartRow, PortRow, QueryRow,
    QueuePairRow, RankPartRow, RankRow, RequestRow, Row, SampleRow, ServiceRow, StallRow, TaskRow, Totals,
};
use serde_json::Value;

use crate::support::{fanin, is_current, root};

const HEAD: &str = "\
# Tables

`make docs` generates this page from the declarations of the tables. `make test` checks that it is current and lists every column.

`--out DIR` writes each table as CSV and as Parquet, with the same columns. CSV files have a header line, and absent values are empty.
Text in CSV is made safe for spreadsheets and terminals: a scheme's label or an object's key that starts with `=`, `+`, `-` or `@` and
is not a number gets a leading `'`, and control and bidirectional characters become `?`. Parquet has the text unchanged.
Whole numbers are unsigned 64-bit integers; real numbers are doubles, rounded to six digits. Names end in their unit, if they have
one. Times count from the first request.

| file | written by |
| --- | --- |
| `summary`, `slowdown`, `flows`, `queries`, `ports` | `fanin compare --out DIR`, `fanin run --out DIR` |
| `tasks`; `latency`; `port_series` | the same, for a MapReduce job; with `measure.latency`; with `measure.ports` |
| `memories`, `memory_series`, `holders` | the same, with `measure.ports` and switches whose ports share memory |
| `collectives`, `ranks` | the same, for a trace |
| `stalls` | the same, if a client was idle during a round |
| `requests` | the same, for a key_value workload |
| `faults` | the same, if packets met one of `[faults]` |
| `cards`; `classes`; `queue_pairs` | the same, with `[host.nic]`; with `[classes]`; with RDMA over ports that drop |
| `samples`, `events` | `fanin run --out DIR --samples` |
| `hubs`, `hub_speeds` | the same, for a key_value workload under a scheme with hubs |
| `rank_series` | the same, for a trace |
| `report.html` | `fanin compare --out DIR`: [how to read it](reading-the-report.md) |
| `manifest.json` | both; written last, so if it exists, the other files are complete |
| `figures` | `fanin reproduce --out DIR` |
| `report.html`, `scorecard.json` | the same: [how to read them](reproducing.md); the scorecard is written last |

If a key other than `fan_in` is swept, each table with `fan_in` has a column for that key next to it, with the key's name in the
scenario (`workload.load`). The column is whole or real if all values are numbers without a unit, else text as written. Sizes, times
and rates have a second column with whole numbers and the unit in its name (`switch.buffer_bytes`, `tcp.rto_min_ps`,
`link.rate_bps`); it is empty if the value is `none`.

## `summary`: one row per scheme and point

";

const SLOWDOWN: &str = "
## `slowdown`: one row per scheme, point and size bucket, for workloads whose flows have a slowdown

";

const RUNS: &str = "
## Tables of runs

Every row of the tables below starts with its run:

";

/// Fields of `--json` and `manifest.json` besides those shared with the tables: path, unit, meaning.
type Fields = &'static [(&'static str, &'static str, &'static str)];

const COMPARE: Fields = &[
    ("schema", "number", "Version of this format: 2."),
    ("scenario", "text", "Name of the scenario file."),
    ("hash", "text", "Hash of the resolved scenario: equal for equal settings."),
    (
        "warnings[]",
        "text",
        "Settings without effect, or with an unintended one, and their location; the same as on standard error.",
    ),
    (
        "rows[]",
        "list",
        "One object per scheme and point, as in the table below. Points without a finished run are omitted, and absent values are null. `point` has every swept key with its value, as in the scenario: numbers as numbers, others as text.",
    ),
    ("along", "text", "Key along which collapse points are determined: the first swept key with several values."),
    (
        "onset.LABEL",
        "a value",
        "Collapse point: the first value of that key at which mean goodput is below half of the best at an earlier value, there and at the next value; or null. If other keys are swept too, a list with the `point` of those and the `onset` there.",
    ),
    (
        "searched",
        "true, false",
        "Whether `--onset` searched for the collapse point; if so, only the points in the rows were run.",
    ),
    (
        "ecn_threshold_k.LABEL[]",
        "text",
        "K at the client's port, for schemes that mark above a threshold: as set, else by the rate of its link; several values if it is swept.",
    ),
    ("precision", "object", "With `--precision`, the share `wanted` and the largest share `reached`; else null."),
    ("engine.events", "count", "Processed events. Not part of the result, like the two fields below."),
    ("engine.packet_hops", "count", "Link traversals by packets."),
    ("engine.cpu_s", "s", "User CPU time of the simulations only."),
    ("findings[].scheme", "text", "Scheme of the finding; null for the comparison of all schemes."),
    (
        "findings[].verdict",
        "text",
        "`sustains`, `slow`, `paused`, `degrades`, `collapsed` or `open` (`reading-the-report.md`); `overall` for the comparison of all schemes.",
    ),
    ("findings[].head", "text", "Summary of the finding."),
    ("findings[].says", "text", "Explanation of the finding."),
];

const RUN: Fields = &[
    ("schema", "number", "Version of this format: 2."),
    ("scenario", "text", "Name of the scenario file."),
    ("hash", "text", "Hash of the resolved scenario: equal for equal settings."),
    ("scheme", "text", "Label of the scheme, else its name."),
    ("point.fan_in", "servers", "Every swept key with its value, as in the rows of `fanin compare`."),
    ("fan_in", "servers", "Number of servers; for an any-to-any workload, of hosts other than the client."),
    ("seed", "number", "The run's seed."),
    ("goodput_mbps", "Mbit/s", "Payload delivered in order over the measured time."),
    ("warnings[]", "text", "As in `fanin compare`."),
    ("ecn_threshold_k.LABEL[]", "text", "As in `fanin compare`."),
    ("totals", "object", "Totals, as in the table below."),
    ("queries[]", "list", "The rows of `queries`."),
    ("ports[]", "list", "The rows of `ports`."),
    ("memories[]", "list", "The rows of `memories`; empty if no switch shares memory or measure.ports is off."),
    ("holders[]", "list", "The rows of `holders`; empty in the same cases."),
    ("slowdown[]", "list", "Size buckets, as in `slowdown`; empty if no flow has a slowdown."),
    ("engine.events", "count", "Processed events. Not part of the result, like the two fields below."),
    ("engine.packet_hops", "count", "Link traversals by packets."),
    ("engine.cpu_s", "s", "User CPU time of the simulation only."),
];

const MANIFEST: Fields = &[
    ("schema", "number", "Version of this format: 1."),
    ("fanin", "text", "Version of the program."),
    ("arguments[]", "text", "Arguments of the command, without the program's name."),
    ("scenario", "text", "Name of the scenario file."),
    ("scenario_sha256", "text", "SHA-256 of the scenario's text."),
    ("hash", "text", "Hash of the resolved scenario: equal for equal settings."),
    ("runs_planned", "count", "Planned runs."),
    ("runs_finished", "count", "Runs whose rows are in the tables: fewer after Ctrl-C, SIGTERM or SIGHUP."),
];

/// The columns of `figures`.
const FIGURES: Fields = &[
    ("paper", "text", "Folder of the paper."),
    ("figure", "text", "ID of the figure."),
    ("measure", "text", "Quantity y: one of the measures below."),
    ("curve", "text", "Label of the scheme, or name of the closed form."),
    ("x", "of the axis", "Number of senders, of flows or of the round, or a time in ms, depending on the measure."),
    ("run", "number", "Index of the run among those with a value at x, in the order of seeds, from zero."),
    ("y", "of the measure", "Value of one run."),
];

/// Fields of a scorecard about open parameters, present after a sensitivity sweep.
const HANGS_ON: [&str; 2] =
    ["papers[].figures[].claims[].depends_on[].setting", "papers[].figures[].claims[].depends_on[].verdict"];

/// Fields of a scorecard about spared runs, present if there are some.
const SPARED: [&str; 5] = [
    "papers[].figures[].spared.precision",
    "papers[].figures[].spared.points",
    "papers[].figures[].spared.early",
    "papers[].figures[].spared.runs",
    "papers[].figures[].spared.spared",
];

const SCORECARD: Fields = &[
    ("schema", "number", "Version of this format: 2."),
    ("fanin", "text", "Version of the program."),
    ("mode", "text", "`full` or `quick`."),
    ("wall_s", "s", "Wall time. Not part of the result, like the two fields below."),
    ("cpu_s", "s", "User CPU time of all runs; for cached runs, the time measured when they ran."),
    ("cached_runs", "count", "Cached runs."),
    ("papers[].paper", "text", "Folder of the paper."),
    ("papers[].figures[].id", "text", "ID of the figure."),
    ("papers[].figures[].title", "text", "Title of the figure."),
    (
        SPARED[0],
        "share",
        "Required half-width of the 95 % CI, as a share of the mean; present if some points stopped early.",
    ),
    (SPARED[1], "count", "Points of the figure, over all schemes."),
    (SPARED[2], "count", "Points that stopped early."),
    (SPARED[3], "count", "Planned runs."),
    (SPARED[4], "count", "Planned runs that were skipped."),
    ("papers[].figures[].claims[].id", "text", "ID of the claim."),
    ("papers[].figures[].claims[].says", "text", "Claim of the paper, in plain words."),
    ("papers[].figures[].claims[].where", "text", "Location of the statement in the paper."),
    (
        "papers[].figures[].claims[].class",
        "text",
        "The class that sets the tolerance: order, much, steeper, onset, holds, level, factor, share, shape or none.",
    ),
    ("papers[].figures[].claims[].verdict", "text", "`pass`, `fail` or `undecided`."),
    ("papers[].figures[].claims[].measured", "text", "Measured result."),
    ("papers[].figures[].claims[].expected", "text", "Results that pass."),
    (
        "papers[].figures[].claims[].robust",
        "true, false, null",
        "Whether the verdict is the same over the plausible ranges of the parameters that the paper leaves open; null if untested.",
    ),
    (HANGS_ON[0], "text", "Setting of an open parameter that changes the verdict; present only if there is one."),
    (HANGS_ON[1], "text", "Verdict with that setting."),
    (
        "papers[].figures[].claims[].why",
        "text",
        "Cause of a failure, or of an undecided verdict that more seeds would not decide; present only then.",
    ),
    (
        "papers[].figures[].claims[].cause_tested",
        "true, false",
        "Whether a run without that cause has been recorded; present only with `why`.",
    ),
    ("papers[].figures[].claims[].note", "text", "Remark that applies to any verdict; present only if there is one."),
    (
        "papers[].figures[].claims[].repeats",
        "text",
        "Claim whose measurement this one repeats, so that it does not count again; present only then.",
    ),
    (
        "papers[].figures[].claims[].own",
        "true",
        "Claim of this project about something that the paper does not state; it does not count. Present only then.",
    ),
    (
        "papers[].figures[].claims[].read_from",
        "text",
        "Where the claim was read: `paper`, `elsewhere` or `memory`. Only those read in the paper count.",
    ),
];

const COLUMNS: &str = "| column | unit | type | meaning |\n| --- | --- | --- | --- |\n";

fn columns(columns: &[Column]) -> String {
    let row = |column: &Column| {
        let kind = match column.kind {
            ColumnType::U64 => "whole",
            ColumnType::OptionalU64 => "whole, may be absent",
            ColumnType::Text => "text",
        };
        assert!(!column.doc.is_empty(), "{} has no documentation", column.name);
        format!("| `{}` | {} | {kind} | {} |\n", column.name, column.unit(), column.doc)
    };
    COLUMNS.to_string() + &columns.iter().map(row).collect::<String>()
}

/// A row of a table of figures.
fn figure(name: &str, unit: &str, kind: &str, says: &str) -> String {
    format!("| `{name}` | {unit} | {kind} | {says} |\n")
}

/// A figure's value, under its name in CSV or in JSON.
fn part(name: &str, part: &Part) -> String {
    let kind = match part.kind {
        Kind::Text => "text",
        Kind::Whole => "whole",
        Kind::Real => "real",
        Kind::Flag => "true, false",
        Kind::List => "list",
    };
    figure(name, part.unit, &format!("{kind}{}", if part.optional { ", may be absent" } else { "" }), &part.doc)
}

/// The columns of points: their coordinates and figures.
fn of_points(figures: &[Part]) -> String {
    let row = |of: &Part| of.column.as_ref().map_or(String::new(), |name| part(name, of));
    columns(&OF_A_RUN[..2]) + &figures.iter().map(row).collect::<String>()
}

/// The fields of a row of `fanin compare --json`; an object or list counts as one.
fn of_a_row() -> String {
    let [scheme, fan_in, _] = OF_A_RUN.map(|column| column.doc);
    let row = |of: &Figure| match of.form {
        Form::Value => of.parts().iter().map(|of| part(&of.json, of)).collect(),
        Form::Object => figure(of.name, "object", "as below, may be absent", of.doc),
        Form::List => figure(&format!("{}[]", of.name), "list", "as below", of.doc),
    };
    COLUMNS.replace("column", "field of a row")
        + &figure("scheme", "text", "text", scheme)
        + &figure("point.fan_in", "servers", "whole", fan_in)
        + &SummaryRow::FIGURES.iter().map(row).collect::<String>()
}

/// The fields of an object in a row.
fn within(name: &str, figures: &[Figure]) -> String {
    let parts = figures.iter().flat_map(Figure::parts);
    format!("\n{}", COLUMNS.replace("column", &format!("field of `rows[].{name}`")))
        + &parts.map(|of| part(&of.json, &of)).collect::<String>()
}

fn table<R: Row>(says: &str) -> String {
    format!("\n### `{}`: {says}\n\n{}", R::TABLE, columns(R::COLUMNS))
}

fn fields(fields: Fields) -> String {
    let row = |(path, unit, says): &(&str, &str, &str)| format!("| `{path}` | {unit} | {says} |\n");
    "| field | unit | meaning |\n| --- | --- | --- |\n".to_string() + &fields.iter().map(row).collect::<String>()
}

/// The measures of figures and claims.
fn measures() -> String {
    let row = |(measure, says): &(Measure, &str)| {
        let over = measure.over_axis();
        format!("| `{}` | {} | {over} | {says} |\n", measure.word(), measure.axis())
    };
    "\n### Measures of figures and claims\n\nMeasures over senders are drawn over another key if that is swept instead.\n\n\
     | measure | axis label | over | meaning |\n| --- | --- | --- | --- |\n"
        .to_string()
        + &Measure::ALL.iter().map(row).collect::<String>()
}

fn page() -> String {
    HEAD.to_string()
        + &of_points(&SummaryRow::columns())
        + SLOWDOWN
        + &of_points(&Slowdown::columns())
        + RUNS
        + &columns(&OF_A_RUN)
        + &table::<FlowRow>("one row per response of a server, line of a flow list, or Poisson flow")
        + "\nClasses:\n\n"
        + &FlowKind::ALL.iter().map(|(kind, says)| format!("- `{}`: {says}\n", kind.word())).collect::<String>()
        + &table::<QueryRow>("one row per round or query")
        + &table::<StallRow>("one row per idle period of a client with an open round")
        + "\nCauses:\n\n"
        + &Cause::KNOWN.iter().map(|(cause, says)| format!("- `{}`: {says}\n", cause.word())).collect::<String>()
        + &table::<PortRow>("one row per port that accepted or dropped a packet")
        + &table::<FaultRow>("one row per link on which packets met a fault")
        + &table::<CardRow>("one row per receiving network card, with `[host.nic]`")
        + &table::<ClassRow>("one row per port and traffic class, with `[classes]`")
        + &table::<QueuePairRow>("one row per queue pair of RDMA over ports that drop")
        + &table::<PauseRow>("one row per link that a switch paused, and port that caused it")
        + &table::<PortPartRow>("one row per port and part of a run, with measure.ports")
        + &table::<MemoryRow>("one row per memory that a switch's ports share, with measure.ports")
        + &table::<MemoryPartRow>("one row per memory and part of a run")
        + &table::<HolderRow>(
            "one row per pair of a port that refused packets and a port that held the memory, largest holders first",
        )
        + &table::<TaskRow>("one row per task of a MapReduce job")
        + &table::<CollectiveRow>("one row per collective operation of a trace")
        + &table::<RankRow>("one row per rank of a trace")
        + &table::<RequestRow>("one row per request of a key_value workload")
        + &table::<GatheringRow>("one row per co-location server, for schemes that co-locate objects")
        + &table::<ServiceRow>("one row per query of the background service")
        + &table::<LatencyRow>("one row per class of packets, with measure.latency")
        + &table::<SampleRow>("one row per sample, valid until the next one of its series")
        + &table::<EventRow>("one row per event")
        + &table::<HubRow>("one row per hub of a request, and one for its front end")
        + &table::<HubSpeedRow>("one row per hub and time step in which data arrived from it")
        + &table::<RankPartRow>("one row per rank and part of a watched run in which it did something")
        + "\n## `fanin compare --json`\n\n"
        + &fields(COMPARE)
        + "\n"
        + &of_a_row()
        + &within("memories", Memories::FIGURES)
        + &within("ranks", Ranks::FIGURES)
        + &within("tiers[]", Tier::FIGURES)
        + &within("service", Service::FIGURES)
        + &within("least", Least::FIGURES)
        + &within("slowest", Slowest::FIGURES)
        + &within("background", Background::FIGURES)
        + &within("latency[]", Latency::FIGURES)
        + "\n## `fanin run --json`\n\n"
        + &fields(RUN)
        + "\n"
        + &columns(Totals::COLUMNS).replacen("column", "field of `totals`", 1)
        + "\n## `manifest.json`\n\n"
        + &fields(MANIFEST)
        + "\n## `figures`: one row per drawn value\n\n"
        + &fields(FIGURES).replacen("field", "column", 1)
        + &measures()
        + "\n## `scorecard.json`, and `fanin reproduce --json`\n\n"
        + &fields(SCORECARD)
}

#[test]
fn page_of_tables_matches_the_declarations() {
    is_current("docs/tables.md", &page());
}

/// The names in the first column of the tables under headings that start with this.
fn documented(page: &str, heading: &str) -> BTreeSet<String> {
    let (_, rest) = page.split_once(&format!("# `{heading}`")).unwrap_or_else(|| panic!("no heading for {heading}"));
    let part = rest.split("\n#").next().unwrap_or_default();
    part.lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`').map(|(name, _)| name.to_string()))
        .collect()
}

/// Checks every file of a folder of results, and returns the names of the tables.
fn check(page: &str, folder: &Path) -> BTreeSet<String> {
    let mut tables = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_name().unwrap().to_str().unwrap();
        let (name, ending) = file.split_once('.').unwrap();
        if ending != "csv" {
            let known = format!("`{}`", if ending == "parquet" { name } else { file });
            assert!(page.contains(&known), "{file} is not in the page");
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let mut written: BTreeSet<String> = text.lines().next().unwrap().split(',').map(String::from).collect();
        if !["summary", "slowdown", "figures"].contains(&name) {
            assert!(OF_A_RUN.iter().all(|column| written.remove(column.name)), "{file} is not led by its run");
        }
        assert_eq!(written, documented(page, name), "the columns of {file} and the page");
        tables.insert(name.to_string());
    }
    tables
}

/// The paths of an object's values: members of a list share a path, and labels of schemes appear as LABEL.
fn paths(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    let below = |key: &str| if path.is_empty() { key.to_string() } else { format!("{path}.{key}") };
    match value {
        // No scheme has a threshold, or some have one.
        Value::Object(map) if path == "ecn_threshold_k" => {
            assert!(found.insert("ecn_threshold_k.LABEL[]".into()) && map.values().all(Value::is_array));
        }
        Value::Object(map) if path == "onset" => assert!(found.insert("onset.LABEL".into()) && !map.is_empty()),
        Value::Object(map) => map.iter().for_each(|(key, value)| paths(value, &below(key), found)),
        Value::Array(items) if items.first().is_some_and(Value::is_object) => {
            items.iter().for_each(|item| paths(item, &format!("{path}[]"), found));
        }
        Value::Array(_) => drop(found.insert(format!("{path}[]"))),
        _ => drop(found.insert(path.to_string())),
    }
}

/// The same for a page's documentation; `within` are fields with a table of their own.
fn told<T: AsRef<str>, N: std::fmt::Display>(fields: Fields, within: &[(T, Vec<N>)]) -> BTreeSet<String> {
    let list = |path: &&str| within.iter().all(|(of, _)| of.as_ref() != *path);
    let own = fields.iter().map(|(path, ..)| *path).filter(list).map(String::from);
    let inner = within.iter().flat_map(|(of, names)| names.iter().map(move |name| format!("{}.{name}", of.as_ref())));
    own.chain(inner).collect()
}

/// Without such fields.
const NOTHING: &[(&str, Vec<&str>)] = &[];

/// Every path of an object.
fn found(value: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    paths(value, "", &mut found);
    found
}

/// Runs a command with an output folder. Returns its JSON object and the manifest, after checking that exactly these tables exist and are
/// documented.
fn written(arguments: &[&str], tables: &[&str]) -> (Value, Value) {
    let page = fs::read_to_string(root().join("docs/tables.md")).unwrap();
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("out").to_str().unwrap().to_string();
    let object = fanin(&[arguments, &["--out", &out, "--no-cache", "--json"]].concat());
    let tables: BTreeSet<String> = tables.iter().map(|name| name.to_string()).collect();
    assert_eq!(check(&page, Path::new(&out)), tables, "{arguments:?}");
    let manifest = fs::read_to_string(Path::new(&out).join("manifest.json")).unwrap_or("null".into());
    (object, serde_json::from_str(&manifest).unwrap())
}

fn names(columns: &'static [Column]) -> Vec<&'static str> {
    columns.iter().map(|column| column.name).collect()
}

const ONE_POINT: [&str; 8] = [
    "compare",
    "scenarios/fixed-fragment.toml",
    "--schemes",
    "newreno",
    "--fan-in",
    "8",
    "--set",
    "workload.duration=300 ms",
];

/// The paths of these figures' values.
fn places(figures: &[Figure]) -> Vec<String> {
    figures.iter().flat_map(Figure::parts).map(|part| part.json).collect()
}

/// The fields of a row with these objects and lists, which have fields of their own.
fn row_with(within: &[&str]) -> Vec<String> {
    let of = |figure: &Figure| match figure.form {
        Form::Value => places(&[*figure]),
        Form::Object => vec![figure.name.into()],
        Form::List => vec![format!("{}[]", figure.name)],
    };
    let own = SummaryRow::FIGURES.iter().flat_map(of).filter(|name| !within.contains(&name.as_str()));
    ["scheme".into(), "point.fan_in".into()].into_iter().chain(own).collect()
}

#[test]
fn comparison_output_is_documented() {
    let inner = |names: &[&str]| {
        let of = |name: &str| match name {
            "background" => Background::FIGURES,
            "latency[]" => Latency::FIGURES,
            "least" => Least::FIGURES,
            "memories" => Memories::FIGURES,
            "service" => Service::FIGURES,
            "slowest" => Slowest::FIGURES,
            "tiers[]" => Tier::FIGURES,
            other => panic!("{other}"),
        };
        let objects = names.iter().map(|name| (format!("rows[].{name}"), places(of(name))));
        [("rows[]".into(), row_with(names))].into_iter().chain(objects).collect::<Vec<_>>()
    };
    // Other workloads have these intervals, whose form is that of the goodput.
    let with_intervals = |mut object: Value| {
        let of_pairs = ["wire_share", "lost_share", "resent_per_lost", "sender_share_min", "cnps_per_qp_s"];
        for name in ["job_ms", "bus_gbytes_per_s"].into_iter().chain(of_pairs) {
            object["rows"][0][name] = object["rows"][0]["goodput_mbps"].clone();
        }
        // With five seeds or more.
        object["rows"][0]["goodput_range_mbps"] = serde_json::json!({"p10": 1.0, "p50": 1.0, "p90": 1.0});
        object
    };
    let compared = |set: &[&str], more: &[&str], within: &[&str]| {
        let mut tables = vec!["flows", "ports", "queries", "slowdown", "stalls", "summary"];
        tables.extend(more);
        let (mut object, _) = written(&[&ONE_POINT[..], set].concat(), &tables);
        // If some start cold, its form is that of the slowest.
        object["rows"][0]["cold"] = Value::Null;
        assert_eq!(found(&with_intervals(object)), told(COMPARE, &inner(within)), "{set:?}");
    };
    compared(&["--seeds", "2"], &[], &["least"]);
    let measured = ["--set", "measure.ports=true", "--set", "measure.latency=true"];
    compared(&measured, &["latency", "port_series"], &["least", "tiers[]", "latency[]"]);
    let measured = ["--set", "measure.ports=true", "--set", "switch.shared_buffer=64 KB"];
    let tables = ["holders", "memories", "memory_series", "port_series"];
    compared(&measured, &tables, &["least", "tiers[]", "memories"]);
    // With background traffic there is no bound.
    let service = ["--set", "service.fan_out=4", "--set", "service.queries_per_s=100"];
    compared(&service, &["service"], &["service", "background"]);
    compared(&["--set", "faults.loss=0.01"], &["faults"], &["least"]);
    let many = ["compare", "scenarios/fixed-fragment.toml", "--schemes", "dctcp", "--fan-in", "2", "--seeds", "3"];
    let small = ["--set", "workload.duration=300 ms", "--no-cache", "--json"];
    let object = with_intervals(fanin(&[&many[..], &small].concat()));
    assert_eq!(found(&object), told(COMPARE, &inner(&["least", "slowest"])));
}

#[test]
fn run_output_is_documented() {
    let point = ["run", "scenarios/fixed-fragment.toml", "--scheme", "newreno", "--fan-in", "8", "--samples", "1ms"];
    let tables = ["events", "flows", "ports", "queries", "samples", "slowdown", "summary"];
    let (object, manifest) = written(&[&point[..], &["--set", "workload.duration=300 ms"]].concat(), &tables);
    let within = [
        ("totals", names(Totals::COLUMNS)),
        ("queries[]", names(QueryRow::COLUMNS)),
        ("ports[]", names(PortRow::COLUMNS)),
    ];
    assert_eq!(found(&object), told(RUN, &within));
    assert_eq!(found(&manifest), told(MANIFEST, NOTHING));
    let hubs = ["run", "papers/sicc/tree.toml", "--scheme", "SICC(100)", "--set", "workload.queries=1", "--samples"];
    written(&hubs, &[&["hub_speeds", "hubs", "requests"], &tables[..]].concat());
}

#[test]
fn scorecard_output_is_documented() {
    let tiny = ["reproduce", "tiny", "--papers-in", "crates/cli/tests/papers"];
    let (card, _) = written(&tiny, &["figures"]);
    // The tiny paper has no sensitivity sweep, and no precision that would spare runs.
    let mut found = found(&card);
    found.extend(HANGS_ON.into_iter().chain(SPARED).map(String::from));
    assert_eq!(found, told(SCORECARD, NOTHING));
}
