//! What an application is to the simulator, and what applications share.

use fanin_spec::{FlowRow, QueryRow, ServiceRow, TaskRow};
use fanin_units::Time;

use crate::probe::Probe;
use crate::world::{CLIENT, World};

/// What the simulator tells the application. Endpoints are known by their number.
pub(crate) trait App<P> {
    /// The run begins.
    fn start(&mut self, world: &mut World<P>);
    /// A handshake is done at this end.
    fn established(&mut self, world: &mut World<P>, endpoint: u32);
    /// As many bytes are delivered as was asked for.
    fn awake(&mut self, world: &mut World<P>, endpoint: u32);
    /// The peer closed its side.
    fn closed(&mut self, world: &mut World<P>, endpoint: u32);
    /// A timer of [`World::after`] is due.
    fn due(&mut self, world: &mut World<P>, token: u32);
    /// What was measured, at the end of the run.
    fn record(&self, world: &World<P>) -> Record;
}

/// What an application measures.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record {
    pub flows: Vec<FlowRow>,
    pub queries: Vec<QueryRow>,
    pub payload_bytes: u64,
    pub measured: Time,
    pub tasks: Vec<TaskRow>,
    pub service: Vec<ServiceRow>,
}

/// The token of the timer at the end of the measured time; servers' numbers lie below it.
pub(crate) const END: u32 = u32::MAX;

/// The token of the timer at the end of the warm-up.
pub(crate) const WARM: u32 = u32::MAX - 2;

/// The host of a server.
pub(crate) fn host_of(server: u32) -> u32 {
    server + 1
}

/// A length that no run reaches: a long flow's.
pub(crate) const ENDLESS: u64 = 1 << 50;

/// Starts the scenario's background flows: long ones into the client, each from a host behind the servers. The workload
/// begins.
pub(crate) fn start_background<P: Probe>(world: &mut World<P>) {
    world.begun = Some(world.now);
    for i in 0..world.spec.settings.workload.background {
        let connection = world.connect(world.spec.settings.hosts() + i, CLIENT);
        world.put_beside(connection);
        world.write(connection.opener, ENDLESS);
    }
}
