//! Pauses of a watched run: which links switches paused, when, and because of which port.

use std::collections::BTreeMap;

use fanin_tables::EventRow;

/// Pauses in the part of a run that is shown.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub(super) struct ShownPauses {
    /// Their number, including those omitted below.
    pub total: usize,
    /// The longest ones, by their starts.
    pub longest: Vec<ShownPause>,
}

#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub(super) struct ShownPause {
    /// The node at the sending end of the link.
    sender: String,
    /// The port whose queue caused it.
    cause: String,
    from_us: f64,
    to_us: f64,
}

/// Maximum number of pauses shown.
const SHOWN: usize = 3_000;

impl ShownPauses {
    /// Of the events of a part that ends at `end_us`; a pause that does not end lasts until then.
    pub fn of(events: &[EventRow], end_us: f64, us: impl Fn(u64) -> f64) -> ShownPauses {
        let mut open: BTreeMap<&str, (f64, &str)> = BTreeMap::new();
        let mut all = Vec::new();
        let pause = |link: &str, (from_us, cause): (f64, &str), to_us| {
            let sender = link.split_once('>').map_or(link, |(from, _)| from);
            ShownPause { sender: sender.into(), cause: cause.into(), from_us, to_us }
        };
        for event in events {
            match event.what.as_str() {
                "pause" => drop(open.entry(&event.at).or_insert((us(event.time_ps), &event.of))),
                "resume" => {
                    all.extend(open.remove(event.at.as_str()).map(|begun| pause(&event.at, begun, us(event.time_ps))))
                }
                _ => {}
            }
        }
        all.extend(open.into_iter().map(|(link, begun)| pause(link, begun, end_us)));
        let total = all.len();
        all.sort_by(|a, b| (b.to_us - b.from_us).total_cmp(&(a.to_us - a.from_us)));
        all.truncate(SHOWN);
        all.sort_by(|a, b| a.from_us.total_cmp(&b.from_us));
        ShownPauses { total, longest: all }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_last_until_their_end_or_the_parts() {
        let event = |us: u64, what: &str, at: &str| EventRow {
            time_ps: us * 1_000_000,
            what: what.into(),
            at: at.into(),
            of: "switch>client".into(),
            ..EventRow::default()
        };
        let events = [
            event(1, "pause", "server1>switch"),
            event(2, "pause", "leaf0>spine1"),
            event(3, "drop", "switch>client"),
            event(5, "resume", "server1>switch"),
            event(6, "resume", "server9>switch"),
            event(7, "pause", "server1>switch"),
        ];
        let pauses = ShownPauses::of(&events, 10.0, |ps| ps as f64 / 1e6);
        let pause = |sender: &str, from_us, to_us| ShownPause {
            sender: sender.into(),
            cause: "switch>client".into(),
            from_us,
            to_us,
        };
        let expected = vec![pause("server1", 1.0, 5.0), pause("leaf0", 2.0, 10.0), pause("server1", 7.0, 10.0)];
        assert_eq!(pauses, ShownPauses { total: 3, longest: expected });
    }
}
