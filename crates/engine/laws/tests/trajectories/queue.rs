//! A port's timeline, by packet: frames of 1,500 B that take 12 us each.

use std::collections::VecDeque;

use fanin_laws::port::{Departure, Drop, Header, HeaderOption, Law, Leaving, Queue, Verdict};
use fanin_laws::row::Shown;
use fanin_units::Time;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use serde_json::Value;

use super::table::Table;
use crate::support::{port_law, whole};

const FRAME: u32 = 1500;
const SLOT: Time = Time::from_micros(12);

/// A packet in the queue.
struct Waiting {
    bytes: u32,
    ect: bool,
    since: Time,
    number: u32,
}

pub struct Port {
    law: Law,
    rng: Xoshiro256PlusPlus,
    now: Time,
    waiting: VecDeque<Waiting>,
    idle_since: Option<Time>,
    sent: u32,
    /// Every n-th packet is not ECN-capable; 0 for none.
    not_ect_every: u32,
    table: Table,
}

impl Port {
    pub fn new(name: &'static str, story: &Value) -> Port {
        let law = port_law(name, &story["settings"]);
        let mut table = Table::new(name, story["says"].as_str().expect("a story says what happens"));
        let mut names = vec!["us", "what happened"];
        match law.many_to_one.is_some() {
            true => names.push("offer B"),
            false => names.push("queue"),
        }
        names.extend(law.needs_dequeue().then_some("waited us"));
        names.extend(law.shown().map(|shown| shown.name));
        table.row(names.into_iter().map(str::to_string).collect());
        Port {
            law,
            rng: Xoshiro256PlusPlus::seed_from_u64(1),
            now: Time::ZERO,
            waiting: VecDeque::new(),
            idle_since: Some(Time::ZERO),
            sent: 0,
            not_ect_every: whole(&story["not_ect_every"]) as u32,
            table,
        }
    }

    /// Execute a timeline's steps.
    pub fn run(mut self, steps: &[Value]) -> Table {
        for step in steps {
            let said = |name: &str| step.get(name).map(|value| whole(value) as u32);
            if let Some(filling) = said("fill") {
                self.fill_and_drain(filling, said("rate").unwrap_or(1), said("drain").unwrap_or(0));
            } else if let Some(flow) = said("opens") {
                self.opens(flow);
            } else if let Some(flow) = said("closes") {
                self.closes(flow);
            } else if let Some(flow) = said("data") {
                self.data(flow);
            } else {
                panic!("no such step: {step}");
            }
        }
        self.table
    }

    /// For `filling` slots, `rate` packets come and one leaves; then for `draining` slots one leaves.
    fn fill_and_drain(&mut self, filling: u32, rate: u32, draining: u32) {
        for _ in 0..filling {
            for _ in 0..rate {
                self.arrive();
            }
            self.slot();
        }
        for _ in 0..draining {
            self.slot();
        }
        self.row("drained");
    }

    fn opens(&mut self, flow: u32) {
        self.enqueue(
            Header { bytes: 48, ect: false, flow, opens: true, closes: false },
            &format!("SYN of flow {flow}"),
        );
    }

    fn closes(&mut self, flow: u32) {
        self.enqueue(
            Header { bytes: 40, ect: false, flow, opens: false, closes: true },
            &format!("FIN of flow {flow}"),
        );
    }

    fn data(&mut self, flow: u32) {
        let header = Header { bytes: 618, ect: false, flow, opens: false, closes: false };
        self.enqueue(header, &format!("data of flow {flow}"));
    }

    fn arrive(&mut self) {
        self.sent += 1;
        let ect = self.not_ect_every == 0 || !self.sent.is_multiple_of(self.not_ect_every);
        let header = Header { bytes: FRAME, ect, flow: 0, opens: false, closes: false };
        let what = format!("packet {}{}", self.sent, if ect { "" } else { " (not ECT)" });
        self.enqueue(header, &what);
    }

    fn enqueue(&mut self, header: Header, what: &str) {
        let bytes = self.waiting.iter().map(|packet| u64::from(packet.bytes)).sum();
        let queue = Queue { bytes, packets: self.waiting.len() as u32, idle_since: self.idle_since };
        let mut note = HeaderOption::BLANK;
        let verdict = self.law.enqueue(self.now, &queue, &header, Some(&mut note), &mut self.rng);
        let fate = match verdict {
            Verdict::Admit { mark: false } => "",
            Verdict::Admit { mark: true } => ": marked",
            Verdict::Drop(Drop::Full) => ": dropped, full",
            Verdict::Drop(Drop::Early) => ": dropped early",
            Verdict::Drop(Drop::NotEct) => ": dropped in place of a mark",
        };
        if matches!(verdict, Verdict::Drop(_)) {
            return self.row(&format!("{what}{fate}"));
        }
        if self.law.many_to_one.is_some() {
            let offer = if note == HeaderOption::BLANK { "none".to_string() } else { note.mcw.to_string() };
            return self.table.row(vec!["0".to_string(), what.to_string(), offer]);
        }
        let Header { bytes, ect, .. } = header;
        self.waiting.push_back(Waiting { bytes, ect, since: self.now, number: self.sent });
        self.idle_since = None;
        // A discipline that inspects departures has no verdict on arrivals.
        if !self.law.needs_dequeue() {
            self.row(&format!("{what}{fate}"));
        }
    }

    fn slot(&mut self) {
        self.now += SLOT;
        while let Some(first) = self.waiting.pop_front() {
            if self.waiting.is_empty() {
                self.idle_since = Some(self.now);
            }
            if !self.law.needs_dequeue() || self.leaves(&first) {
                break;
            }
        }
    }

    /// Request the verdict on a departing packet.
    fn leaves(&mut self, packet: &Waiting) -> bool {
        let behind = self.waiting.iter().map(|packet| u64::from(packet.bytes)).sum();
        let sojourn = self.now.since(packet.since);
        let leaving = Leaving { sojourn, behind, ect: packet.ect };
        let departure = self.law.dequeue(self.now, &leaving, &mut self.rng);
        let fate = match departure {
            Departure::Pass { mark: false } => "leaves",
            Departure::Pass { mark: true } => "leaves, marked",
            Departure::Drop(Drop::NotEct) => "(not ECT) is dropped in place of a mark",
            Departure::Drop(_) => "is dropped",
        };
        let waited = (sojourn.0 / 1_000_000).to_string();
        let queue = self.waiting.len().to_string();
        let what = format!("packet {} {fate}", packet.number);
        let mut cells = vec![(self.now.0 / 1_000_000).to_string(), what, queue, waited];
        cells.extend(self.shown());
        self.table.row(cells);
        matches!(departure, Departure::Pass { .. })
    }

    fn row(&mut self, what: &str) {
        let mut cells = vec![(self.now.0 / 1_000_000).to_string(), what.to_string(), self.waiting.len().to_string()];
        cells.extend(self.law.needs_dequeue().then(String::new));
        cells.extend(self.shown());
        self.table.row(cells);
    }

    fn shown(&self) -> Option<String> {
        let Shown { value, bits, .. } = self.law.shown()?;
        Some(if bits == 0 { value.to_string() } else { format!("{:.3}", value as f64 / f64::from(1 << bits)) })
    }
}
