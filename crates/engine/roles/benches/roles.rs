//! Time that a role takes per message, without a network: `make bench-roles`. Each must take less than 200 ns.
//!
//! A front end requests 1,000 objects at a time: from 200 servers, or through 20 hubs; a hub collects 1,000 objects from 60 servers for one
//! request, and 100 for each of 100; a data server responds. Start and end of a request count as its messages do.
#![expect(clippy::disallowed_methods, reason = "a benchmark measures time")]

#[path = "../tests/support/mod.rs"]
mod support;

use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use fanin_roles::data_server::{DataServer, HOPS, Lookup, Order, Params};
use fanin_roles::wire::{Numbered, Size};
use fanin_roles::{Message, Node, Output};
use fanin_units::Time;

use support::Out;
use support::work::{Gathers, run_requests};

const BUDGET: Duration = Duration::from_nanos(200);
const RUNS: usize = 201;

fn main() -> ExitCode {
    let rows = [
        row("front end, one-all", run_requests(fanin_fanout::Kind::OneAll)),
        row("front end, sicc", run_requests(fanin_fanout::Kind::Sicc)),
        row("hub, one request", gathers(1, 1_000)),
        row("hub, 100 requests", gathers(100, 1_000)),
        row("data server", serves()),
    ];
    match rows.iter().all(|median| *median < BUDGET) {
        true => ExitCode::SUCCESS,
        false => {
            println!("  over the limit of {} ns", BUDGET.as_nanos());
            ExitCode::FAILURE
        }
    }
}

/// Measures work that returns its number of messages; prints and returns the median time per message.
fn row(of: &str, mut work: impl FnMut() -> u32) -> Duration {
    let mut taken: Vec<Duration> = Vec::with_capacity(RUNS);
    let mut messages = 0;
    for _ in 0..RUNS {
        let began = Instant::now();
        messages = black_box(work());
        taken.push(began.elapsed() / messages);
    }
    taken.sort_unstable();
    let (median, p95) = (taken[RUNS / 2], taken[RUNS * 95 / 100]);
    let a_second = 1e3 / median.as_nanos().max(1) as f64;
    println!(
        "{of:<20} {messages:>7} messages {:>5} ns each, p95 {:>5} ns: {a_second:>5.1} million a second",
        median.as_nanos(),
        p95.as_nanos()
    );
    median
}

/// Runs requests concurrently, one message of each in turn.
fn gathers(requests: u32, objects: u32) -> impl FnMut() -> u32 {
    let mut gathers = Gathers::new();
    move || gathers.requests(requests, objects)
}

fn serves() -> impl FnMut() -> u32 {
    let mut server = DataServer::new(Params { me: Node(1), most: 1_000, order: Order::AtOnce });
    let mut out = Out::new();
    move || {
        for index in 0..10_000 {
            out.clear();
            let tag = fanin_roles::Tag { origin: Node(0), request: 1, epoch: 0, nonce: 0 };
            let lookup = Lookup { asker: Node(5), tag, index, key: Numbered(index.into()), hops: HOPS };
            server.handle_request(lookup, &mut out);
            server.found(Time::ZERO, &lookup, Some(Size(100)), &mut out);
            let said: &[Output<Numbered, Size>] = black_box(&out);
            assert!(matches!(said, [_, Output::Send { message: Message { .. }, .. }]));
        }
        10_000
    }
}
