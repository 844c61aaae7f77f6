//! Observations that support a cause, each with its figures: none can be put into words without them.

use serde::{Serialize, Serializer};

use crate::words::time;

/// A fact in a capture about a stall. Times are in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Observation {
    /// The client's window had no room for the next segment in all of the stall.
    NoRoom {
        /// Duration of the stall.
        idle_s: f64,
    },
    /// Data waited for an ACK that the client held back (RFC 1122, 4.2.3.2), and followed it.
    AckHeld {
        /// From the last data to the ACK.
        held_s: f64,
        /// From the ACK to the next data.
        after_s: f64,
    },
    /// The client acknowledged two full segments or more late, which no delayed ACK explains (RFC 5681, 4.2).
    Unacknowledged {
        /// Bytes that the late ACK acknowledged.
        bytes: u64,
        /// From the last data to the ACK.
        held_s: f64,
    },
    /// A segment that had arrived was sent again, because its ACK was late.
    Needless {
        /// How long the sender's timer had been running.
        timer_s: f64,
    },
    /// After losses, a window of few segments waited for ACKs.
    SmallWindow {
        /// Lost segments of the response.
        lost: u32,
        /// Duration of the stall.
        idle_s: f64,
    },
    /// A SYN or its response was sent again.
    SynAgain {
        /// Duration of the stall.
        idle_s: f64,
    },
    /// The request was sent again.
    RequestAgain {
        /// Duration of the stall.
        idle_s: f64,
    },
    /// The last segment was sent again, or arrived with others before it missing.
    TailAgain {
        /// How long the sender's timer had been running.
        timer_s: f64,
    },
    /// Missing segments were sent again when a timer expires.
    AfterTimeout {
        /// How long the sender's timer had been running.
        timer_s: f64,
        /// The minimum timeout.
        least_s: f64,
    },
    /// Missing segments were sent again, sooner than a timer expires.
    BeforeTimeout {
        /// How long the sender's timer had been running.
        timer_s: f64,
        /// The minimum timeout.
        least_s: f64,
    },
    /// Missing segments were sent again.
    Again {
        /// How long the sender's timer had been running.
        timer_s: f64,
    },
    /// Segments were sent again that had arrived: ACKs were lost.
    AcksLost {
        /// How long the sender's timer had been running.
        timer_s: f64,
    },
    /// Packets beside the lost ones waited as long as in a full queue.
    WaitedAsLong {
        /// The longest wait of a packet beside the lost one.
        waited_s: f64,
        /// The longest usual wait in the capture.
        longest_s: f64,
    },
    /// Packets beside the lost ones waited for less than in a full queue.
    WaitedLess {
        /// The longest wait of a packet beside the lost one.
        waited_s: f64,
        /// The longest usual wait in the capture.
        longest_s: f64,
    },
    /// Packets of several servers were lost within 2 ms.
    LostTogether {
        /// Number of servers.
        servers: u32,
    },
    /// Packets that followed each other on one connection were lost.
    LostInRow {
        /// Number of packets.
        packets: u32,
    },
    /// Losses on the path of one server, beside those on all paths.
    LostOnPath {
        /// Losses on the server's path.
        own: u64,
        /// Losses on all paths.
        all: u64,
    },
    /// Losses of single packets, apart from others.
    LostAlone {
        /// Number of such losses.
        alone: u64,
        /// All losses of the server.
        all: u64,
    },
    /// Other responses filled the client's link before the first byte of a round.
    BehindOthers {
        /// How long they took the link.
        waited_s: f64,
        /// Their bytes.
        bytes: u64,
    },
    /// Captured at the server: it sent nothing.
    SentNothing {
        /// Duration of the stall.
        idle_s: f64,
    },
    /// No packet of the server is missing, by its identifications (RFC 6864).
    NoneMissing {
        /// Duration of the stall.
        idle_s: f64,
    },
    /// Packets of the server did not pass here, by its identifications.
    Missing {
        /// Number of packets.
        packets: u32,
    },
    /// The server acknowledged the request without a response.
    Acknowledged {
        /// From the request to that ACK.
        after_s: f64,
        /// Duration of the stall.
        idle_s: f64,
    },
    /// New data came in a burst; a timer sends a single segment.
    Burst {
        /// Duration of the stall.
        idle_s: f64,
    },
    /// A single segment came when a timer expires.
    AtTimeout {
        /// How long the sender's timer had been running.
        timer_s: f64,
        /// The minimum timeout.
        least_s: f64,
    },
    /// The late segment was the last of its response.
    LastSegment {
        /// How long the sender's timer had been running.
        timer_s: f64,
    },
    /// New data came when no timer expires.
    NotAtTimeout {
        /// How long the sender's timer had been running.
        timer_s: f64,
        /// The minimum timeout.
        least_s: f64,
    },
    /// The capture ends within the stall.
    Unfinished {
        /// Duration of the stall in the capture.
        idle_s: f64,
    },
}

/// A figure of an observation.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Figure {
    Time(f64),
    Count(u64),
}

impl Figure {
    fn value(self) -> f64 {
        match self {
            Figure::Time(value) => value,
            Figure::Count(count) => count as f64,
        }
    }

    fn text(self) -> String {
        match self {
            Figure::Time(value) => time(value),
            Figure::Count(count) => count.to_string(),
        }
    }

    /// The figures of several observations of a kind, as one or as a range.
    fn range(mut all: Vec<Figure>) -> String {
        all.sort_by(|a, b| a.value().total_cmp(&b.value()));
        let texts = [all.first(), all.last()].map(|one| one.map_or(String::new(), |one| one.text()));
        let [least, most] = texts;
        if least == most { least } else { format!("{least} to {most}") }
    }
}

impl Observation {
    /// Its figures, in the order of its sentence.
    fn figures(&self) -> Vec<Figure> {
        use Figure::{Count, Time};
        match *self {
            Observation::NoRoom { idle_s }
            | Observation::SynAgain { idle_s }
            | Observation::RequestAgain { idle_s }
            | Observation::SentNothing { idle_s }
            | Observation::NoneMissing { idle_s }
            | Observation::Burst { idle_s }
            | Observation::Unfinished { idle_s } => vec![Time(idle_s)],
            Observation::TailAgain { timer_s }
            | Observation::Again { timer_s }
            | Observation::LastSegment { timer_s }
            | Observation::AcksLost { timer_s }
            | Observation::Needless { timer_s } => vec![Time(timer_s)],
            Observation::AckHeld { held_s, after_s } => vec![Time(held_s), Time(after_s)],
            Observation::Unacknowledged { bytes, held_s } => vec![Count(bytes), Time(held_s)],
            Observation::SmallWindow { lost, idle_s } => vec![Count(lost.into()), Time(idle_s)],
            Observation::AfterTimeout { timer_s, least_s }
            | Observation::BeforeTimeout { timer_s, least_s }
            | Observation::AtTimeout { timer_s, least_s }
            | Observation::NotAtTimeout { timer_s, least_s } => vec![Time(timer_s), Time(least_s)],
            Observation::WaitedAsLong { waited_s, longest_s } | Observation::WaitedLess { waited_s, longest_s } => {
                vec![Time(waited_s), Time(longest_s)]
            }
            Observation::LostTogether { servers } => vec![Count(servers.into())],
            Observation::LostInRow { packets } | Observation::Missing { packets } => vec![Count(packets.into())],
            Observation::LostOnPath { own, all } => vec![Count(own), Count(all)],
            Observation::BehindOthers { waited_s, bytes } => vec![Count(bytes), Time(waited_s)],
            Observation::LostAlone { alone, all } => vec![Count(alone), Count(all)],
            Observation::Acknowledged { after_s, idle_s } => vec![Time(after_s), Time(idle_s)],
        }
    }

    /// The sentence; `%1` and `%2` stand for its figures.
    fn template(&self) -> &'static str {
        match self {
            Observation::AcksLost { .. } => {
                "segments that had arrived were sent again after %1: the client's ACKs were lost"
            }
            Observation::WaitedAsLong { .. } => {
                "packets beside the lost ones had waited %1, with a longest usual wait of %2: the queue was full"
            }
            Observation::WaitedLess { .. } => {
                "packets beside the lost ones had waited %1, with a longest usual wait of %2: the queue was not full"
            }
            Observation::LostTogether { .. } => "packets of %1 servers were lost within 2 ms",
            Observation::LostInRow { .. } => "%1 packets in a row were lost",
            Observation::LostOnPath { .. } => {
                "%1 of %2 losses were on this server's path, at different times than others"
            }
            Observation::LostAlone { .. } => "%1 of %2 losses were single packets, more than 2 ms apart from others",
            Observation::Missing { .. } => "%1 packets before it did not arrive, by the server's numbers",
            Observation::NoRoom { .. } => "the client's window had no room for %1",
            Observation::AckHeld { .. } => {
                "an ACK came %1 after the data that it acknowledged, and the next data %2 after it"
            }
            Observation::Unacknowledged { .. } => {
                "the client acknowledged %1 bytes at once, %2 after they had been sent"
            }
            Observation::Needless { .. } => "a segment that had arrived was sent again after %1: its ACK was late",
            Observation::SmallWindow { .. } => "after %1 lost segments, a small window waited %2 for ACKs",
            Observation::SynAgain { .. } => "a SYN was sent again, after %1",
            Observation::RequestAgain { .. } => "the request was sent again, after %1",
            Observation::TailAgain { .. } => "the last segment was sent again, after %1",
            Observation::Again { .. } => "missing segments were sent again, after %1",
            Observation::AfterTimeout { .. } => {
                "missing segments were sent again after %1, when a timer of at least %2 expires"
            }
            Observation::BeforeTimeout { .. } => {
                "missing segments were sent again after %1, before a timer of at least %2 expires"
            }
            Observation::BehindOthers { .. } => {
                "%1 bytes of long flows arrived before the next response, and filled the link for %2"
            }
            Observation::SentNothing { .. } => "the server, where this was captured, sent nothing for %1",
            Observation::NoneMissing { .. } => {
                "0 packets are missing by the server's numbers, and it sent nothing for %1"
            }
            Observation::Acknowledged { .. } => "the server acknowledged the request after %1, and responded after %2",
            Observation::Burst { .. } => "data came at once after %1, as no timer sends it",
            Observation::AtTimeout { .. } => "a single segment came after %1, when a timer of at least %2 expires",
            Observation::LastSegment { .. } => {
                "the last segment of a response alone came after %1, in a round with losses"
            }
            Observation::NotAtTimeout { .. } => "new data came after %1, when no timer of at least %2 expires",
            Observation::Unfinished { .. } => "the capture ends %1 into the stall",
        }
    }

    /// The sentence with these figures.
    fn sentence(&self, figures: &[String]) -> String {
        let places = ["%1", "%2"].iter().zip(figures);
        places.fold(self.template().to_owned(), |text, (place, figure)| text.replace(place, figure))
    }

    /// The observation in words.
    pub fn says(&self) -> String {
        self.sentence(&self.figures().into_iter().map(Figure::text).collect::<Vec<_>>())
    }
}

impl Serialize for Observation {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(&self.says())
    }
}

/// The observations by kind, the two most frequent ones, with ranges of their figures and numbers of stalls.
pub(crate) fn together(all: &[Observation]) -> String {
    const SHOWN: usize = 2;
    let mut kinds: Vec<Vec<Observation>> = Vec::new();
    for one in all {
        let same = |kind: &&mut Vec<Observation>| std::mem::discriminant(&kind[0]) == std::mem::discriminant(one);
        match kinds.iter_mut().find(same) {
            Some(kind) => kind.push(*one),
            None => kinds.push(vec![*one]),
        }
    }
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.len()));
    let part = |kind: &Vec<Observation>| {
        let columns = 0..kind[0].figures().len();
        let ranges: Vec<String> =
            columns.map(|place| Figure::range(kind.iter().map(|one| one.figures()[place]).collect())).collect();
        format!("{} ({} of {} stalls)", kind[0].sentence(&ranges), kind.len(), all.len())
    };
    kinds.iter().take(SHOWN).map(part).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_has_all_its_figures() {
        let one = Observation::AckHeld { held_s: 0.0412, after_s: 31e-6 };
        let says = one.says();
        assert!(says.contains("41.2") && says.contains("31 us") && !says.contains('%'), "{says}");
    }

    #[test]
    fn figures_of_a_kind_are_ranges() {
        let held = [0.04, 0.041, 0.04].map(|held_s| Observation::AckHeld { held_s, after_s: 31e-6 });
        let says = together(&held);
        assert!(says.contains("40 ms to 41 ms") && says.contains("31 us") && says.contains("3 of 3"), "{says}");
    }
}
