//! `fanin run`: one scheme, once.

use std::io::Write;
use std::num::NonZeroUsize;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::thread::available_parallelism;

use fanin::words::Scheme;
use fanin::{
    Axis, CollectiveRow, Comparison, HolderRow, MemoryRow, PauseRow, PortRow, Resolved, Row, RunSpec, RunTables, Time,
    Variant, Watch, one_core, place_of,
};

use crate::arguments::RunArguments;
use crate::chart::header;
use crate::failure::Failure;
use crate::figures::{BOLD, GREY, clean, columns, three, time, wrap};
use crate::load::{Asked, Loaded, fan_ins, load, read};
use crate::spread::{deadlock, slowdown};
use crate::stop::STOP;
use crate::terminal::{fold, say, width};
use crate::verdict::verdicts;
use crate::work::{self, Means, all_finished, cost, in_lab, warn};

/// Number of rows printed per table; `--json` and `--out` include all.
const SHOWN: usize = 12;

/// Runs the scheme and prints totals, queries and ports.
pub fn run(arguments: &RunArguments) -> Result<(), Failure> {
    let (common, asked) =
        (&arguments.common, one_run(&arguments.scheme, arguments.fan_in.as_deref(), arguments.seed.as_deref())?);
    let Loaded { scenario, out } = load(read(&arguments.scenario)?, &common.set, common.out.as_deref(), &asked)?;
    let spec = scenario.one_run()?;
    let watch = arguments.samples.map(|step| watch(step, &arguments.server, scenario.variants())).transpose()?;
    warn(scenario.warnings());
    let cores = arguments.cores.unwrap_or(NonZeroUsize::MIN);
    on_cores(cores, &spec);
    let means = Means { jobs: Some(cores), cached: !common.no_cache };
    let comparison = match arguments.follow {
        true => follow(&scenario, &spec, means)?,
        false => in_lab(means, |lab, hear| lab.run(&scenario, watch.as_ref(), hear))?,
    };
    if let Some(out) = out {
        comparison.write(out, &work::arguments())?;
    }
    if let Some((spec, tables)) = comparison.runs().next().filter(|_| !arguments.follow) {
        if common.json {
            say(&(comparison.to_json() + "\n"))?;
        } else {
            say(&(text(&comparison, spec, tables) + "\n" + &verdicts(comparison.findings(), width())))?;
            // A failure to print the cost is not an error.
            let _ = writeln!(anstream::stderr(), "{GREY}{}{GREY:#}", fold(&cost(&comparison)));
        }
    }
    all_finished(&comparison)
}

/// Runs a trace, and prints a line for each collective operation. If the output is closed, the run stops.
fn follow(scenario: &Resolved, spec: &RunSpec, means: Means) -> Result<Comparison, Failure> {
    if spec.settings.inputs.trace.is_none() {
        return Err(Failure::Input("--follow: only a trace has collective operations to follow; use --json".into()));
    }
    let failure = Mutex::new(None);
    let print = |row: &CollectiveRow| {
        let line = serde_json::to_string(row).unwrap_or_default();
        if let Err(error) = say(&(line + "\n")) {
            STOP.store(true, Ordering::Relaxed);
            failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    };
    let comparison = in_lab(means, |lab, hear| lab.follow(scenario, &print, hear));
    match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(failure) => Err(failure),
        None => comparison,
    }
}

/// Warns about cores that a run cannot use.
fn on_cores(cores: NonZeroUsize, spec: &RunSpec) {
    if cores == NonZeroUsize::MIN {
        return;
    }
    let there = available_parallelism().unwrap_or(cores);
    if cores > there {
        warn(&[format!("--cores {cores}: this machine has {there} cores; using more is not faster")]);
    }
    if let Some(why) = one_core(spec) {
        work::notice(&format!("running on one core: {why}"));
    }
}

/// Changes to the scenario for one scheme, one fan-in and one seed.
pub fn one_run<'a>(scheme: &'a str, fan_in: Option<&str>, seed: Option<&str>) -> Result<Asked<'a>, Failure> {
    let mut keys = vec![("one run".into(), "run.seeds", "1".into())];
    if let Some(fan_in) = fan_in {
        if fan_in.contains(',') {
            let what = format!("--fan-in {fan_in}: use one number of servers; `fanin compare` accepts several");
            return Err(Failure::Input(what));
        }
        keys.push((format!("--fan-in {fan_in}"), "sweep.fan_in", fan_ins(fan_in)?));
    }
    if let Some(seed) = seed {
        keys.push((format!("--seed {seed}"), "run.first_seed", seed.into()));
    }
    Ok(Asked { schemes: Some((format!("--scheme {scheme}"), vec![scheme])), keys, sweeps: Vec::new() })
}

/// Watches the whole run, with the windows of the named servers, or of all.
fn watch(step: Time, names: &[String], variants: &[Variant]) -> Result<Watch, Failure> {
    let servers = variants.first().map_or(0, |variant| variant.settings.servers());
    let number = |name: &String| {
        let number = name.strip_prefix("server").and_then(|n| n.parse::<u32>().ok());
        number
            .filter(|n| (1..=servers).contains(n))
            .map(|n| n - 1)
            .ok_or_else(|| Failure::Input(format!("--server {name}: unknown server; use server1 to server{servers}")))
    };
    let servers = match names {
        [] => (0..servers).collect(),
        names => names.iter().map(number).collect::<Result<_, _>>()?,
    };
    Ok(Watch { step, from: Time::ZERO, to: Time::NEVER, servers })
}

fn text(comparison: &Comparison, spec: &RunSpec, tables: &RunTables) -> String {
    let scenario = comparison.scenario();
    let slowdown = slowdown(&Axis::of(scenario.variants()), comparison.summary(), width());
    let title = |text: &str| format!("\n{BOLD}{text}{BOLD:#}\n");
    let who = clean(&place_of(spec));
    let rounds = match tables.queries.is_empty() {
        true => String::new(),
        false => title("queries") + &queries(tables),
    };
    let slowdown = if slowdown.is_empty() { String::new() } else { format!("\n{slowdown}") };
    header(scenario.name(), scenario.title(), scenario.variants(), width())
        + &title(&format!("{}, {who}: {} Mbit/s", clean(&spec.label), three(tables.goodput_mbps())))
        + &totals(&spec.scheme, tables)
        + &rounds
        + &slowdown
        + &title("ports")
        + &ports(tables)
        + &pauses(tables)
        + &memories(tables)
}

/// Totals that only TCP has.
const OF_TCP: [&str; 3] = ["probes", "fast_retransmits", "background_fast_retransmits"];

fn totals(scheme: &Scheme, tables: &RunTables) -> String {
    use fanin::{Cell, Totals};
    let name = Totals::COLUMNS.iter().map(|c| c.name.len()).max().unwrap_or(0);
    // Print a figure's meaning next to it, or below if it does not fit.
    let beside = name + 2 + 16 + 2;
    let (indent, first) = if width() >= beside + 30 { (beside, "") } else { (2, "\n  ") };
    let all = Totals::COLUMNS.iter().zip(tables.totals.cells());
    let lines = all.filter(|(column, _)| scheme.is_tcp() || !OF_TCP.contains(&column.name)).map(|(column, cell)| {
        let shown = match cell {
            Cell::U64(None) => String::new(),
            Cell::U64(Some(n)) if column.unit() == "ps" => time(n as f64 / 1e9),
            Cell::U64(Some(n)) => n.to_string(),
            Cell::Text(text) => text,
        };
        let blank = " ".repeat(indent);
        let doc = wrap(column.doc, width() - indent, "").replace('\n', &format!("\n{blank}"));
        // Times are printed with a unit, so drop it from the name.
        let called = column.name.strip_suffix("_ps").unwrap_or(column.name);
        format!("{called:<name$}  {shown:>16}  {first}{GREY}{doc}{GREY:#}\n")
    });
    lines.collect()
}

fn queries(tables: &RunTables) -> String {
    let ms = |ps: u64| ps as f64 / 1e9;
    let rows: Vec<Vec<String>> = tables
        .queries
        .iter()
        .take(SHOWN)
        .map(|q| {
            let waited = q.waited_ps.map_or("unfinished".into(), |ps| format!(">{}", time(ms(ps))));
            let took = q.qct_ps.map_or(waited, |ps| time(ms(ps)));
            vec![
                q.round.to_string(),
                time(ms(q.start_ps)),
                took,
                q.timeouts.map_or("-".into(), |count| count.to_string()),
            ]
        })
        .collect();
    columns(&["round", "start", "time", "timeouts"], &rows, 1, width()) + &more(tables.queries.len())
}

/// Ports, those with most drops, marks and queue first.
fn ports(tables: &RunTables) -> String {
    let mut order: Vec<&PortRow> = tables.ports.iter().collect();
    order.sort_by_key(|p| std::cmp::Reverse((p.drops(), p.marks, p.queue_max_bytes)));
    let rows: Vec<Vec<String>> = order
        .iter()
        .take(SHOWN)
        .map(|p| {
            let numbers =
                [p.packets, p.drops_full, p.drops_early, p.drops_not_ect, p.drops_down, p.marks, p.queue_max_bytes];
            [p.port.clone()].into_iter().chain(numbers.map(|n| n.to_string())).collect()
        })
        .collect();
    let head = ["port", "packets", "drops: full", "early", "not ECT", "link down", "marks", "longest queue, B"];
    columns(&head, &rows, 1, width()) + &more(tables.ports.len())
}

/// Links that switches paused, those with the longest pauses first; empty without any.
fn pauses(tables: &RunTables) -> String {
    if tables.pauses.is_empty() {
        return String::new();
    }
    let mut order: Vec<&PauseRow> = tables.pauses.iter().collect();
    order.sort_by_key(|row| std::cmp::Reverse(row.paused_ps));
    let line = |row: &&PauseRow| {
        let [paused, longest] = [row.paused_ps, row.longest_ps].map(|ps| time(ps as f64 / 1e9));
        vec![row.port.clone(), row.pauses.to_string(), paused, longest, row.cause.clone()]
    };
    let rows: Vec<Vec<String>> = order.iter().take(SHOWN).map(line).collect();
    format!("\n{BOLD}pauses{BOLD:#} of links by lossless ports\n")
        + &columns(&["link", "pauses", "together", "longest", "because of"], &rows, 1, width())
        + &more(tables.pauses.len())
        + &tables.deadlocks.iter().map(|cycle| deadlock("the run ends", &cycle.ports, width())).collect::<String>()
}

/// Shared memories, and the ports that held them when packets were refused; empty if not measured.
fn memories(tables: &RunTables) -> String {
    if tables.memories.is_empty() {
        return String::new();
    }
    let title = |text: &str, says: &str| format!("\n{BOLD}{text}{BOLD:#}{says}\n");
    let mut fullest: Vec<&MemoryRow> = tables.memories.iter().collect();
    fullest.sort_by_key(|memory| std::cmp::Reverse((memory.refused_packets, memory.used_max_bytes)));
    let numbers = |m: &&MemoryRow| {
        let numbers = [m.shared_bytes, m.used_mean_bytes, m.used_p99_bytes, m.used_max_bytes, m.refused_packets];
        [m.switch.clone()].into_iter().chain(numbers.map(|n| n.to_string())).collect()
    };
    let rows: Vec<Vec<String>> = fullest.iter().take(SHOWN).map(numbers).collect();
    let head = ["switch", "shared, B", "in use: mean", "p99", "max", "refused packets"];
    let mut text = title("shared memory", "") + &columns(&head, &rows, 1, width()) + &more(tables.memories.len());
    let held = |row: &HolderRow| {
        vec![row.port.clone(), row.refused_packets.to_string(), row.holder.clone(), row.held_mean_bytes.to_string()]
    };
    let rows: Vec<Vec<String>> = tables.holders.iter().take(SHOWN).map(held).collect();
    if !rows.is_empty() {
        text += &title("holders", " of the memory when packets were refused");
        let head = ["port", "refused packets", "holder", "held, mean B"];
        text += &(columns(&head, &rows, 1, width()) + &more(tables.holders.len()));
    }
    text
}

fn more(total: usize) -> String {
    match total.saturating_sub(SHOWN) {
        0 => String::new(),
        rest => format!("{GREY}and {rest} more (see --json or --out){GREY:#}\n"),
    }
}
