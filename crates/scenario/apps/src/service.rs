//! A query service as background traffic: at random times a random host queries others; the query ends with the last response.

use fanin_driver::{Application, Driver, EndpointId, Meaning, Purpose, Record, Stream, View, meanings};
use fanin_fabric::HostId;
use fanin_spec::{RunSpec, Service as Settings};
use fanin_tables::{FlowKind, ServiceRow};

use super::pool::Pool;
use super::transfers::{Carried, Transfers};

meanings! {
    pub(crate) enum Timer {
        /// The next query begins.
        Ask,
    }
}

pub(crate) struct Service {
    settings: Settings,
    hosts: u32,
    gaps: Stream,
    peers: Stream,
    transfers: Transfers,
    /// The query of each transfer, and the number of missing responses of each query.
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
            transfers: Transfers::new(Pool::new(spec.settings.service.connections.stand(false))),
            query_of: Vec::new(),
            missing: Vec::new(),
            rows: Vec::new(),
        }
    }

    fn wait(&mut self, driver: &mut dyn Driver) {
        let rate = self.settings.queries_per_s.0.unwrap_or(1);
        let gap = self.gaps.exponential(1e12 / f64::from(rate));
        driver.after(gap, Timer::Ask.into());
    }

    fn ask(&mut self, driver: &mut dyn Driver) {
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
        self.rows.push(ServiceRow { query, from_host: front_end, start_ps: driver.now().0, ..ServiceRow::default() });
        self.missing.push(fan_out);
        for &server in &chosen[1..] {
            self.query_of.push(query);
            self.transfers.ask(driver, FlowKind::Query, HostId(server), HostId(front_end), answer.0, request.0);
        }
    }

    fn answered(&mut self, driver: &dyn Driver, number: u32) {
        self.transfers.end(driver, number);
        let query = self.query_of[number as usize] as usize;
        self.missing[query] -= 1;
        if self.missing[query] == 0 {
            let row = &mut self.rows[query];
            row.qct_ps = Some(driver.now().0 - row.start_ps);
        }
    }
}

impl Application for Service {
    fn start(&mut self, driver: &mut dyn Driver) {
        self.wait(driver);
    }

    fn received(&mut self, driver: &mut dyn Driver, _at: EndpointId, message: Meaning) {
        match Carried::from(message) {
            Carried::Request(number) => self.transfers.answer(driver, number),
            Carried::Flow(number) => self.answered(driver, number),
        }
    }

    fn due(&mut self, driver: &mut dyn Driver, _timer: Meaning) {
        self.ask(driver);
        self.wait(driver);
    }

    fn record(&self, view: &dyn View, record: &mut Record) {
        let begun_ps = view.measured_from().0;
        let since_begun = |row: &ServiceRow| ServiceRow {
            start_ps: row.start_ps - begun_ps,
            waited_ps: row.qct_ps.is_none().then(|| view.now().0 - row.start_ps),
            ..row.clone()
        };
        record.service = self.rows.iter().filter(|row| row.start_ps >= begun_ps).map(since_begun).collect();
    }
}
