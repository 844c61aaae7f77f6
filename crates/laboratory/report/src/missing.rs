//! Lost packets that cause a wait: which packet, where, and the drop's reason.

use fanin_tables::EventRow;

use fanin_lab::figures::bytes;

/// A lost packet, in words.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub(super) struct Missing {
    /// `the request to server1`, `data of server7 (sequence 1461)`.
    pub packet: String,
    /// The port that it was lost at.
    pub port: String,
    /// When it was lost, since the start of the timeline.
    pub lost_us: f64,
    /// Cause: `as switch>client held 72 % of the shared memory`.
    pub why: String,
}

impl Missing {
    /// The packet that the timer of a connection retransmits: its last lost copy, of up to `segment` bytes.
    pub fn of(timer: &EventRow, segment: u64, events: &[EventRow], us: impl Fn(u64) -> f64) -> Option<Missing> {
        let first = timer.seq?;
        // The retransmission starts within the packet, and sequence numbers wrap.
        let covers = |seq: u64| (first as u32).wrapping_sub(seq as u32) < (segment.max(1) as u32);
        let lost = |e: &&EventRow| matches!(e.what.as_str(), "drop" | "loss") && e.of == timer.at && e.to == timer.to;
        let mut before = events.iter().filter(|e| e.time_ps < timer.time_ps).filter(lost).filter(|e| e.packet != "ack");
        let packet = before.rfind(|e| e.seq.is_some_and(covers))?;
        let lost_us = us(packet.time_ps);
        Some(Missing { packet: named(packet), port: packet.at.clone(), lost_us, why: why(packet) })
    }

    /// A clause for use after a semicolon.
    pub fn clause(&self) -> String {
        let Missing { packet, port, why, .. } = self;
        format!("{packet} was lost at {port}, {why}")
    }
}

fn named(packet: &EventRow) -> String {
    let EventRow { of, to, seq, .. } = packet;
    match (packet.packet.as_str(), of.starts_with("client")) {
        ("syn", _) => format!("the SYN of {of} to {to}"),
        ("data", true) => format!("the request to {to}"),
        ("data", false) => format!("data of {of} (sequence {})", seq.unwrap_or(0)),
        (other, _) => format!("the {} of {of} to {to}", other.to_uppercase()),
    }
}

fn why(packet: &EventRow) -> String {
    let EventRow { what, at, holder, .. } = packet;
    let queue = bytes(packet.queue_bytes.unwrap_or(0) as f64);
    match (what.as_str(), packet.why.as_str()) {
        ("loss", _) => "by a fault".into(),
        (_, "full") => match (packet.shared_bytes, packet.holder_bytes) {
            (Some(shared), Some(held)) if shared > 0 => {
                format!("because {holder} held {:.0} % of the shared memory", 100.0 * held as f64 / shared as f64)
            }
            (Some(_), _) => format!("because {at} had reached its share of the shared memory"),
            _ => format!("because its queue was full, with {queue} in it"),
        },
        (_, "early") => format!("because that port drops early, with {queue} in its queue"),
        (_, "not_ect") => {
            format!("because that port would have marked it, with {queue} in its queue, but it was not ECN-capable")
        }
        _ => "because that link was down".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drop(time_ps: u64, [of, to]: [&str; 2], seq: u64) -> EventRow {
        let port = if to == "client" { "switch>client".into() } else { format!("switch>{to}") };
        EventRow {
            time_ps,
            what: "drop".into(),
            at: port,
            of: of.into(),
            to: to.into(),
            packet: "data".into(),
            seq: Some(seq),
            why: "full".into(),
            queue_bytes: Some(64_000),
            ..EventRow::default()
        }
    }

    fn timer([at, to]: [&str; 2], seq: u64) -> EventRow {
        let (what, at, to) = ("timeout".into(), at.into(), to.into());
        EventRow { time_ps: 100, what, at, to, seq: Some(seq), ..EventRow::default() }
    }

    fn said(timer: &EventRow, events: &[EventRow]) -> Option<String> {
        Missing::of(timer, 1460, events, |ps| ps as f64).map(|missing| missing.clause())
    }

    #[test]
    fn names_lost_request_port_and_memory_holder() {
        let shared = EventRow {
            holder: "switch>server1".into(),
            holder_bytes: Some(1_440_000),
            shared_bytes: Some(2_000_000),
            ..drop(1, ["client", "server1"], 101)
        };
        let says = said(&timer(["client", "server1"], 101), &[shared]);
        let expected =
            "the request to server1 was lost at switch>server1, because switch>server1 held 72 % of the shared memory";
        assert_eq!(says.as_deref(), Some(expected));
    }

    #[test]
    fn packet_is_the_one_that_the_timer_retransmits() {
        let ends = ["server7", "client"];
        let events = [drop(1, ends, 1461), drop(2, ends, 2921), drop(3, ["server6", "client"], 1461)];
        let says = said(&timer(ends, 2921), &events);
        let expected =
            "data of server7 (sequence 2921) was lost at switch>client, because its queue was full, with 64.0 KB in it";
        assert_eq!(says.as_deref(), Some(expected));
        assert_eq!(said(&timer(ends, 4381), &events), None, "what had come is not lost");
    }

    #[test]
    fn names_other_causes_of_loss() {
        let ends = ["server7", "client"];
        let with = |what: &str, packet: &str, why: &str| EventRow {
            what: what.into(),
            packet: packet.into(),
            why: why.into(),
            ..drop(1, ends, 0)
        };
        let why = |row: EventRow| said(&timer(ends, 0), &[row]).unwrap_or_default();
        assert_eq!(why(with("loss", "syn", "")), "the SYN of server7 to client was lost at switch>client, by a fault");
        assert!(
            why(with("drop", "data", "early")).ends_with("because that port drops early, with 64.0 KB in its queue")
        );
        assert!(why(with("drop", "fin", "down")).starts_with("the FIN of server7 to client was lost"));
        assert_eq!(said(&timer(ends, 0), &[with("drop", "ack", "full")]), None, "nobody sends an ACK again");
    }
}
