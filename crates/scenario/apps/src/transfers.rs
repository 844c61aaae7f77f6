//! Flows between any two hosts, each a message, optionally requested by its receiver.

use fanin_driver::{Driver, EndpointId, Message, View, meanings};
use fanin_fabric::HostId;
use fanin_tables::{FlowKind, FlowRow};

use super::pool::Pool;

meanings! {
    /// Contents of transfers' connections.
    pub(crate) enum Carried {
        /// A request for a flow, by the flow's number.
        Request(number),
        /// A flow.
        Flow(number),
    }
}

/// Started transfers and their results.
pub(crate) struct Transfers {
    pool: Pool,
    rows: Vec<FlowRow>,
    /// Of each.
    ways: Vec<Way>,
    /// Unfinished transfers.
    pub missing: usize,
}

/// A flow on its connection.
struct Way {
    receiver: EndpointId,
    /// Bytes sent before it over the connection; `None` before it begins.
    before: Option<u64>,
}

impl Transfers {
    /// Using these connections.
    pub fn new(pool: Pool) -> Transfers {
        Transfers { pool, rows: Vec::new(), ways: Vec::new(), missing: 0 }
    }

    /// Start a flow: the sender opens or reuses a connection, and sends.
    pub fn start(&mut self, driver: &mut dyn Driver, kind: FlowKind, from: HostId, to: HostId, bytes: u64) {
        let connection = self.pool.between(driver, from, to, kind);
        let number = self.add(driver, kind, from, to, bytes, connection.answerer());
        self.send(driver, number);
    }

    /// Request a flow: the receiver opens or reuses a connection, and sends a request; [`Transfers::answer`] sends the flow.
    pub fn ask(&mut self, driver: &mut dyn Driver, kind: FlowKind, from: HostId, to: HostId, bytes: u64, request: u64) {
        let connection = self.pool.between(driver, to, from, kind);
        let number = self.add(driver, kind, from, to, bytes, connection.opener());
        driver.send(connection.opener(), Message::new(request, Carried::Request(number)));
    }

    /// Send a requested flow.
    pub fn answer(&mut self, driver: &mut dyn Driver, number: u32) {
        self.rows[number as usize].start_ps = driver.now().0;
        self.send(driver, number);
    }

    fn send(&mut self, driver: &mut dyn Driver, number: u32) {
        let (row, way) = (&self.rows[number as usize], &mut self.ways[number as usize]);
        let (sender, bytes) = (way.receiver.peer(), row.payload_bytes.unwrap_or(0));
        way.before = Some(driver.send(sender, Message::new(bytes, Carried::Flow(number))));
        self.pool.served(driver, sender);
    }

    fn add(
        &mut self,
        view: &dyn View,
        kind: FlowKind,
        from: HostId,
        to: HostId,
        bytes: u64,
        receiver: EndpointId,
    ) -> u32 {
        self.ways.push(Way { receiver, before: None });
        self.rows.push(FlowRow {
            class: kind,
            from_host: from.0,
            to_host: to.0,
            payload_bytes: Some(bytes),
            start_ps: view.now().0,
            ideal_ps: view.ideal(from, to, bytes).map(|time| time.0),
            ..FlowRow::default()
        });
        self.missing += 1;
        self.rows.len() as u32 - 1
    }

    /// The source host of a flow, and its bytes.
    pub fn source(&self, number: u32) -> (HostId, u64) {
        let row = &self.rows[number as usize];
        (HostId(row.from_host), row.payload_bytes.unwrap_or(0))
    }

    /// The last byte of a flow has arrived.
    pub fn end(&mut self, view: &dyn View, number: u32) {
        let row = &mut self.rows[number as usize];
        row.fct_ps = Some(view.now().0 - row.start_ps);
        self.missing -= 1;
    }

    /// One row per flow started at `begun_ps` or later, in the order of their starts; times count from then.
    pub fn rows(&self, view: &dyn View, begun_ps: u64) -> impl Iterator<Item = FlowRow> {
        let measured = self.rows.iter().zip(&self.ways).filter(move |(row, _)| row.start_ps >= begun_ps);
        measured.map(move |(row, way)| FlowRow {
            start_ps: row.start_ps - begun_ps,
            delivered_bytes: delivered(view, row, way),
            ..row.clone()
        })
    }

    /// When the first one started, in ps.
    pub fn first_start(&self) -> u64 {
        self.rows.first().map_or(0, |row| row.start_ps)
    }

    /// Payload delivered in order so far.
    pub fn delivered(&self, view: &dyn View) -> u64 {
        self.rows.iter().zip(&self.ways).map(|(row, way)| delivered(view, row, way)).sum()
    }
}

/// Delivered bytes of a flow.
fn delivered(view: &dyn View, row: &FlowRow, way: &Way) -> u64 {
    let whole = row.payload_bytes.unwrap_or(0);
    match (row.fct_ps, way.before) {
        (Some(_), _) => whole,
        (None, Some(before)) => view.delivered(way.receiver).saturating_sub(before).min(whole),
        (None, None) => 0,
    }
}
