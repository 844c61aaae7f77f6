//! Computing time per query of PICC's plan and of ICTCP's window, at PICC's setting (section IV).

use std::hint::black_box;

use fanin_fanout::ictcp_window::{IctcpWindow, Params as WindowParams};
use fanin_papers::Mode;
use fanin_placement::picc::Params;
use fanin_placement::{Cluster, Kind, Object, Placement, RequestLog, Resources, Server, plan};
use fanin_units::{Rate, Time};

use fanin_execute::clock;
use fanin_plan::{Draws, Harmonic};

const OBJECTS: u32 = 100_000;
const RACKS: u32 = 80;
const RACK: u32 = 50;
const REPLICAS: u32 = 3;
/// Objects of a query, from several pages.
const QUERY: u32 = 2_000;
const PAGE: u32 = 50;
const PAGES: u32 = 5_000;
/// T.
const PERIOD: Time = Time::from_secs(300);
/// Number of measurements.
const TIMES: usize = 3;
/// Tries per measurement, of which the shortest counts, to exclude other load. A quick run tries once.
const TRIES: usize = 3;

/// Milliseconds per query of ICTCP's window and of a period's plan, by measurement, for this many queries per hour.
pub(super) fn time(rate: u32, mode: Mode) -> [Vec<f64>; 2] {
    let tries = if mode == Mode::Quick { 1 } else { TRIES };
    let queries = (u64::from(rate) * (PERIOD.0 / 1_000_000_000_000) / 3_600).max(1) as u32;
    let milliseconds = |mut act: Box<dyn FnMut()>| -> Vec<f64> {
        let mut once = || {
            let start = clock();
            act();
            start.elapsed().as_secs_f64() * 1e3 / f64::from(queries)
        };
        (0..TIMES).map(|_| (0..tries).map(|_| once()).fold(f64::INFINITY, f64::min)).collect()
    };
    let log = log(queries);
    let window = milliseconds(Box::new(move || {
        let mut window = IctcpWindow::start(&WindowParams::default(), Rate(10_000_000_000));
        for answer in 0..u64::from(queries) * u64::from(QUERY) {
            window.answered(Time::from_micros(answer), 522, Time::from_micros(100));
            black_box(window.window());
        }
    }));
    let (cluster, placement) = (cluster(), scattered());
    let sizes: Vec<u64> = (0..u64::from(OBJECTS)).map(|object| 20 + object * 7_919 % 1_005).collect();
    let planned = milliseconds(Box::new(move || {
        let planned = plan(&cluster, &sizes, &placement, &log, None, Kind::Picc, &Params::default());
        black_box(planned.expect("servers have room").moves.len());
    }));
    [window, planned]
}

/// Queries of whole pages; a page of rank r is requested in proportion to 1/r.
fn log(queries: u32) -> RequestLog {
    let mut draws = Draws(1);
    let pages: Vec<u32> = (0..PAGES * PAGE).map(|_| draws.below(OBJECTS)).collect();
    let ranks = Harmonic::new(PAGES);
    let mut log = RequestLog::new(OBJECTS as usize, usize::MAX);
    for query in 0..queries {
        let asked = (0..QUERY / PAGE).flat_map(|_| {
            let page = ranks.draw(&mut draws) * PAGE as usize;
            pages[page..page + PAGE as usize].iter().map(|object| Object(*object)).collect::<Vec<_>>()
        });
        let mut asked: Vec<Object> = asked.collect();
        asked.sort_unstable();
        asked.dedup();
        log.add(Time(PERIOD.0 / u64::from(queries) * u64::from(query)), asked);
    }
    log
}

/// Servers with more than enough capacity.
fn cluster() -> Cluster {
    let all = Resources { storage: 1 << 40, computing: 1 << 40, io: 1 << 40, bandwidth: 1 << 50 };
    let servers = RACKS * RACK;
    Cluster { racks: (0..servers).map(|server| server / RACK).collect(), capacities: vec![all; servers as usize] }
}

/// Each replica in a different rack.
fn scattered() -> Placement {
    let mut draws = Draws(2);
    let mut homes = Vec::new();
    for _ in 0..OBJECTS {
        let first = draws.below(RACKS);
        let step = 1 + draws.below(RACKS / REPLICAS - 1);
        homes.extend((0..REPLICAS).map(|replica| {
            let rack = (first + replica * step) % RACKS;
            Server(rack * RACK + draws.below(RACK))
        }));
    }
    Placement::new(REPLICAS as usize, homes)
}
