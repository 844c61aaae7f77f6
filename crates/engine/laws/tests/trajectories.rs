//! One short timeline per algorithm, as a table for review in a diff: `trajectories/*.txt`. Its steps are in the algorithm's
//! vectors, under `story`.
//!
//! `UPDATE=1 cargo test -p fanin-laws --test trajectories` rewrites the tables; review the changes.

mod support;

#[path = "trajectories/flow.rs"]
mod flow;
#[path = "trajectories/offers.rs"]
mod offers;
#[path = "trajectories/queue.rs"]
mod queue;
#[path = "trajectories/replayed.rs"]
mod replayed;
#[path = "trajectories/table.rs"]
mod table;

use support::{Granting, Lossless, Pair, Sender, files, is_of_ports, is_of_rates, is_of_receivers, is_over_trimming};

#[test]
fn trajectories_match_the_committed_tables() {
    let told = |(law, file): (&'static str, serde_json::Value)| {
        let story = &file["story"];
        let steps = story["steps"].as_array().unwrap_or_else(|| panic!("vectors/{law}.json has no story"));
        table::differs(&match law {
            _ if is_of_ports(law) => queue::Port::new(law, story).run(steps),
            _ if is_of_rates(law) => replayed::run(law, story, Sender::new(law, story), Sender::step),
            _ if is_over_trimming(law) => replayed::run(law, story, Pair::new(law, story), Pair::step),
            "pfc" => replayed::run(law, story, Lossless::new(law, story), Lossless::step),
            "grants" => replayed::run(law, story, Granting::new(law, story), Granting::step),
            _ if is_of_receivers(law) => offers::Receiver::new(law, story).run(steps),
            _ => flow::Flow::new(law, story).run(steps),
        })
    };
    let others: Vec<String> = files().filter_map(told).collect();
    assert!(others.is_empty(), "{}", others.concat());
}
