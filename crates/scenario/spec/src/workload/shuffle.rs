//! All-to-all transfers.

use crate::facts::{Facts, Moves, Payload, Swept};
use crate::problem::wrong;
use crate::settings::Settings;

pub(super) const FACTS: Facts = Facts {
    all_hosts: true,
    payload: Payload::Fragments,
    moves: |s| {
        let hosts = f64::from(s.hosts());
        let flows = hosts * f64::from(s.servers()) * s.workload.pairs.as_f64();
        let bytes = flows * s.answer(s.servers(), 0).0 as f64;
        // All begin within the jitter, and end only as the network carries their bytes.
        let overlap = s.workload.start_jitter.as_secs_f64() < 8.0 * bytes / s.line_rate() as f64;
        Moves { flows, bytes, open: if overlap { flows } else { 0.0 }, draws: hosts * hosts, ..Moves::default() }
    },
    says,
    check: |s| match s.workload.pairs.in_q(32) {
        0 => wrong(&["workload.pairs"], "a shuffle needs a share of pairs above 0, such as 0.1"),
        _ => Ok(()),
    },
    ..Facts::BETWEEN
};

fn says(s: &Settings, swept: &Swept) -> String {
    let of = match s.workload.pairs.as_f64() {
        1.0 => "every other host".into(),
        share => format!("{} % of the other hosts", (swept.three)(100.0 * share)),
    };
    let size = s.workload.fragment.0.map_or(String::new(), |size| size.to_string());
    format!("shuffle between {} hosts: {size} from each to {of}", swept.hosts)
}
