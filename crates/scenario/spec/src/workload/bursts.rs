//! Bursts into the client.

use super::flows::last_part;
use crate::facts::{Facts, Leaves, Moves, Payload};
use crate::problem::{Wrong, wrong};
use crate::settings::Settings;

pub(super) const FACTS: Facts = Facts {
    asks: false,
    limits: false,
    payload: Payload::Own,
    leaves: Leaves::Nothing,
    setup_rtts: None,
    moves: |s| {
        let (flows, bytes) = match (&s.inputs.bursts, s.bursts.means()) {
            (Some(bursts), _) => bursts.within(s.given_s()),
            (None, Some([gap, fan_in, width])) => {
                let bursts = s.given_s() / gap;
                (bursts * fan_in, bursts * width * s.line_rate() as f64 / 8.0)
            }
            (None, None) => (0.0, 0.0),
        };
        Moves { flows, bytes, ..Moves::default() }
    },
    says: |s, _| {
        let of = match &s.inputs.bursts {
            Some(bursts) => format!("of {}", last_part(bursts.name())),
            None => format!("of {} servers and {} on average", s.bursts.height, s.bursts.width),
        };
        format!("bursts {of} for {}", s.workload.duration)
    },
    check,
    ..Facts::READS
};

fn check(s: &Settings) -> Result<(), Wrong> {
    let widest = 2 * s.bursts.height - 1;
    match (&s.workload.bursts.0, s.bursts.spacing.0) {
        (Some(_), None) => Ok(()),
        (None, None) => {
            let what = "the bursts workload needs `workload.bursts`, such as \"bursts.csv\", or a generator (`bursts.spacing`)";
            wrong(&["workload.kind"], what)
        }
        (Some(_), Some(_)) => {
            let what = "`workload.bursts` and `bursts.spacing` are mutually exclusive; set only one";
            wrong(&["bursts.spacing", "workload.bursts"], what)
        }
        (None, Some(_)) if widest > s.servers() => {
            let what = format!(
                "bursts have up to {widest} servers, but there are {}: use a fan-in of at least {widest}",
                s.servers()
            );
            wrong(&["bursts.height", "bursts.spacing"], what)
        }
        (None, Some(_)) => Ok(()),
    }
}
