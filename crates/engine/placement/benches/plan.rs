//! Duration of a period's plan (PICC, Figure 7b): `make bench-placement`.
//!
//! The paper's setting: 100,000 objects with three replicas each on 4,000 servers in racks of 50; in five minutes 417 queries (5,000 per
//! hour) for 1,000 objects each, Zipf distributed. The paper took 11 ms per query. Then ten times the objects, and ten million requests.
#![expect(clippy::disallowed_methods, reason = "a benchmark measures time")]

#[path = "../tests/placement/generate.rs"]
mod generate;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use fanin_placement::closeness::{UNIT, closeness};
use fanin_placement::cut_clusters::cut_clusters;
use fanin_placement::picc::Params;
use fanin_placement::{Kind, Object, RequestLog, Resources, plan, plan_groups};
use fanin_units::Time;
use generate::{Draws, Zipfian, cluster, distinct, scattered};

/// A period to plan from.
struct Period {
    objects: u32,
    queries: u64,
    a_query: usize,
    runs: usize,
    /// Time limit of the whole plan.
    budget: Duration,
}

/// With pages of ten objects, for groups of servers.
const PAGED: [Period; 2] = [
    Period { objects: 100_000, queries: 100_000, a_query: 10, runs: 1, budget: Duration::from_secs(30) },
    Period { objects: 1_000_000, queries: 1_000_000, a_query: 10, runs: 1, budget: Duration::from_secs(30) },
];

const PERIODS: [Period; 4] = [
    Period { objects: 100_000, queries: 417, a_query: 1_000, runs: 7, budget: Duration::from_millis(417 * 11) },
    Period { objects: 100_000, queries: 4_170, a_query: 100, runs: 7, budget: Duration::from_millis(417 * 11) },
    Period { objects: 1_000_000, queries: 100_000, a_query: 10, runs: 3, budget: Duration::from_secs(30) },
    Period { objects: 1_000_000, queries: 1_000_000, a_query: 10, runs: 3, budget: Duration::from_secs(30) },
];
/// Memory limit in MB.
const MEMORY: u64 = 4_000;

fn main() -> ExitCode {
    println!(
        "{:>9} {:>9} {:>8} {:>9} {:>10} {:>10} {:>10} {:>11} {:>8} {:>9} {:>8}",
        "objects",
        "queries",
        "a query",
        "log ms",
        "close ms",
        "cuts ms",
        "plan ms",
        "ms a query",
        "moves",
        "clusters",
        "peak MB"
    );
    let mut code = ExitCode::SUCCESS;
    for period in &PERIODS {
        let took = row(period);
        if took > period.budget {
            println!("  over the limit of {} ms", period.budget.as_millis());
            code = ExitCode::FAILURE;
        }
    }
    for (period, paged) in PAGED.iter().flat_map(|period| [(period, true), (period, false)]) {
        if groups(period, paged) > period.budget {
            println!("  over the limit of {} ms", period.budget.as_millis());
            code = ExitCode::FAILURE;
        }
    }
    if peak() > MEMORY {
        println!("  over the limit of {MEMORY} MB");
        code = ExitCode::FAILURE;
    }
    code
}

/// Measures plans of a period, prints the times, and returns the least.
fn row(period: &Period) -> Duration {
    let mut draws = Draws(7);
    let (log, logged) = log(period, &mut draws);
    let placement = scattered(period.objects, 3, 80, 50, &mut draws);
    let sizes: Vec<u64> = (0..period.objects).map(|_| u64::from(20 + draws.below(1_005))).collect();
    let capacity = Resources { storage: 64 << 30, computing: 30_000_000, io: 30_000_000, bandwidth: 375_000_000_000 };
    let cluster = cluster(80, 50, capacity);
    let settings = Params::default();
    let (mut whole, mut close, mut cuts) = (Vec::new(), Vec::new(), Vec::new());
    let (mut moves, mut clusters) = (0, 0);
    for _ in 0..period.runs {
        let began = Instant::now();
        let plan = plan(&cluster, &sizes, &placement, &log, None, Kind::Picc, &settings).expect("there is room");
        whole.push(began.elapsed());
        (moves, clusters) = (plan.moves.len(), plan.clusters.len());
        let began = Instant::now();
        let edges = closeness(&log, None, &settings);
        close.push(began.elapsed());
        let began = Instant::now();
        cut_clusters(period.objects as usize, &edges, u64::from(settings.w) * u64::from(UNIT));
        cuts.push(began.elapsed());
    }
    // The minimum, since other load on the machine only adds to it.
    let [whole, close, cuts] = [whole, close, cuts].map(|taken| taken.into_iter().min().unwrap_or_default());
    let Period { objects, queries, a_query, .. } = period;
    print!("{objects:>9} {queries:>9} {a_query:>8} {:>9}", logged.as_millis());
    [close, cuts, whole].iter().for_each(|taken| print!(" {:>10.1}", taken.as_secs_f64() * 1e3));
    print!(" {:>11.3}", whole.as_secs_f64() * 1e3 / *queries as f64);
    println!(" {moves:>8} {clusters:>9} {:>8}", peak());
    whole
}

/// The same for a plan by groups, with pages or independent draws.
fn groups(period: &Period, paged: bool) -> Duration {
    let mut draws = Draws(7);
    let Period { objects, queries, a_query, .. } = *period;
    let log = if paged { pages(period, &mut draws) } else { log(period, &mut draws).0 };
    let placement = scattered(objects, 3, 80, 50, &mut draws);
    let sizes: Vec<u64> = (0..objects).map(|_| u64::from(20 + draws.below(1_005))).collect();
    let capacity = Resources { storage: 64 << 30, computing: 30_000_000, io: 30_000_000, bandwidth: 375_000_000_000 };
    let cluster = cluster(80, 50, capacity);
    let began = Instant::now();
    let plan = plan_groups(&cluster, &sizes, &placement, &log, &Default::default(), None).expect("there is room");
    let took = began.elapsed();
    let what = if paged { "pages" } else { "draws" };
    println!(
        "groups of {objects} objects, {queries} queries of {a_query}, {what}: {} ms, {} moves, peak of {} MB",
        took.as_millis(),
        plan.moves.len(),
        peak()
    );
    took
}

/// A log of Zipf distributed pages, with two objects replaced per query.
fn pages(period: &Period, draws: &mut Draws) -> RequestLog {
    let (a_page, pages) = (period.a_query as u32, period.objects / period.a_query as u32);
    let popular = Zipfian::new(pages);
    let mut log = RequestLog::new(period.objects as usize, 1 << 24);
    for number in 0..period.queries {
        let page = popular.draw(draws).wrapping_mul(7_919) % pages;
        let others: Vec<u32> = (0..2).map(|_| draws.below(period.objects)).collect();
        let query = (page * a_page + 2..(page + 1) * a_page).chain(others).map(Object);
        log.add(Time::from_millis(300_000 * number / period.queries), query);
    }
    log
}

/// A log of the period with random object numbers, and the time to write it.
fn log(period: &Period, draws: &mut Draws) -> (RequestLog, Duration) {
    let popular = Zipfian::new(period.objects);
    let mut objects: Vec<u32> = (0..period.objects).collect();
    for place in 0..objects.len() {
        let other = place + draws.below((objects.len() - place) as u32) as usize;
        objects.swap(place, other);
    }
    let mut query = || distinct(period.a_query, || objects[popular.draw(draws) as usize]);
    let queries: Vec<Vec<Object>> = (0..period.queries).map(|_| query()).collect();
    let began = Instant::now();
    let mut log = RequestLog::new(period.objects as usize, 1 << 24);
    for (query, number) in queries.into_iter().zip(0..) {
        log.add(Time::from_millis(300_000 * number / period.queries), query);
    }
    (log, began.elapsed())
}

/// Peak memory of the process, in MB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|kb| kb.parse::<u64>().ok()).unwrap_or(0) / 1_000
}
