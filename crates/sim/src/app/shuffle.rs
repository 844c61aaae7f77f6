//! A shuffle: every host sends as much to every other one, or to a share of them drawn at random; the run ends with the
//! last byte of the last flow.

use std::cmp::Reverse;

use fanin_spec::{FlowKind, QueryRow, RunSpec};
use fanin_units::Time;

use super::application::{App, END, Record, start_background};
use super::transfers::Transfers;
use crate::probe::Probe;
use crate::streams::{Purpose, Stream};
use crate::world::World;

pub(crate) struct Shuffle {
    /// What has not started: when, from where, to where; the next one last.
    waiting: Vec<(Time, u32, u32)>,
    transfers: Transfers,
}

/// The token of the next start.
const NEXT: u32 = 0;

impl Shuffle {
    pub fn new(spec: &RunSpec) -> Shuffle {
        let w = &spec.settings.workload;
        let (share, hosts) = (w.pairs.in_q(32), spec.settings.hosts());
        let mut waiting = Vec::new();
        for from in 0..hosts {
            // A draw each for every pair, so that a share moves no other pair's start.
            let mut starts = Stream::new(spec.seed, Purpose::Start, from);
            let mut picks = Stream::new(spec.seed, Purpose::Peer, from);
            for to in (0..hosts).filter(|&to| to != from) {
                let (start, pick) = (starts.up_to(w.start_jitter), (picks.word() >> 32) as u32);
                // A whole share is one short of what 32 bits count.
                if pick < share || share == u32::MAX {
                    waiting.push((start, from, to));
                }
            }
        }
        waiting.sort_unstable_by_key(|&flow| Reverse(flow));
        Shuffle { waiting, transfers: Transfers::default() }
    }

    /// Starts what is due, and waits for the next one.
    fn go_on<P: Probe>(&mut self, world: &mut World<P>) {
        let bytes = world.spec.settings.workload.fragment.0.map_or(0, |fragment| fragment.0);
        while let Some(&(at, from, to)) = self.waiting.last() {
            if at > world.now {
                world.after(at.since(world.now), NEXT);
                return;
            }
            self.waiting.pop();
            self.transfers.start(world, FlowKind::Shuffle, (from, to), bytes);
        }
        // Where the draw left no pair, nothing is to be waited for.
        world.done = self.transfers.missing == 0;
    }
}

impl<P: Probe> App<P> for Shuffle {
    fn start(&mut self, world: &mut World<P>) {
        start_background(world);
        world.after(world.spec.settings.workload.duration, END);
        self.go_on(world);
    }

    fn established(&mut self, _world: &mut World<P>, _endpoint: u32) {}

    fn awake(&mut self, world: &mut World<P>, endpoint: u32) {
        self.transfers.end(world, endpoint);
        world.done = self.waiting.is_empty() && self.transfers.missing == 0;
    }

    fn closed(&mut self, world: &mut World<P>, endpoint: u32) {
        world.close(endpoint);
    }

    fn due(&mut self, world: &mut World<P>, token: u32) {
        match token {
            NEXT => self.go_on(world),
            _ => world.done = true,
        }
    }

    fn record(&self, world: &World<P>) -> Record {
        let start = Time(self.transfers.first_start());
        let (took, whole) = (world.now.since(start), self.waiting.is_empty() && self.transfers.missing == 0);
        let query = QueryRow {
            round: 0,
            start_ps: start.0,
            qct_ps: whole.then_some(took.0),
            waited_ps: (!whole).then_some(took.0),
            timeouts: world.timeouts,
        };
        Record {
            flows: self.transfers.rows(world, 0).collect(),
            queries: vec![query],
            payload_bytes: self.transfers.delivered(world),
            measured: took,
            ..Record::default()
        }
    }
}
