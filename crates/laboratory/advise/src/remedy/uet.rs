//! Changes of Ultra Ethernet's congestion control, and of the trimming ports under it.

use fanin_spec::{Share, TrimBased};
use fanin_units::{Bytes, Time};

use super::{Effort, Ranges};

/// Levels in percent of the bandwidth-delay product, and in packets.
const PERCENT: [u32; 6] = [25, 50, 100, 150, 200, 300];
const PACKETS: [u32; 6] = [5, 10, 15, 30, 64, 128];

impl Ranges<'_> {
    pub(super) fn uet(&mut self, own: TrimBased) {
        self.queues(own);
        if own == TrimBased::Nscc {
            self.marks();
            self.delay_targets();
        }
        self.windows(own);
        let uet = self.s.laws.uet.uet;
        for bytes in [4_096, 0].map(Bytes).into_iter().filter(|bytes| *bytes < uet.ack_after) {
            let says = match bytes {
                Bytes(0) => "an acknowledgement for every packet".into(),
                _ => format!("an acknowledgement every {bytes}"),
            };
            self.add("withheld-acks", Effort::Card, says, &[("uet.ack_after", bytes.to_string())]);
        }
        for time in [30, 100, 1_000].map(Time::from_micros).into_iter().filter(|time| *time > uet.timeout) {
            let says = format!("a retransmission timeout of {time} beyond six drains of a port");
            self.add("resend-timeout", Effort::Card, says, &[("uet.timeout", time.to_string())]);
        }
        self.other_credit(own);
    }

    /// The queue above which a port trims.
    fn queues(&mut self, own: TrimBased) {
        let now = self.s.in_bytes(self.s.trimming_queue(own));
        for (times, part) in [(1, 4), (1, 2), (2, 1), (4, 1), (8, 1)] {
            let queue = Bytes(now.saturating_mul(times) / part);
            let says = format!("queues of {queue}, beyond which ports trim");
            self.add("trim-queue", Effort::Switch, says, &[("trimming.queue", queue.to_string())]);
        }
    }

    /// From which part of its queue a port marks, and from which it marks all packets.
    fn marks(&mut self) {
        let now = &self.s.laws.ports.trimming;
        let now = (now.low.in_q(16), now.high.in_q(16));
        for (low, high) in [(5, 20), (10, 40), (20, 80), (40, 90), (60, 95)] {
            if (Share::of(low, 100).in_q(16), Share::of(high, 100).in_q(16)) != now {
                let says = format!("marking from {low} % of a port's queue on, and always above {high} %");
                let set = [("trimming.low", format!("{low} %")), ("trimming.high", format!("{high} %"))];
                self.add("trim-marks", Effort::Switch, says, &set);
            }
        }
    }

    /// Queueing delays that senders aim at, as shares of a round trip.
    fn delay_targets(&mut self) {
        let now = self.s.laws.uet.nscc.target.in_q(16);
        for percent in [10, 25, 50, 75, 100].into_iter().filter(|percent| Share::of(*percent, 100).in_q(16) != now) {
            let says = format!("a queueing delay of {percent} % of a round trip as the senders' target");
            self.add("delay-target", Effort::Card, says, &[("nscc.target", format!("{percent} %"))]);
        }
    }

    /// What a sender may send before the receiver's first report.
    fn windows(&mut self, own: TrimBased) {
        let uet = &self.s.laws.uet;
        let (key, now, levels, of) = match own {
            TrimBased::Nscc => {
                ("nscc.window_percent", uet.nscc.window_percent, PERCENT, "% of the bandwidth-delay product")
            }
            TrimBased::Rccc => {
                ("rccc.window_percent", uet.rccc.window_percent, PERCENT, "% of the bandwidth-delay product")
            }
            TrimBased::Eqds => ("eqds.window", uet.eqds.window, PACKETS, "packets"),
            TrimBased::Ndp => ("ndp.window", uet.ndp.window, PACKETS, "packets"),
        };
        for level in levels.into_iter().filter(|level| *level != now) {
            let says = format!("a first window of {level} {of} at {}", self.senders());
            self.add("first-window", Effort::Card, says, &[(key, level.to_string())]);
        }
    }

    /// The other algorithms of the specification, and those that no network card has.
    fn other_credit(&mut self, own: TrimBased) {
        for (kind, word, says) in [
            (TrimBased::Nscc, "nscc", "Ultra Ethernet's window at the sender (NSCC)"),
            (TrimBased::Rccc, "rccc", "Ultra Ethernet's credit from the receiver (RCCC)"),
        ] {
            if kind != own {
                self.add(word, Effort::Card, says.into(), &[]).scheme = Some(word.into());
            }
        }
        for (kind, word, says) in [
            (TrimBased::Eqds, "eqds", "credit from the receiver, a packet at a time (EQDS)"),
            (TrimBased::Ndp, "ndp", "a pull for each packet that came (NDP)"),
        ] {
            if kind != own {
                self.not_available(word, word.into(), says);
            }
        }
    }
}
