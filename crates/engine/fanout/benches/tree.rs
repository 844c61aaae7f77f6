//! Time that a front end takes to form the swarms of a request and their tree (SICC, Figure 10): `make bench-tree`.
//!
//! Target servers have one to ten objects each, 60 servers per rack, eight racks per aggregation router, in random order; 50 hubs may send
//! to the front end. The paper took about 4 ms for 50,000 servers.
#![expect(clippy::disallowed_methods, reason = "a benchmark measures time")]

use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use fanin_fanout::swarm::{Policy, Swarm, Swarms, Target};
use fanin_fanout::tree::{Hub, Tree};

const A_RACK: u32 = 60;
const A_ROUTER: u32 = 8;
const MOST: u32 = 50;
const RUNS: usize = 301;
/// Number of servers, and the limit of the median.
const BUDGET: [(u32, Duration); 2] = [(10_000, Duration::from_micros(200)), (50_000, Duration::from_millis(1))];

fn main() -> ExitCode {
    println!(
        "{:>8} {:>6} {:>9} {:>9} {:>9} {:>9} {:>6} {:>8}",
        "servers", "racks", "swarms us", "tree us", "both us", "p95 us", "depth", "children"
    );
    let mut code = ExitCode::SUCCESS;
    for servers in [1_000, 5_000, 10_000, 20_000, 30_000, 40_000, 50_000, 100_000] {
        let both = row(servers);
        if let Some((_, most)) = BUDGET.iter().find(|(size, most)| *size == servers && both > *most) {
            println!("  {servers} servers: over the limit of {} us", most.as_micros());
            code = ExitCode::FAILURE;
        }
    }
    code
}

/// Measures requests of this size, prints the times, and returns the median.
fn row(servers: u32) -> Duration {
    let targets = targets(servers);
    let mut swarms = Swarms::default();
    let mut taken = Vec::with_capacity(RUNS);
    let (mut depth, mut children) = (0, 0);
    for _ in 0..RUNS {
        let began = Instant::now();
        swarms.form(black_box(&targets), Policy::MostObjects);
        let formed = began.elapsed();
        let hub = |swarm: &Swarm| Hub { objects: swarm.objects, aggregation: swarm.rack / A_ROUTER };
        let hubs: Vec<Hub> = swarms.swarms().iter().map(hub).collect();
        let tree = black_box(Tree::build(&hubs, MOST));
        taken.push((began.elapsed(), formed));
        depth = tree.depth();
        children = (0..hubs.len() as u32).map(|hub| tree.children(hub).len()).max().unwrap_or(0);
    }
    taken.sort_unstable();
    let (both, formed) = taken[RUNS / 2];
    let us = |time: Duration| format!("{:.1}", time.as_secs_f64() * 1e6);
    let cells = [us(formed), us(both - formed), us(both), us(taken[RUNS * 95 / 100].0)];
    print!("{servers:>8} {:>6}", swarms.swarms().len());
    cells.iter().for_each(|cell| print!(" {cell:>9}"));
    println!(" {depth:>6} {children:>8}");
    both
}

/// Servers in random order.
fn targets(servers: u32) -> Vec<Target> {
    let mut state = u64::from(servers);
    let mut draw = |below: u32| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % u64::from(below)) as u32
    };
    let mut order: Vec<u32> = (0..servers).collect();
    for place in 0..servers {
        order.swap(place as usize, (place + draw(servers - place)) as usize);
    }
    let target = |server: u32| Target { server, rack: server / A_RACK, objects: 1 + draw(10), spare_io: 0 };
    order.into_iter().map(target).collect()
}
