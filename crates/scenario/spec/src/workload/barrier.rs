//! Barrier-synchronised reads, and common functions for workloads with responses.

use crate::facts::{Facts, Moves};
use crate::setting::WarmUp;
use crate::settings::Settings;

pub(super) const FACTS: Facts = Facts {
    many_clients: true,
    moves: |s| answers_of(s, 1),
    says: |s, _| format!("barrier reads for {}: {}", s.workload.duration, answers(s)),
    ..Facts::READS
};

/// Volume of a response from each server, this many times and in each warm-up round; counts connections if each has a new one.
pub(super) fn answers_of(s: &Settings, times: u32) -> Moves {
    let warm_up = if let Some(WarmUp::Rounds(rounds)) = s.workload.warm_up.0 { rounds } else { 0 };
    let again = if s.workload.kind.facts().lasts { 0 } else { warm_up };
    let flows = f64::from(s.requested_servers()) * f64::from(s.clients()) * (f64::from(times) + f64::from(again));
    Moves { flows, bytes: flows * s.answer(s.servers(), 0).0 as f64, ..Moves::default() }
}

pub(super) fn answers(s: &Settings) -> String {
    let each = match s.clients() {
        1 => String::new(),
        clients => format!(" to each of {clients} clients"),
    };
    part_of_all(s) + &each
}

fn part_of_all(s: &Settings) -> String {
    match (s.workload.fragment.0, s.workload.block.0) {
        (Some(fragment), _) => match s.workload.stripe.0 {
            Some(_) => format!("{fragment} from each of {} random servers", s.requested_servers()),
            None => format!("{fragment} from each server"),
        },
        (None, Some(block)) => format!("{block} from all servers"),
        (None, None) => "unlimited".into(),
    }
}
