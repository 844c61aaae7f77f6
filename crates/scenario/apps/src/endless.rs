//! Long-lived flows that start and stop, with the bytes of each between two such changes.

use std::collections::BTreeMap;

use fanin_driver::{ConnectionId, Driver, View};
use fanin_fabric::HostId;
use fanin_tables::{FlowKind, FlowRow};
use fanin_units::Time;

/// A flow in progress.
struct Flow {
    ends: (HostId, HostId),
    connection: ConnectionId,
    /// Bytes delivered before the phase began.
    before: u64,
}

/// The flows of one application, by number.
#[derive(Default)]
pub(crate) struct Endless {
    flows: BTreeMap<u32, Flow>,
    /// A phase is a time in which no flow starts or stops.
    phase: u32,
    began: Time,
    rows: Vec<FlowRow>,
}

impl Endless {
    /// Start a flow: its sender opens a connection.
    pub fn start(&mut self, driver: &mut dyn Driver, number: u32, ends: (HostId, HostId)) {
        self.next_phase(driver);
        let connection = driver.connect(ends.0, ends.1, FlowKind::Long);
        driver.send_endlessly(connection.opener());
        self.flows.insert(number, Flow { ends, connection, before: 0 });
    }

    /// Stop a flow: its sender discards unsent data.
    pub fn stop(&mut self, driver: &mut dyn Driver, number: u32) {
        self.next_phase(driver);
        let opener = self.flows.remove(&number).map(|flow| flow.connection.opener());
        if let Some(opener) = opener.filter(|&opener| driver.carries(opener)) {
            driver.stop(opener);
        }
    }

    /// Whether no flow is in progress.
    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    /// Discard everything so far.
    pub fn measure(&mut self, view: &dyn View) {
        self.next_phase(view);
        self.phase = 0;
        self.rows.clear();
    }

    fn next_phase(&mut self, view: &dyn View) {
        let over = self.open(view, Time::ZERO).collect::<Vec<_>>();
        self.phase += u32::from(!over.is_empty());
        self.rows.extend(over);
        self.began = view.now();
        for flow in self.flows.values_mut() {
            flow.before = view.delivered(flow.connection.answerer());
        }
    }

    /// The phase in progress, if it has lasted any time; times count from `clock`.
    fn open(&self, view: &dyn View, clock: Time) -> impl Iterator<Item = FlowRow> {
        let lasts = view.now() > self.began;
        self.flows.values().filter(move |_| lasts).map(move |flow| FlowRow {
            class: FlowKind::Long,
            from_host: flow.ends.0.0,
            to_host: flow.ends.1.0,
            round: Some(self.phase.into()),
            delivered_bytes: view.delivered(flow.connection.answerer()).saturating_sub(flow.before),
            start_ps: self.began.since(clock).0,
            ..FlowRow::default()
        })
    }

    /// One row per flow and phase.
    pub fn rows(&self, view: &dyn View, clock: Time) -> impl Iterator<Item = FlowRow> {
        let over =
            self.rows.iter().map(move |row| FlowRow { start_ps: Time(row.start_ps).since(clock).0, ..row.clone() });
        over.chain(self.open(view, clock))
    }

    /// Payload delivered in order so far.
    pub fn delivered(&self, view: &dyn View) -> u64 {
        self.rows(view, Time::ZERO).map(|row| row.delivered_bytes).sum()
    }
}
