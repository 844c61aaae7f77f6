//! A sender's story, round trip by round trip: every segment of a window has its own ACK, which lets out what it may.

use fanin_laws::sender::{Ack, Base, Cause, Congestion, Law, Window};
use fanin_units::Time;

use super::table::Table;

pub const MSS: u32 = 576;

pub struct Flow {
    law: Law,
    window: Window,
    now: Time,
    round: u32,
    una: u64,
    nxt: u64,
    pub rtt_us: u64,
    pub show_alpha: bool,
    pub show_usable: bool,
    table: Table,
    /// The header is written with the first row, once it is known what is shown.
    begun: bool,
}

impl Flow {
    pub fn new(name: &'static str, says: &'static str, law: Law, segments: u32, rtt_us: u64) -> Flow {
        Flow {
            law,
            window: Window { cwnd: segments * MSS, ssthresh: u32::MAX },
            now: Time::ZERO,
            round: 0,
            una: 1,
            nxt: 1,
            rtt_us,
            show_alpha: false,
            show_usable: false,
            table: Table::new(name, says),
            begun: false,
        }
    }

    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Clean round trips.
    pub fn rounds(&mut self, count: u32) {
        self.rounds_by(count, 1);
    }

    /// Clean round trips, a row for every `step`.
    pub fn rounds_by(&mut self, count: u32, step: u32) {
        self.begin();
        for round in 1..=count {
            self.acks(0);
            if round % step == 0 {
                let what = if step == 1 { "clean".to_string() } else { format!("{step} clean") };
                self.row(&what);
            }
        }
    }

    /// A round trip whose first ACKs echo marks: the first cuts the window, once.
    pub fn marked_round(&mut self, marks: u32) {
        self.begin();
        let segments = self.acks(marks);
        self.row(&format!("marks {} of {segments}", marks.min(segments)));
    }

    /// A cut by the endpoint: after a timeout the window is one segment, else the new ssthresh.
    pub fn cut(&mut self, cause: Cause) {
        self.begin();
        self.reduce(cause);
        self.nxt = self.una;
        self.row(match cause {
            Cause::Loss => "loss",
            Cause::Timeout => "timeout",
            Cause::Ecn => "mark",
        });
    }

    /// The application has nothing to send for a second.
    pub fn idle(&mut self) {
        self.now += Time::from_secs(1);
        self.una = self.nxt;
        self.row("idle");
    }

    pub fn allot(&mut self, mcw: u32) {
        self.law.allot(mcw);
        self.row(&format!("MCW {mcw}"));
    }

    /// The application hands over `bytes`, to be there within `ms` where that is given.
    pub fn begin_flow(&mut self, bytes: u64, ms: Option<u64>) {
        self.begin();
        let deadline = ms.map_or(Time::NEVER, |ms| self.now + Time::from_millis(ms));
        self.law.begin(self.una, self.una + bytes, deadline);
        self.row(&match ms {
            Some(ms) => format!("{} KB in {ms} ms", bytes / 1000),
            None => format!("{} KB", bytes / 1000),
        });
    }

    fn reduce(&mut self, cause: Cause) {
        let srtt = Time::from_micros(self.rtt_us);
        let at = Congestion { now: self.now, flight: self.window.cwnd, una: self.una, srtt };
        let ssthresh = self.law.cut(cause, &at, &self.window);
        self.window = Window { cwnd: if cause == Cause::Timeout { MSS } else { ssthresh }, ssthresh };
    }

    /// Sends what the window allows, then the ACKs of what was out: how many.
    fn acks(&mut self, marks: u32) -> u32 {
        self.round += 1;
        self.send();
        let end = self.nxt;
        self.now += Time::from_micros(self.rtt_us);
        let (mut count, mut cut) = (0, false);
        while self.una < end {
            let acked = (end - self.una).min(MSS.into()) as u32;
            self.una += u64::from(acked);
            count += 1;
            let (rtt, ece) = (Time::from_micros(self.rtt_us), count <= marks);
            let ack = Ack { now: self.now, acked, una: self.una, nxt: self.nxt, ece, rtt: Some(rtt), srtt: rtt };
            self.law.observe(&ack);
            if !ece && !cut {
                self.law.grow(&ack, &mut self.window);
            } else if !cut {
                self.reduce(Cause::Ecn);
                cut = true;
            }
            // A whole round trip's answer goes out at its end, so that a row is a round trip.
            if self.una == end {
                self.send();
            }
        }
        count
    }

    fn send(&mut self) {
        let limit = self.una + u64::from(self.law.usable(&self.window));
        let len = u64::from(MSS.min(self.law.usable(&self.window)));
        while self.nxt + len <= limit {
            self.nxt += len;
        }
    }

    fn begin(&mut self) {
        if self.begun {
            return;
        }
        self.begun = true;
        let extra = if self.show_alpha { "alpha" } else { "usable B" };
        let names = ["round", "what happened", "ms", "cwnd", "ssthresh", extra];
        let shown = if self.show_alpha || self.show_usable { 6 } else { 5 };
        self.table.row(names[..shown].iter().map(ToString::to_string).collect());
        self.row("start");
    }

    fn row(&mut self, what: &str) {
        let segments = |bytes: u32| format!("{:.2}", f64::from(bytes) / f64::from(MSS));
        let Window { cwnd, ssthresh } = self.window;
        let mut cells = vec![
            self.round.to_string(),
            what.to_string(),
            format!("{:.2}", self.now.as_secs_f64() * 1e3),
            segments(cwnd),
            if ssthresh == u32::MAX { "-".to_string() } else { segments(ssthresh) },
        ];
        let alpha_q16 = match (&self.law.base, &self.law.slow_start) {
            (_, Some(gss)) => gss.alpha_q16(),
            (Base::Dctcp(dctcp, _), None) => dctcp.alpha_q16().into(),
            _ => 0,
        };
        if self.show_alpha {
            cells.push(format!("{:.4}", alpha_q16 as f64 / 65_536.0));
        }
        if self.show_usable {
            cells.push(self.law.usable(&self.window).to_string());
        }
        self.table.row(cells);
    }
}
