//! `docs/tables.md`: every file that `--out` writes, every column, and the objects of `--json`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use fanin_lab::columns::{OF_A_RUN, OF_SLOWDOWNS, SlowdownColumn, Take, TakeSlowdown, of_the_summary};
use fanin_spec::{
    Cause, Column, ColumnType, EventRow, FaultRow, FlowKind, FlowRow, GatheringRow, HolderRow, HubRow, HubSpeedRow,
    LatencyRow, MemoryPartRow, MemoryRow, PortPartRow, PortRow, QueryRow, RequestRow, Row, SampleRow, ServiceRow,
    StallRow, TaskRow, Totals, unit,
};
use serde_json::Value;

use crate::support::{fanin, is_current, root};

const HEAD: &str = "\
# Tables

Generated from the tables' own declarations by `make docs`; `make test` checks it, and that every column that is written
stands here.

`--out DIR` writes each table twice, from the same columns: as CSV, with a head and with absent values empty, and as Parquet.
In CSV a text that a spreadsheet would take for a formula (a scheme's label or an object's key that begins with `=`, `+`, `-` or `@`,
and is no number) begins with `'`, and characters that control a terminal or turn the direction of writing are `?`; Parquet has
it as it is.
Whole numbers are unsigned and have 64 bits; real ones are doubles, rounded to six digits. A name carries its unit where there
is one; times count from the first request.

| file | written by |
| --- | --- |
| `summary`, `slowdown`, `flows`, `queries`, `ports` | `fanin compare --out DIR`, `fanin run --out DIR` |
| `tasks`, `latency`, `port_series` | the same, of a MapReduce job, where `measure.latency` is on, where `measure.ports` is |
| `memories`, `memory_series`, `holders` | the same, where `measure.ports` is on and switches share their memory among ports |
| `stalls` | the same, where nothing came to a client for a while |
| `requests` | the same, of a key_value workload |
| `faults` | the same, where packets met one of `[faults]` |
| `samples`, `events` | `fanin run --out DIR --samples` |
| `hubs`, `hub_speeds` | the same, of a key_value workload under a scheme with hubs |
| `report.html` | `fanin compare --out DIR`: [how to read it](reading-the-report.md) |
| `manifest.json` | both; it comes last, so that its presence says that the rest is whole |
| `figures` | `fanin reproduce --out DIR` |
| `report.html`, `scorecard.json` | the same: [how to read them](reproducing.md); the scorecard comes last |

Where another key than `fan_in` is swept, each table that has `fan_in` has a column of that key behind it, called as in the
scenario (`workload.load`): whole or real where all of its values are numbers without a unit, else text as it was written. Behind
sizes, times and rates stands a column of the same as whole numbers, with their unit in its name (`switch.buffer_bytes`,
`tcp.rto_min_ps`, `link.rate_bps`); where the value is `none` it is empty.

## `summary`: one row a scheme and point

";

const SLOWDOWN: &str = "
## `slowdown`: one row a scheme, point and bucket of sizes, where flows have a slowdown

";

const RUNS: &str = "
## Tables of runs

Every row of the tables below is led by its run:

";

/// Objects of `--json` and `manifest.json`, beside what they share with the tables: path, unit, meaning.
type Fields = &'static [(&'static str, &'static str, &'static str)];

const COMPARE: Fields = &[
    ("schema", "number", "The version of this form: 1."),
    ("scenario", "text", "The scenario file's own name."),
    ("hash", "text", "The name of the resolved scenario: equal for equal settings."),
    (
        "warnings[]",
        "text",
        "What was set and has no effect, or not the one that was meant, with its place; as on standard error.",
    ),
    (
        "rows[]",
        "list",
        "One object a scheme and point, as in the table below; points without a finished run are left out. Its `point` has every swept key with its value, called and written as in the scenario: numbers as numbers, all else as text.",
    ),
    ("rows[].slowdown[]", "list", "The row's buckets of sizes, as in `slowdown`; empty where no flow has a slowdown."),
    ("rows[].tiers[]", "list", "The row's ports by tier, as below; empty unless measure.ports is on."),
    (
        "rows[].memories",
        "object",
        "Memories that switches' ports share, as below; null where there are none or measure.ports is off.",
    ),
    ("rows[].service", "object", "The service beside the workload, as below; null where there is none."),
    ("rows[].latency[]", "list", "How long data packets took, by class, as below; empty unless measure.latency is on."),
    (
        "rows[].seeds_differ",
        "true, false, null",
        "Whether seeds change anything in the row's runs; null of a single one.",
    ),
    ("rows[].fct_ms.at_least", "null", "Flows that did not end are counted in `slowdown`."),
    ("rows[].least", "object", "What a round takes at the least, as below; null where that is not known."),
    ("rows[].slowest", "object", "The rounds that take longest, as below; null where 1 % of them is none."),
    (
        "rows[].cold",
        "object",
        "The first rounds of each run that take over three medians, in the same form; null where there are none.",
    ),
    ("rows[].background", "object", "What runs beside the workload, as below; null where nothing does."),
    ("along", "text", "The key along which onsets are looked for: the first swept one of more than one value."),
    (
        "onset.LABEL",
        "a value",
        "The first value of that key at which mean goodput is under half of the best at one before, there and at the next; or null. Where other keys move too, a list: the `point` of the others, and the `onset` there.",
    ),
    ("searched", "true, false", "Whether the onset was searched for: points between those of the rows were not tried."),
    (
        "precision",
        "object",
        "With `--precision` the share that was `wanted` and the largest that was `reached`; else null.",
    ),
    ("engine.events", "count", "Events taken from queues. Not part of the result, nor are the two below."),
    ("engine.packet_hops", "count", "Links that packets crossed."),
    ("engine.cpu_s", "s", "User CPU time of the simulations alone."),
    ("findings[].scheme", "text", "The scheme that is spoken of; null of all together."),
    (
        "findings[].verdict",
        "text",
        "`holds`, `slow`, `sags`, `collapses` or `open` (`reading-the-report.md`); `overall` of all together.",
    ),
    ("findings[].head", "text", "What is found, in a few words."),
    ("findings[].says", "text", "What is behind it."),
];

/// The fields of `rows[].least`.
const LEAST: Fields = &[
    ("whole_ms", "ms", "In all."),
    ("wire_ms", "ms", "Packets on the wire."),
    ("round_trips_ms", "ms", "Ways there and back, handshakes and slow start."),
    ("work_ms", "ms", "What servers need, and are put off."),
    ("requests_ms", "ms", "The requests before the last one."),
];

/// The fields of `rows[].slowest`.
const SLOWEST: Fields = &[
    ("rounds[]", "numbers", "Seed and round of the longest, at most five."),
    ("count", "count", "How many rounds they are: of the slowest up to one in a hundred."),
    ("of", "count", "Of how many that ended, over all seeds."),
    ("goodput_mbps", "Mbit/s", "Goodput without them: mean over seeds."),
];

/// The fields of `rows[].background`.
const BACKGROUND: Fields = &[
    ("goodput_mbps", "Mbit/s", "Its payload delivered over the measured time: mean over seeds."),
    ("timeouts", "count", "Its timeouts, mean over seeds."),
    ("fast_retransmits", "count", "Its entries into fast recovery, mean over seeds."),
    ("drops", "count", "Its packets dropped at all ports, mean over seeds."),
];

/// The fields of `rows[].memories`.
const MEMORIES: Fields = &[
    ("switches", "count", "How many there are, mean over seeds."),
    ("used_mean_share", "share", "Of what ports share, what they held over time, mean over switches and seeds."),
    ("used_p99_share", "share", "Its 99th percentile over time at the switch where that is largest, over all seeds."),
    ("used_max_share", "share", "The most at any switch, over all seeds."),
    ("refused_packets", "count", "Packets that found no room under their port's threshold, mean over seeds."),
    (
        "squeezed.port",
        "text",
        "The port that lost most to what others held; `squeezed` is null where there was room for all.",
    ),
    ("squeezed.refused_packets", "count", "Its packets without room, mean over seeds."),
    (
        "squeezed.elsewhere_share",
        "share",
        "Of what was held as they came, the share that other ports held, mean over them.",
    ),
    ("squeezed.holder", "text", "The port that held most then."),
    ("squeezed.holder_share", "share", "Its share of what the ports share, mean over these packets."),
];

/// The fields of `rows[].tiers[]`.
const TIERS: Fields = &[
    ("tier", "text", "The tier, such as `leaf down`: ports from leaf switches to hosts."),
    ("ports", "count", "Its ports that carried packets, mean over seeds."),
    ("queue_mean_bytes", "B", "The queue over time, mean over ports and seeds."),
    ("queue_p99_bytes", "B", "Its 99th percentile over time at the port where that is largest, over all seeds."),
    ("queue_max_bytes", "B", "The longest queue of any of them, over all seeds."),
    ("busy_share", "share", "The share of the run for which a link was sending, mean over ports and seeds."),
    ("busiest_share", "share", "That of the busiest link, over all seeds."),
    ("wire_bytes", "B", "Bytes that all of them took, mean over seeds, as are the counts below."),
    ("drops_full", "count", "Packets that found no room."),
    ("drops_early", "count", "Packets that the law dropped early."),
    ("drops_not_ect", "count", "Packets that would have been marked and were not ECN-capable."),
    ("drops_down", "count", "Packets that waited as the link failed, or came while it was down."),
    ("marks", "count", "Packets marked."),
];

/// The fields of `rows[].service`.
const SERVICE: Fields = &[
    ("queries", "count", "Queries that were asked, mean over seeds."),
    ("unfinished", "count", "Of these, those that the run's end cut off."),
    ("qct_ms.mean", "ms", "From a query's start to its last answer, pooled over seeds: mean."),
    ("qct_ms.p50", "ms", "Median."),
    ("qct_ms.p95", "ms", "95th percentile."),
    ("qct_ms.p99", "ms", "99th percentile."),
    ("qct_ms.p999", "ms", "99.9th percentile."),
    ("qct_ms.max", "ms", "The longest."),
    (
        "qct_ms.at_least",
        "text",
        "The first of these that is a lower bound only, as in `qct_ms` of a row; null where none is.",
    ),
];

/// The fields of `rows[].latency[]`.
const LATENCY: Fields = &[
    ("class", "text", "Whose packets they are, as in the table `latency`."),
    ("packets", "count", "Data packets that arrived, mean over seeds."),
    ("ms.mean", "ms", "Their time from host to host: mean over all packets of all seeds."),
    ("ms.p50", "ms", "Median of a run, mean over seeds, as are the percentiles below."),
    ("ms.p95", "ms", "95th percentile."),
    ("ms.p99", "ms", "99th percentile."),
    ("ms.p999", "ms", "99.9th percentile."),
    ("ms.max", "ms", "The longest, over all seeds."),
    ("ms.at_least", "null", "All of these packets arrived."),
];

const RUN: Fields = &[
    ("schema", "number", "The version of this form: 1."),
    ("scenario", "text", "The scenario file's own name."),
    ("hash", "text", "The name of the resolved scenario: equal for equal settings."),
    ("scheme", "text", "The scheme's label, else its name."),
    ("point.fan_in", "servers", "Every swept key with its value, as in the rows of `fanin compare`."),
    ("fan_in", "servers", "The number of servers; of a workload between any hosts, of those besides the client."),
    ("seed", "number", "The run's seed."),
    ("goodput_mbps", "Mbit/s", "Payload delivered in order over the measured time."),
    ("warnings[]", "text", "As in `fanin compare`."),
    ("totals", "object", "The sums, as in the table below."),
    ("queries[]", "list", "The rows of `queries`."),
    ("ports[]", "list", "The rows of `ports`."),
    ("memories[]", "list", "The rows of `memories`; empty where switches share none or measure.ports is off."),
    ("holders[]", "list", "The rows of `holders`, there."),
    ("slowdown[]", "list", "Buckets of sizes, as in `slowdown`; empty where no flow has a slowdown."),
    ("engine.events", "count", "Events taken from the queue. Not part of the result, nor are the two below."),
    ("engine.packet_hops", "count", "Links that packets crossed."),
    ("engine.cpu_s", "s", "User CPU time of the simulation alone."),
];

const MANIFEST: Fields = &[
    ("schema", "number", "The version of this form: 1."),
    ("fanin", "text", "The version of the program."),
    ("arguments[]", "text", "The command, without the program's name."),
    ("scenario", "text", "The scenario file's own name."),
    ("scenario_sha256", "text", "SHA-256 of the scenario's text."),
    ("hash", "text", "The name of the resolved scenario: equal for equal settings."),
    ("runs_planned", "count", "Runs that were meant."),
    ("runs_finished", "count", "Runs whose rows stand in the tables: fewer after a Ctrl-C, SIGTERM or SIGHUP."),
];

/// The columns of `figures`.
const FIGURES: Fields = &[
    ("paper", "text", "The paper's folder."),
    ("figure", "text", "The figure's id."),
    ("measure", "text", "What y is; it names its unit where there is one. `reproducing.md` has them all."),
    ("curve", "text", "The scheme's label, or the closed form's name."),
    (
        "x",
        "the axis'",
        "The number of senders, of flows or of the round, or a time in ms, as the measure is drawn over.",
    ),
    ("run", "number", "The run's place among those with a value at x, in the order of seeds, from zero."),
    ("y", "the measure's", "The value of one run."),
];

/// What a scorecard says of open parameters, where somebody has tried them.
const HANGS_ON: [&str; 2] =
    ["papers[].figures[].claims[].hangs_on[].setting", "papers[].figures[].claims[].hangs_on[].verdict"];

/// What it says of runs that were not needed, where there were some.
const SPARED: [&str; 5] = [
    "papers[].figures[].spared.precision",
    "papers[].figures[].spared.points",
    "papers[].figures[].spared.early",
    "papers[].figures[].spared.runs",
    "papers[].figures[].spared.spared",
];

const SCORECARD: Fields = &[
    ("schema", "number", "The version of this form: 1."),
    ("fanin", "text", "The version of the program."),
    ("mode", "text", "`full` or `quick`."),
    ("wall_s", "s", "Wall time. Not part of the result, nor are the two below."),
    ("cpu_s", "s", "User CPU time of all runs; of those from the cache, as it was measured then."),
    ("cached_runs", "count", "Runs that came from the cache."),
    ("papers[].paper", "text", "The paper's folder."),
    ("papers[].figures[].id", "text", "The figure's id."),
    ("papers[].figures[].title", "text", "What it shows."),
    (
        SPARED[0],
        "share",
        "What points' means were to be known to, half of their 95 % intervals; there where some were, early.",
    ),
    (SPARED[1], "count", "The figure's points, all schemes'."),
    (SPARED[2], "count", "Those that were stopped early."),
    (SPARED[3], "count", "Runs that were planned."),
    (SPARED[4], "count", "Those that were not made."),
    ("papers[].figures[].claims[].id", "text", "The claim's id."),
    ("papers[].figures[].claims[].says", "text", "What the paper says, in plain words."),
    ("papers[].figures[].claims[].where", "text", "Where it says so."),
    (
        "papers[].figures[].claims[].class",
        "text",
        "The class that sets the tolerance: order, much, steeper, onset, holds, level, factor, share, shape or none.",
    ),
    ("papers[].figures[].claims[].verdict", "text", "`pass`, `fail` or `undecided`."),
    ("papers[].figures[].claims[].measured", "text", "What was seen."),
    ("papers[].figures[].claims[].expected", "text", "What passes."),
    (
        "papers[].figures[].claims[].robust",
        "true, false, null",
        "Whether it holds or fails alike over the plausible ranges of what the paper leaves open; null where nobody has tried.",
    ),
    (HANGS_ON[0], "text", "A setting of what the paper leaves open; there alone where some change its verdict."),
    (HANGS_ON[1], "text", "Its verdict then."),
    (
        "papers[].figures[].claims[].why",
        "text",
        "Only where it fails, or is undecided and more seeds would not tell: what was found to be the cause.",
    ),
    (
        "papers[].figures[].claims[].note",
        "text",
        "What is to be known of it however it comes out; there alone where there is something.",
    ),
    (
        "papers[].figures[].claims[].repeats",
        "text",
        "The claim whose measurement it repeats, so that it is not counted again; there alone where it does.",
    ),
    (
        "papers[].figures[].claims[].own",
        "true",
        "It is the project's own, where the paper says nothing, and is not counted; there alone where it is.",
    ),
];

const COLUMNS: &str = "| column | unit | type | what it is |\n| --- | --- | --- | --- |\n";

fn columns(columns: &[Column]) -> String {
    let row = |column: &Column| {
        let kind = match column.kind {
            ColumnType::U64 => "whole",
            ColumnType::OptionalU64 => "whole, may be absent",
            ColumnType::Text => "text",
        };
        assert!(!column.doc.is_empty(), "{} says nothing of itself", column.name);
        format!("| `{}` | {} | {kind} | {} |\n", column.name, column.unit(), column.doc)
    };
    COLUMNS.to_string() + &columns.iter().map(row).collect::<String>()
}

/// The summary's columns, under their names in CSV or in the JSON object.
fn summary(json: bool) -> String {
    let row = |column: &fanin_lab::columns::SummaryColumn| {
        let (kind, other) = match column.take {
            Take::Text(_) => ("text", "text"),
            Take::Whole(_) => ("whole", "count"),
            Take::Real(_) => ("real", "count"),
        };
        let other = if column.share { "share" } else { other };
        let name = if json { column.json } else { column.name };
        format!("| `{name}` | {} | {kind} | {} |\n", unit(column.name).unwrap_or(other), column.doc)
    };
    let head = if json { "field of a row" } else { "column" };
    COLUMNS.replace("column", head) + &of_the_summary().filter(|c| !json || flat(c)).map(row).collect::<String>()
}

/// Whether a column's figure is no part of an object that may be absent.
fn flat(column: &fanin_lab::columns::SummaryColumn) -> bool {
    !column.json.starts_with("background.") && !column.json.starts_with("least.")
}

/// The slowdowns' columns.
fn slowdown() -> String {
    let row = |column: &SlowdownColumn| {
        let (kind, other) = match column.take {
            TakeSlowdown::Text(_) => ("text", "text"),
            TakeSlowdown::Whole(_) => ("whole, may be absent", "count"),
            TakeSlowdown::Real(_) => ("real, may be absent", "times"),
        };
        format!("| `{}` | {} | {kind} | {} |\n", column.name, unit(column.name).unwrap_or(other), column.doc)
    };
    columns(&OF_A_RUN[..2]) + &OF_SLOWDOWNS.iter().map(row).collect::<String>()
}

fn table<R: Row>(says: &str) -> String {
    format!("\n### `{}`: {says}\n\n{}", R::TABLE, columns(R::COLUMNS))
}

fn fields(fields: Fields) -> String {
    let row = |(path, unit, says): &(&str, &str, &str)| format!("| `{path}` | {unit} | {says} |\n");
    "| field | unit | what it is |\n| --- | --- | --- |\n".to_string() + &fields.iter().map(row).collect::<String>()
}

fn page() -> String {
    HEAD.to_string()
        + &summary(false)
        + SLOWDOWN
        + &slowdown()
        + RUNS
        + &columns(&OF_A_RUN)
        + &table::<FlowRow>("one row an answer of a server, a line of a list, or a Poisson flow")
        + "\nIts classes:\n\n"
        + &FlowKind::ALL.iter().map(|(kind, says)| format!("- `{}`: {says}\n", kind.word())).collect::<String>()
        + &table::<QueryRow>("one row a round or query")
        + &table::<StallRow>("one row a time in which nothing came to a client that waited, where there were any")
        + "\nIts causes:\n\n"
        + &Cause::KNOWN.iter().map(|(cause, says)| format!("- `{}`: {says}\n", cause.word())).collect::<String>()
        + &table::<PortRow>("one row a port that took or dropped a packet")
        + &table::<FaultRow>("one row a link over which packets met a fault")
        + &table::<PortPartRow>("one row a port and part of a run, where measure.ports is on")
        + &table::<MemoryRow>("one row a memory that a switch's ports share, where measure.ports is on")
        + &table::<MemoryPartRow>("one row a memory and part of a run")
        + &table::<HolderRow>(
            "one row a port that found no room and one that held the memory, those that held most first",
        )
        + &table::<TaskRow>("one row a task of a MapReduce job")
        + &table::<RequestRow>("one row a request of a key_value workload")
        + &table::<GatheringRow>("one row a gathering server, where the scheme gathers")
        + &table::<ServiceRow>("one row a query of the service beside a workload")
        + &table::<LatencyRow>("one row a class of packets, where measure.latency is on")
        + &table::<SampleRow>("one row a sample, which holds until the next one of its series")
        + &table::<EventRow>("one row a thing that happened")
        + &table::<HubRow>("one row a hub of a request, and one its front end")
        + &table::<HubSpeedRow>("one row a hub and step of the watch in which something came from it")
        + "\n## `fanin compare --json`\n\n"
        + &fields(COMPARE)
        + "\n"
        + &summary(true)
        + "\n"
        + &fields(MEMORIES).replacen("field", "field of `rows[].memories`", 1)
        + "\n"
        + &fields(TIERS).replacen("field", "field of `rows[].tiers[]`", 1)
        + "\n"
        + &fields(SERVICE).replacen("field", "field of `rows[].service`", 1)
        + "\n"
        + &fields(LEAST).replacen("field", "field of `rows[].least`", 1)
        + "\n"
        + &fields(SLOWEST).replacen("field", "field of `rows[].slowest`", 1)
        + "\n"
        + &fields(BACKGROUND).replacen("field", "field of `rows[].background`", 1)
        + "\n"
        + &fields(LATENCY).replacen("field", "field of `rows[].latency[]`", 1)
        + "\n## `fanin run --json`\n\n"
        + &fields(RUN)
        + "\n"
        + &columns(Totals::COLUMNS).replacen("column", "field of `totals`", 1)
        + "\n## `manifest.json`\n\n"
        + &fields(MANIFEST)
        + "\n## `figures`: one row a value that a figure draws\n\n"
        + &fields(FIGURES).replacen("field", "column", 1)
        + "\n## `scorecard.json`, and `fanin reproduce --json`\n\n"
        + &fields(SCORECARD)
}

#[test]
fn the_page_of_tables_is_what_the_tables_declare() {
    is_current("docs/tables.md", &page());
}

/// The names in the first column of what stands under the headings that begin so.
fn documented(page: &str, heading: &str) -> BTreeSet<String> {
    let (_, rest) = page.split_once(&format!("# `{heading}`")).unwrap_or_else(|| panic!("no heading for {heading}"));
    let part = rest.split("\n#").next().unwrap_or_default();
    part.lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`').map(|(name, _)| name.to_string()))
        .collect()
}

/// Checks every file of a folder of results, and gives the names of the tables.
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

/// The paths of an object's values: those of all members of a list, labels of schemes have no name of their own.
fn paths(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    let below = |key: &str| if path.is_empty() { key.to_string() } else { format!("{path}.{key}") };
    match value {
        Value::Object(map) if path == "onset" => assert!(found.insert("onset.LABEL".into()) && !map.is_empty()),
        Value::Object(map) => map.iter().for_each(|(key, value)| paths(value, &below(key), found)),
        Value::Array(items) if items.first().is_some_and(Value::is_object) => {
            items.iter().for_each(|item| paths(item, &format!("{path}[]"), found));
        }
        Value::Array(_) => drop(found.insert(format!("{path}[]"))),
        _ => drop(found.insert(path.to_string())),
    }
}

/// The same of what a page documents: `within` are fields of a table of their own.
fn told(fields: Fields, within: &[(&str, Vec<&str>)]) -> BTreeSet<String> {
    let list = |path: &&str| within.iter().all(|(of, _)| of != path);
    let own = fields.iter().map(|(path, ..)| *path).filter(list).map(String::from);
    let inner = within.iter().flat_map(|(of, names)| names.iter().map(move |name| format!("{of}.{name}")));
    own.chain(inner).collect()
}

/// Every path of an object.
fn found(value: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    paths(value, "", &mut found);
    found
}

/// What a command writes into a folder of its own: its object, and whether the folder holds these tables, documented.
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

#[test]
fn whatever_a_comparison_writes_is_documented() {
    let rows = || {
        let shared = ["seeds_differ", "fct_ms.at_least", "slowest", "cold", "background"];
        of_the_summary().filter(|column| flat(column)).map(|column| column.json).chain(shared).collect::<Vec<_>>()
    };
    let with = |within: &[&'static str]| rows().into_iter().filter(|name| !within.contains(name)).collect::<Vec<_>>();
    let of = |fields: Fields| fields.iter().map(|(path, ..)| *path).collect::<Vec<_>>();
    let compared = |set: &[&str], more: &[&str], within: &[(&str, Vec<&str>)]| {
        let mut tables = vec!["flows", "ports", "queries", "slowdown", "stalls", "summary"];
        tables.extend(more);
        let (mut object, _) = written(&[&ONE_POINT[..], set].concat(), &tables);
        // Some begin cold: in the form of the slowest.
        object["rows"][0]["cold"] = Value::Null;
        assert_eq!(found(&object), told(COMPARE, within), "{set:?}");
    };
    let least = ("rows[].least", of(LEAST));
    compared(&["--seeds", "2"], &[], &[("rows[]", rows()), least.clone()]);
    let within = [("rows[]", rows()), least.clone(), ("rows[].tiers[]", of(TIERS)), ("rows[].latency[]", of(LATENCY))];
    let measured = ["--set", "measure.ports=true", "--set", "measure.latency=true"];
    compared(&measured, &["latency", "port_series"], &within);
    let within = [
        ("rows[]", with(&["memories"])),
        least.clone(),
        ("rows[].tiers[]", of(TIERS)),
        ("rows[].memories", of(MEMORIES)),
    ];
    let measured = ["--set", "measure.ports=true", "--set", "switch.shared_buffer=64 KB"];
    compared(&measured, &["holders", "memories", "memory_series", "port_series"], &within);
    // Beside others, no bound is known.
    let beside = [with(&["background"]), vec!["least"]].concat();
    let within = [("rows[]", beside), ("rows[].service", of(SERVICE)), ("rows[].background", of(BACKGROUND))];
    compared(&["--set", "service.fan_out=4", "--set", "service.queries_per_s=100"], &["service"], &within);
    compared(&["--set", "faults.loss=0.01"], &["faults"], &[("rows[]", rows()), least.clone()]);
    let within = [("rows[]", with(&["slowest"])), least, ("rows[].slowest", of(SLOWEST))];
    let many = ["compare", "scenarios/fixed-fragment.toml", "--schemes", "dctcp", "--fan-in", "2", "--seeds", "3"];
    let small = ["--set", "workload.duration=300 ms", "--no-cache", "--json"];
    assert_eq!(found(&fanin(&[&many[..], &small].concat())), told(COMPARE, &within));
}

#[test]
fn whatever_one_run_writes_is_documented() {
    let point = ["run", "scenarios/fixed-fragment.toml", "--scheme", "newreno", "--fan-in", "8", "--samples", "1ms"];
    let tables = ["events", "flows", "ports", "queries", "samples", "slowdown", "summary"];
    let (object, manifest) = written(&[&point[..], &["--set", "workload.duration=300 ms"]].concat(), &tables);
    let within = [
        ("totals", names(Totals::COLUMNS)),
        ("queries[]", names(QueryRow::COLUMNS)),
        ("ports[]", names(PortRow::COLUMNS)),
    ];
    assert_eq!(found(&object), told(RUN, &within));
    assert_eq!(found(&manifest), told(MANIFEST, &[]));
    let hubs = ["run", "papers/sicc/tree.toml", "--scheme", "SICC(100)", "--set", "workload.queries=1", "--samples"];
    written(&hubs, &[&["hub_speeds", "hubs", "requests"], &tables[..]].concat());
}

#[test]
fn whatever_a_scorecard_writes_is_documented() {
    let tiny = ["reproduce", "tiny", "--papers-in", "crates/cli/tests/papers"];
    let (card, _) = written(&tiny, &["figures"]);
    // Nobody has tried the tiny paper's open parameters, and it has no precision at which runs would be spared.
    let mut found = found(&card);
    found.extend(HANGS_ON.into_iter().chain(SPARED).map(String::from));
    assert_eq!(found, told(SCORECARD, &[]));
}
