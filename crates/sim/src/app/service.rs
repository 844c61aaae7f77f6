//! A query service beside a workload: at random times a random host asks others, and has its answer with the last of theirs.

use fanin_spec::{FlowKind, RunSpec, Service as Settings, ServiceRow};

use super::application::Record;
use super::beside::Guest;
use super::transfers::Transfers;
use crate::probe::Probe;
use crate::streams::{Purpose, Stream};
use crate::world::World;

/// The token of the next query's timer.
const NEXT: u32 = 0b11 << 30;

pub(crate) struct Service {
    settings: Settings,
    hosts: u32,
    gaps: Stream,
    peers: Stream,
    transfers: Transfers,
    /// The query of each transfer, and how many answers each query still misses.
    query_of: Vec<u32>,
    missing: Vec<u32>,
    rows: Vec<ServiceRow>,
}

impl Service {
    pub fn new(spec: &RunSpec) -> Service {
        Service {
            settings: spec.settings.service.clone(),
            hosts: spec.settings.hosts(),
            gaps: Stream::new(spec.seed, Purpose::Gap, u32::MAX),
            peers: Stream::new(spec.seed, Purpose::Peer, u32::MAX),
            transfers: Transfers::default(),
            query_of: Vec::new(),
            missing: Vec::new(),
            rows: Vec::new(),
        }
    }

    fn wait<P: Probe>(&mut self, world: &mut World<P>) {
        let rate = self.settings.queries_per_s.0.unwrap_or(1);
        let gap = self.gaps.exponential(1e12 / f64::from(rate));
        world.after(gap, NEXT);
    }

    fn ask<P: Probe>(&mut self, world: &mut World<P>) {
        let query = self.rows.len() as u32;
        let Settings { fan_out, answer, request, .. } = self.settings;
        let mut chosen = vec![self.peers.below(self.hosts)];
        while chosen.len() <= fan_out as usize {
            let host = self.peers.below(self.hosts);
            if !chosen.contains(&host) {
                chosen.push(host);
            }
        }
        let front_end = chosen[0];
        self.rows.push(ServiceRow { query, from_host: front_end, start_ps: world.now.0, ..ServiceRow::default() });
        self.missing.push(fan_out);
        for &server in &chosen[1..] {
            self.query_of.push(query);
            self.transfers.ask(world, FlowKind::Query, (server, front_end), answer.0, request.0);
        }
    }
}

impl<P: Probe> Guest<P> for Service {
    fn start(&mut self, world: &mut World<P>) {
        self.wait(world);
    }

    fn owns_endpoint(&self, endpoint: u32) -> bool {
        self.transfers.own(endpoint)
    }

    fn owns_token(&self, token: u32) -> bool {
        token == NEXT
    }

    fn awake(&mut self, world: &mut World<P>, endpoint: u32) {
        let (number, receives) = self.transfers.at(endpoint);
        if !receives {
            return self.transfers.answer(world, number);
        }
        self.transfers.end(world, endpoint);
        let query = self.query_of[number as usize] as usize;
        self.missing[query] -= 1;
        if self.missing[query] == 0 {
            let row = &mut self.rows[query];
            row.qct_ps = Some(world.now.0 - row.start_ps);
        }
    }

    fn due(&mut self, world: &mut World<P>, _token: u32) {
        self.ask(world);
        self.wait(world);
    }

    fn record(&self, world: &World<P>, begun_ps: u64, record: &mut Record) {
        let since_begun = |row: &ServiceRow| ServiceRow {
            start_ps: row.start_ps - begun_ps,
            waited_ps: row.qct_ps.is_none().then(|| world.now.0 - row.start_ps),
            ..row.clone()
        };
        record.service = self.rows.iter().filter(|row| row.start_ps >= begun_ps).map(since_begun).collect();
    }
}
