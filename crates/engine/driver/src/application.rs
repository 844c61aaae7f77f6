//! Interface between an application and its driver.

use std::any::Any;

use fanin_fabric::HostId;
use fanin_tables::{
    CollectiveRow, FlowKind, FlowRow, GatheringRow, HubRow, HubSpeedRow, QueryRow, RankPartRow, RankRow, RequestRow,
    ServiceRow, TaskRow,
};
use fanin_units::{Rate, Time};

use crate::ids::{ConnectionId, EndpointId, Owner};
use crate::message::{Meaning, Message};
use crate::watch::Watch;

/// An application: handles events of its own connections and timers, and acts through a [`Driver`].
pub trait Application {
    /// Start: the workload with the run, background applications with the workload.
    fn start(&mut self, driver: &mut dyn Driver);
    /// A handshake is done at this end.
    fn established(&mut self, _driver: &mut dyn Driver, _at: EndpointId) {}
    /// The last byte of a message has arrived.
    fn received(&mut self, driver: &mut dyn Driver, at: EndpointId, message: Meaning);
    /// The peer closed its side.
    fn closed(&mut self, driver: &mut dyn Driver, at: EndpointId) {
        driver.close(at);
    }
    /// The peer's host has lost the connection, which is unusable.
    fn broken(&mut self, _driver: &mut dyn Driver, _at: EndpointId) {}
    /// A retransmission timer has fired at this end.
    fn on_timeout(&mut self, _at: EndpointId) {}
    /// A host has crashed: its state is lost, including unsent data of its connections.
    fn crashed(&mut self, _driver: &mut dyn Driver, _host: HostId) {}
    /// A crashed host has returned.
    fn returned(&mut self, _driver: &mut dyn Driver, _host: HostId) {}
    /// A timer of [`Driver::after`] is due.
    fn due(&mut self, _driver: &mut dyn Driver, _timer: Meaning) {}
    /// Whether a timer's actions depend only on the time: it reads no other state, and only opens connections, sends and closes over
    /// those, and sets timers. If its messages are also only counted, such an application can be simulated in parts.
    fn foresees(&self, _timer: Meaning) -> bool {
        false
    }
    /// Whether the run ends once all sent messages have arrived; then no foreseeable timers remain.
    fn ends_when_all_is_there(&self) -> bool {
        false
    }
    /// Divide its work at hosts by their parts of the network, whose number is given; `None` if it has no such shares.
    fn divide(&mut self, _parts: usize, _part_of: &dyn Fn(HostId) -> usize) -> Option<Vec<Box<dyn Share>>> {
        None
    }
    /// Take its shares back. If none waits for a message, all has arrived that it had divided, and it goes on.
    fn unite(&mut self, _driver: &mut dyn Driver, _shares: Vec<Box<dyn Share>>) {}
    /// The host at which a timer is served, if that is the task of the host's share.
    fn host_of(&self, _timer: Meaning) -> Option<HostId> {
        None
    }
    /// Exclude everything so far from the figures; called for background applications.
    fn measure(&mut self, _view: &dyn View) {}
    /// Collective operations that have ended so far, in the order of their ends.
    fn ended_collectives(&self) -> &[CollectiveRow] {
        &[]
    }
    /// Add its measurements.
    fn record(&self, _view: &dyn View, _record: &mut Record) {}
}

/// The work of an application at some hosts, while its other shares work at others at the same time. Of the network it sees only the clock, and
/// it only sends, over connections that were [prepared](Driver::prepare).
pub trait Share: Any + Send {
    /// The last byte of a message has arrived at one of its hosts.
    fn received(&mut self, driver: &mut dyn Driver, at: EndpointId, message: Meaning);
    /// A timer of one of its hosts is due.
    fn due(&mut self, driver: &mut dyn Driver, timer: Meaning);
    /// Messages that its hosts still wait for.
    fn missing(&self) -> u64;
}

/// An application's read access.
pub trait View {
    /// The current time.
    fn now(&self) -> Time;
    /// Start of the measured time; the workload's start without a warm-up.
    fn measured_from(&self) -> Time;
    /// Bytes delivered in order at an end of an open connection.
    fn delivered(&self, at: EndpointId) -> u64;
    /// Retransmission timeouts so far, of all connections; `None` if the driver cannot count them.
    fn timeouts(&self) -> Option<u64> {
        None
    }
    /// Minimum time to send `bytes` between two hosts, alone in the network; `None` if the driver does not know the network.
    fn ideal(&self, _from: HostId, _to: HostId, _bytes: u64) -> Option<Time> {
        None
    }
    /// The rate at which a host sends, over all of its links.
    fn rate(&self, host: HostId) -> Rate;
    /// How long a host now takes for work that takes `span` at full speed.
    fn at_work(&self, host: HostId, span: Time) -> Time;
    /// Whether one switch connects two hosts.
    fn share_a_rack(&self, one: HostId, other: HostId) -> bool;
    /// The number of hosts.
    fn hosts(&self) -> u32;
    /// The number of a host's rack.
    fn rack(&self, host: HostId) -> u32;
    /// The number of its pod: racks under the same aggregation routers.
    fn pod(&self, host: HostId) -> u32;
    /// Queued bytes, and free space, at the ports towards a host's rack; `None` if the driver does not see ports.
    fn queue_into_rack(&self, _host: HostId) -> Option<(u64, u64)> {
        None
    }
    /// The total rate of these ports.
    fn rate_into_rack(&self, host: HostId) -> Rate;
    /// The smoothed round-trip time at an end of an open connection.
    fn srtt(&self, _at: EndpointId) -> Option<Time> {
        None
    }
    /// The run's watch, if any.
    fn watch(&self) -> Option<&Watch> {
        None
    }
    /// Whether an end's connection is neither over nor broken: data may still arrive.
    fn carries(&self, at: EndpointId) -> bool;
}

/// An application's operations.
pub trait Driver: View {
    /// Connections opened and timers set from now on are those of this owner.
    fn act_for(&mut self, owner: Owner);
    /// Open a connection between two hosts for flows of a kind.
    fn connect(&mut self, from: HostId, to: HostId, kind: FlowKind) -> ConnectionId;
    /// Prepare a connection between two hosts for flows of a kind: the opener's first message opens it. A driver of real connections opens
    /// it at once.
    fn prepare(&mut self, from: HostId, to: HostId, kind: FlowKind) -> ConnectionId {
        self.connect(from, to, kind)
    }
    /// Establish a persistent connection between two hosts for flows of a kind.
    fn stand(&mut self, from: HostId, to: HostId, kind: FlowKind) -> ConnectionId;
    /// Send a message to the other end, after earlier ones; returns the number of bytes before it.
    fn send(&mut self, from: EndpointId, message: Message) -> u64;
    /// Set whether this end's application reads incoming data; it does by default.
    fn reads(&mut self, at: EndpointId, reads: bool);
    /// Send a long-lived flow.
    fn send_endlessly(&mut self, from: EndpointId);
    /// Stop a long-lived flow: discard unsent data, and close the sending side.
    fn stop(&mut self, at: EndpointId);
    /// Close an end's sending side after its data.
    fn close(&mut self, at: EndpointId);
    /// Set a timer.
    fn after(&mut self, span: Time, timer: Meaning);
    /// Start the workload, after connection setup; background traffic starts with it.
    fn begin(&mut self);
    /// Whether the workload has started.
    fn has_begun(&self) -> bool;
    /// These clients wait for responses from now on; a server may need up to `work` for one.
    fn await_responses(&mut self, clients: &[HostId], work: Time);
    /// A client waits for nothing for a time that begins now.
    fn rest(&mut self, client: HostId, span: Time);
    /// Tell the probe that all connections are set up and the first round begins.
    fn clock_starts(&mut self);
    /// Exclude everything so far from all figures: the workload has delivered `payload`.
    fn measure_from_here(&mut self, payload: u64);
    /// Time of the last [`Driver::measure_from_here`]; zero before.
    fn excluded_until(&self) -> Time;
    /// Tell the probe that a round or query has ended.
    fn round_ended(&mut self, round: u32);
    /// The application has finished: the run ends.
    fn finish(&mut self);
}

/// Measurements of applications.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Its flows.
    pub flows: Vec<FlowRow>,
    /// Its rounds or queries.
    pub queries: Vec<QueryRow>,
    /// Delivered payload.
    pub payload_bytes: u64,
    /// The time in which it was delivered.
    pub measured: Time,
    /// A job's tasks.
    pub tasks: Vec<TaskRow>,
    /// A trace's collective operations.
    pub collectives: Vec<CollectiveRow>,
    /// A trace's ranks.
    pub ranks: Vec<RankRow>,
    /// Its ranks over time, if they are watched.
    pub rank_series: Vec<RankPartRow>,
    /// Requests of front ends.
    pub requests: Vec<RequestRow>,
    /// Hubs and their results.
    pub hubs: Vec<HubRow>,
    /// Measured speeds of hubs.
    pub hub_speeds: Vec<HubSpeedRow>,
    /// Moves during the run.
    pub gathering: Vec<GatheringRow>,
    /// Queries of the background service.
    pub service: Vec<ServiceRow>,
}
