//! A sender's timeline, by round trip: every segment of a window has its own ACK, which releases new segments.

use fanin_laws::port::HeaderOption;
use fanin_laws::row::Shown;
use fanin_laws::sender::{Ack, Cause, Congestion, Law, Window};
use fanin_units::Time;
use serde_json::Value;

use super::table::Table;
use crate::support::{sender_law, whole};

const MSS: u32 = 576;

pub struct Flow {
    law: Law,
    window: Window,
    now: Time,
    round: u32,
    una: u64,
    nxt: u64,
    rtt_us: u64,
    /// Segments that fit between the sender and a bottleneck's queue; none if the vectors set the round trip.
    pipe: Option<u64>,
    table: Table,
}

impl Flow {
    pub fn new(name: &'static str, story: &Value) -> Flow {
        let law = sender_law(name, &story["settings"], MSS);
        let mut table = Table::new(name, story["says"].as_str().expect("a story says what happens"));
        let last = match law.shown() {
            Some(shown) => Some(shown.name),
            None => law.cap.map(|_| "usable B"),
        };
        let names = ["round", "what happened", "ms", "cwnd", "ssthresh"];
        table.row(names.into_iter().chain(last).map(String::from).collect());
        let mut flow = Flow {
            law,
            window: Window { cwnd: whole(&story["segments"]) as u32 * MSS, ssthresh: u32::MAX },
            now: Time::ZERO,
            round: 0,
            una: 1,
            nxt: 1,
            rtt_us: whole(&story["rtt_us"]),
            pipe: story["pipe"].as_u64(),
            table,
        };
        flow.row("start");
        flow
    }

    /// Execute a timeline's steps.
    pub fn run(mut self, steps: &[Value]) -> Table {
        for step in steps {
            let said = |name: &str| step.get(name).map(whole);
            if let Some(count) = said("rounds") {
                self.rounds(count, said("by").unwrap_or(1));
            } else if let Some(marks) = said("marked") {
                self.marked_round(marks as u32);
            } else if let Some(cause) = step["cut"].as_str() {
                self.cut(cause);
            } else if let Some(bytes) = said("begin") {
                self.begin(bytes, said("within_ms"));
            } else if let Some(mcw) = said("allot") {
                self.law.allot(&HeaderOption { mcw: mcw as u32 });
                self.row(&format!("MCW {mcw}"));
            } else if let Some(rtt_us) = said("rtt_us") {
                self.rtt_us = rtt_us;
            } else if step["idle"] == true {
                self.idle();
            } else {
                panic!("no such step: {step}");
            }
        }
        self.table
    }

    /// Clean round trips, with a row every `by`.
    fn rounds(&mut self, count: u64, by: u64) {
        for round in 1..=count {
            self.acks(0);
            if round % by == 0 {
                let what = if by == 1 { "clean".to_string() } else { format!("{by} clean") };
                self.row(&what);
            }
        }
    }

    /// A round trip whose first ACKs echo marks: the first reduces the window, once.
    fn marked_round(&mut self, marks: u32) {
        let segments = self.acks(marks);
        self.row(&format!("marks {} of {segments}", marks.min(segments)));
    }

    /// A reduction by the endpoint: after a timeout the window is one segment, else the new ssthresh.
    fn cut(&mut self, word: &str) {
        let (cause, what) = match word {
            "loss" => (Cause::Loss, "loss"),
            "timeout" => (Cause::Timeout, "timeout"),
            "ecn" => (Cause::Ecn, "mark"),
            _ => panic!("no such cause: {word}"),
        };
        self.reduce(cause);
        self.nxt = self.una;
        self.row(what);
    }

    /// The application has nothing to send for a second.
    fn idle(&mut self) {
        self.now += Time::from_secs(1);
        self.una = self.nxt;
        self.row("idle");
    }

    /// The application hands over `bytes`, due within `ms` if that is given.
    fn begin(&mut self, bytes: u64, ms: Option<u64>) {
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

    /// Send all that the window allows, then process the ACKs of the data in flight; returns their number.
    fn acks(&mut self, marks: u32) -> u32 {
        self.round += 1;
        self.send();
        let end = self.nxt;
        let rtt = self.round_trip();
        self.now += rtt;
        let (mut count, mut cut) = (0, false);
        while self.una < end {
            let acked = (end - self.una).min(MSS.into()) as u32;
            self.una += u64::from(acked);
            count += 1;
            let ece = count <= marks;
            let ack = Ack { now: self.now, acked, una: self.una, nxt: self.nxt, ece, rtt: Some(rtt), srtt: rtt };
            self.law.observe(&ack);
            if !ece && !cut {
                self.law.grow(&ack, &mut self.window);
            } else if !cut {
                self.reduce(Cause::Ecn);
                cut = true;
            }
            // Segments released by a whole round trip are sent at its end, so that a row is a round trip.
            if self.una == end {
                self.send();
            }
        }
        count
    }

    /// Round trip of the window in flight: segments beyond the pipe's capacity queue at the same rate.
    fn round_trip(&self) -> Time {
        let out = (self.nxt - self.una).div_ceil(MSS.into());
        Time::from_micros(self.pipe.map_or(self.rtt_us, |pipe| self.rtt_us * out.max(pipe) / pipe))
    }

    fn send(&mut self) {
        let limit = self.una + u64::from(self.law.usable(&self.window));
        let len = u64::from(MSS.min(self.law.usable(&self.window)));
        while self.nxt + len <= limit {
            self.nxt += len;
        }
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
        match self.law.shown() {
            Some(Shown { value, bits: 0, .. }) => cells.push(value.to_string()),
            Some(Shown { value, bits, .. }) => cells.push(format!("{:.4}", value as f64 / f64::from(1 << bits))),
            None if self.law.cap.is_some() => cells.push(self.law.usable(&self.window).to_string()),
            None => {}
        }
        self.table.row(cells);
    }
}
