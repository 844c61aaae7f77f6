//! Flows between any two hosts, each over a connection of its own.

use fanin_spec::{FlowKind, FlowRow};

use crate::probe::Probe;
use crate::world::World;

/// Those that were started, and what became of them.
#[derive(Default)]
pub(crate) struct Transfers {
    rows: Vec<FlowRow>,
    /// The receiving endpoint of each; the other end of its connection has the number beside it.
    receivers: Vec<u32>,
    /// The flow of each connection, by half an endpoint's number; `NONE` for connections of others.
    of: Vec<u32>,
    /// How many have not ended.
    pub missing: usize,
}

const NONE: u32 = u32::MAX;

impl Transfers {
    /// Starts a flow: the sender opens a connection, sends, and closes it.
    pub fn start<P: Probe>(&mut self, world: &mut World<P>, kind: FlowKind, way: (u32, u32), bytes: u64) {
        let connection = world.connect(way.0, way.1);
        self.add(world, kind, way, bytes, (connection.opener, connection.answerer));
        world.write(connection.opener, bytes);
        world.close(connection.opener);
    }

    /// Asks for a flow: the receiver opens a connection and sends a request; [`Transfers::answer`] sends what it asks for.
    pub fn ask<P: Probe>(&mut self, world: &mut World<P>, kind: FlowKind, way: (u32, u32), bytes: u64, request: u64) {
        let connection = world.connect(way.1, way.0);
        self.add(world, kind, way, bytes, (connection.answerer, connection.opener));
        world.wake_at(connection.answerer, request);
        world.write(connection.opener, request);
    }

    /// Sends what was asked for: the flow begins.
    pub fn answer<P: Probe>(&mut self, world: &mut World<P>, number: u32) {
        let row = &mut self.rows[number as usize];
        row.start_ps = world.now.0;
        let sender = self.receivers[number as usize] ^ 1;
        world.write(sender, row.payload_bytes.unwrap_or(0));
        world.close(sender);
    }

    fn add<P: Probe>(
        &mut self,
        world: &mut World<P>,
        kind: FlowKind,
        (from, to): (u32, u32),
        bytes: u64,
        (sender, receiver): (u32, u32),
    ) {
        let ideal = world.ideal(from, to, bytes);
        if let Some(latencies) = &mut world.latencies {
            latencies.classify(sender, kind);
        }
        let number = self.rows.len() as u32;
        self.of.resize(sender as usize / 2 + 1, NONE);
        self.of[sender as usize / 2] = number;
        self.receivers.push(receiver);
        self.rows.push(FlowRow {
            class: kind,
            from_host: from,
            to_host: to,
            payload_bytes: Some(bytes),
            start_ps: world.now.0,
            ideal_ps: Some(ideal.0),
            ..FlowRow::default()
        });
        self.missing += 1;
        if matches!(kind, FlowKind::Beside | FlowKind::Query) {
            for endpoint in [sender, receiver] {
                world.net.put_beside(endpoint);
                world.net.probe.beside(endpoint);
            }
        }
        world.wake_at(receiver, bytes);
    }

    /// The host that a flow comes from, and its bytes.
    pub fn source(&self, number: u32) -> (u32, u64) {
        let row = &self.rows[number as usize];
        (row.from_host, row.payload_bytes.unwrap_or(0))
    }

    /// The flow that an endpoint belongs to, and whether it receives it.
    pub fn at(&self, endpoint: u32) -> (u32, bool) {
        let number = self.of[endpoint as usize / 2];
        (number, self.receivers[number as usize] == endpoint)
    }

    /// Whether an endpoint is one of these flows'.
    pub fn own(&self, endpoint: u32) -> bool {
        self.of.get(endpoint as usize / 2).is_some_and(|&number| number != NONE)
    }

    /// The last byte of a flow is there: the flow's number, in the order of starts.
    pub fn end<P: Probe>(&mut self, world: &World<P>, endpoint: u32) -> u32 {
        let number = self.of[endpoint as usize / 2];
        let row = &mut self.rows[number as usize];
        row.fct_ps = Some(world.now.0 - row.start_ps);
        self.missing -= 1;
        number
    }

    /// A row each that started at `begun_ps` or later, in the order of their starts; times count from then.
    pub fn rows<P: Probe>(&self, world: &World<P>, begun_ps: u64) -> impl Iterator<Item = FlowRow> {
        let measured = self.rows.iter().zip(&self.receivers).filter(move |(row, _)| row.start_ps >= begun_ps);
        measured.map(move |(row, &receiver)| FlowRow {
            start_ps: row.start_ps - begun_ps,
            delivered_bytes: world.delivered(receiver),
            ..row.clone()
        })
    }

    /// When the first one started, in ps.
    pub fn first_start(&self) -> u64 {
        self.rows.first().map_or(0, |row| row.start_ps)
    }

    /// Payload delivered in order so far.
    pub fn delivered<P: Probe>(&self, world: &World<P>) -> u64 {
        self.receivers.iter().map(|&receiver| world.delivered(receiver)).sum()
    }
}
