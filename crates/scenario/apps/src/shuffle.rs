//! A shuffle: every host sends equally much to every other one, or to a random share of them; the run ends with the
//! last byte of the last flow.

use std::cmp::Reverse;

use fanin_driver::{Application, Driver, EndpointId, Meaning, Purpose, Record, Stream, View, meanings};
use fanin_fabric::HostId;
use fanin_spec::RunSpec;
use fanin_tables::FlowKind;
use fanin_units::Time;

use super::pool::Pool;
use super::transfers::{Carried, Transfers};
use crate::rows::round_row;

meanings! {
    pub(crate) enum Timer {
        /// The next flow starts.
        Next,
        End,
    }
}

pub(crate) struct Shuffle {
    /// Flows not started: time, source, destination; the next one last.
    waiting: Vec<(Time, u32, u32)>,
    bytes: u64,
    duration: Time,
    transfers: Transfers,
}

impl Shuffle {
    pub fn new(spec: &RunSpec) -> Shuffle {
        let w = &spec.settings.workload;
        let (share, hosts) = (w.pairs.in_q(32), spec.settings.hosts());
        let mut waiting = Vec::new();
        for from in 0..hosts {
            // One draw per pair, so that a share affects no other pair's start.
            let mut starts = Stream::new(spec.seed, Purpose::Start, from);
            let mut picks = Stream::new(spec.seed, Purpose::Peer, from);
            for to in (0..hosts).filter(|&to| to != from) {
                let (start, pick) = (starts.up_to(w.start_jitter), (picks.word() >> 32) as u32);
                // A full share is one short of 2^32.
                if pick < share || share == u32::MAX {
                    waiting.push((start, from, to));
                }
            }
        }
        waiting.sort_unstable_by_key(|&flow| Reverse(flow));
        let bytes = w.fragment.0.map_or(0, |fragment| fragment.0);
        Shuffle { waiting, bytes, duration: w.duration, transfers: Transfers::new(Pool::New) }
    }

    /// Start due flows, and schedule the next one.
    fn go_on(&mut self, driver: &mut dyn Driver) {
        while let Some(&(at, from, to)) = self.waiting.last() {
            if at > driver.now() {
                driver.after(at.since(driver.now()), Timer::Next.into());
                return;
            }
            self.waiting.pop();
            self.transfers.start(driver, FlowKind::Shuffle, HostId(from), HostId(to), self.bytes);
        }
        // The draw left no pair.
        self.end_if_whole(driver);
    }

    fn is_whole(&self) -> bool {
        self.waiting.is_empty() && self.transfers.missing == 0
    }

    fn end_if_whole(&self, driver: &mut dyn Driver) {
        if self.is_whole() {
            driver.finish();
        }
    }
}

impl Application for Shuffle {
    fn start(&mut self, driver: &mut dyn Driver) {
        driver.begin();
        driver.after(self.duration, Timer::End.into());
        self.go_on(driver);
    }

    fn received(&mut self, driver: &mut dyn Driver, _at: EndpointId, message: Meaning) {
        if let Carried::Flow(number) = Carried::from(message) {
            self.transfers.end(driver, number);
            self.end_if_whole(driver);
        }
    }

    fn due(&mut self, driver: &mut dyn Driver, timer: Meaning) {
        match Timer::from(timer) {
            Timer::Next => self.go_on(driver),
            Timer::End => driver.finish(),
        }
    }

    fn foresees(&self, timer: Meaning) -> bool {
        Timer::from(timer) == Timer::Next
    }

    fn ends_when_all_is_there(&self) -> bool {
        self.waiting.is_empty()
    }

    fn record(&self, view: &dyn View, record: &mut Record) {
        let start = Time(self.transfers.first_start());
        let (took, whole) = (view.now().since(start), self.is_whole());
        record.queries.push(round_row(0, start.0, took, whole, view.timeouts()));
        record.flows.extend(self.transfers.rows(view, 0));
        record.payload_bytes = self.transfers.delivered(view);
        record.measured = took;
    }
}
