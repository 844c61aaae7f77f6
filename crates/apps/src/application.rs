//! What an application is, and what it may see and do.

use fanin_fabric::HostId;
use fanin_spec::{
    FlowKind, FlowRow, GatheringRow, HubRow, HubSpeedRow, QueryRow, RequestRow, ServiceRow, TaskRow, Watch,
};
use fanin_units::{Rate, Time};

use crate::ids::{ConnectionId, EndpointId};
use crate::message::{Meaning, Message};

/// An application: it is told of what happens to its own connections and timers, and does what a [`Driver`] can.
pub trait Application {
    /// What its timers mean.
    type Timer: From<Meaning>;
    /// What its messages mean.
    type Message: From<Meaning>;

    /// It begins: the workload with the run, what runs beside it with the workload.
    fn start(&mut self, driver: &mut dyn Driver);
    /// A handshake is done at this end.
    fn established(&mut self, _driver: &mut dyn Driver, _at: EndpointId) {}
    /// The last byte of a message is there.
    fn received(&mut self, driver: &mut dyn Driver, at: EndpointId, message: Self::Message);
    /// The peer closed its side.
    fn closed(&mut self, driver: &mut dyn Driver, at: EndpointId) {
        driver.close(at);
    }
    /// The peer's host knows nothing of the connection any more: it will carry nothing.
    fn broken(&mut self, _driver: &mut dyn Driver, _at: EndpointId) {}
    /// A retransmission timer has fired at this end.
    fn on_timeout(&mut self, _at: EndpointId) {}
    /// A host has crashed: what it held is lost, and so is what its ends of connections are given to send.
    fn crashed(&mut self, _driver: &mut dyn Driver, _host: HostId) {}
    /// A host that had crashed is there again.
    fn returned(&mut self, _driver: &mut dyn Driver, _host: HostId) {}
    /// A timer of [`Driver::after`] is due.
    fn due(&mut self, driver: &mut dyn Driver, timer: Self::Timer);
    /// Whether what a timer does follows from the time alone: it looks at nothing that happens, and opens connections, sends and
    /// closes over those, and sets timers, and no more. Where all that its messages do is to be counted, such an application can be
    /// simulated in parts.
    fn foresees(&self, _timer: Self::Timer) -> bool {
        false
    }
    /// Whether the run ends once all messages that were sent are there: then there is nothing any more that it foresees.
    fn ends_when_all_is_there(&self) -> bool {
        false
    }
    /// What was so far is left out of all figures: what runs beside the workload is told so.
    fn measure(&mut self, _view: &dyn View) {}
    /// Adds what was measured of it.
    fn record(&self, view: &dyn View, record: &mut Record);
}

/// What an application may look at.
pub trait View {
    /// The time at hand.
    fn now(&self) -> Time;
    /// When the measured time began, or the workload where there is no warm-up.
    fn measured_from(&self) -> Time;
    /// Bytes delivered in order at an end of a connection that is still in use.
    fn delivered(&self, at: EndpointId) -> u64;
    /// Retransmission timeouts so far, anybody's.
    fn timeouts(&self) -> u64;
    /// The least time in which `bytes` get from one host to another, alone in the network.
    fn ideal(&self, from: HostId, to: HostId, bytes: u64) -> Time;
    /// The rate at which a host sends.
    fn rate(&self, host: HostId) -> Rate;
    /// How long a host takes now for what takes `span` at its full speed.
    fn at_work(&self, host: HostId, span: Time) -> Time;
    /// Whether one switch joins two hosts.
    fn share_a_rack(&self, one: HostId, other: HostId) -> bool;
    /// The number of hosts.
    fn hosts(&self) -> u32;
    /// The number of a host's rack.
    fn rack(&self, host: HostId) -> u32;
    /// The number of its pod: racks under the same aggregation routers.
    fn pod(&self, host: HostId) -> u32;
    /// What waits, and what would find room, at the ports towards a host's rack: bytes.
    fn queue_into_rack(&self, host: HostId) -> (u64, u64);
    /// The rate of these ports together.
    fn rate_into_rack(&self, host: HostId) -> Rate;
    /// The smoothed round-trip time at an end of a connection that is still in use.
    fn srtt(&self, at: EndpointId) -> Option<Time>;
    /// What somebody watches of the run.
    fn watch(&self) -> Option<&Watch>;
    /// Whether an end's connection is neither over nor broken: something may come there.
    fn carries(&self, at: EndpointId) -> bool;
}

/// What an application may do.
pub trait Driver: View {
    /// Opens a connection from one host to another for flows of a kind.
    fn connect(&mut self, from: HostId, to: HostId, kind: FlowKind) -> ConnectionId;
    /// A connection from one host to another that has stood since long before, for flows of a kind.
    fn stand(&mut self, from: HostId, to: HostId, kind: FlowKind) -> ConnectionId;
    /// Sends a message from this end to the other, after those before; says how many bytes went before it.
    fn send(&mut self, from: EndpointId, message: Message) -> u64;
    /// Whether this end's application reads what comes, which it does until told otherwise.
    fn reads(&mut self, at: EndpointId, reads: bool);
    /// Sends without end.
    fn pour(&mut self, from: EndpointId);
    /// Stops to pour: what has not been sent is taken back, and the sending side closed.
    fn stop(&mut self, at: EndpointId);
    /// Closes an end's sending side, after what is to be sent.
    fn close(&mut self, at: EndpointId);
    /// Sets a timer.
    fn after(&mut self, span: Time, timer: Meaning);
    /// The workload begins, connections that stand before it apart: so does what runs beside it.
    fn begin(&mut self);
    /// From now on these clients wait for answers, which a server may need so much time for.
    fn await_answers(&mut self, clients: &[HostId], work: Time);
    /// A client waits for nothing in a time that begins now.
    fn rest(&mut self, client: HostId, span: Time);
    /// All connections stand and the first round begins: for whoever watches.
    fn clock_starts(&mut self);
    /// What was so far is left out of all figures: the workload has delivered `payload`.
    fn measure_from_here(&mut self, payload: u64);
    /// A round or query has ended: for whoever watches.
    fn round_ended(&mut self, round: u32);
    /// The application has all that it wants: the run ends.
    fn finish(&mut self);
}

/// What applications measure.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Its flows.
    pub flows: Vec<FlowRow>,
    /// Its rounds or queries.
    pub queries: Vec<QueryRow>,
    /// Payload that was delivered.
    pub payload_bytes: u64,
    /// The time in which it was.
    pub measured: Time,
    /// A job's tasks.
    pub tasks: Vec<TaskRow>,
    /// Requests of front ends.
    pub requests: Vec<RequestRow>,
    /// Hubs, and what each did.
    pub hubs: Vec<HubRow>,
    /// How fast hubs were found to be.
    pub hub_speeds: Vec<HubSpeedRow>,
    /// What was moved while it ran.
    pub gathering: Vec<GatheringRow>,
    /// Queries of the service beside it.
    pub service: Vec<ServiceRow>,
}

/// A row of a round or query that began at `start_ps` and took so long, or where it is not `whole` has lasted so long.
pub(crate) fn round_row(round: u32, start_ps: u64, took: Time, whole: bool, timeouts: u64) -> QueryRow {
    let (qct_ps, waited_ps) = (whole.then_some(took.0), (!whole).then_some(took.0));
    QueryRow { round, start_ps, qct_ps, waited_ps, timeouts, ..QueryRow::default() }
}

/// The host of a server.
pub(crate) fn host_of(server: u32) -> HostId {
    HostId(server + 1)
}

/// An `Application` whatever its meanings.
#[expect(missing_docs, reason = "each is the application's of its name")]
pub trait App {
    fn start(&mut self, driver: &mut dyn Driver);
    fn established(&mut self, driver: &mut dyn Driver, at: EndpointId);
    fn received(&mut self, driver: &mut dyn Driver, at: EndpointId, message: Meaning);
    fn closed(&mut self, driver: &mut dyn Driver, at: EndpointId);
    fn broken(&mut self, driver: &mut dyn Driver, at: EndpointId);
    fn on_timeout(&mut self, at: EndpointId);
    fn crashed(&mut self, driver: &mut dyn Driver, host: HostId);
    fn returned(&mut self, driver: &mut dyn Driver, host: HostId);
    fn due(&mut self, driver: &mut dyn Driver, timer: Meaning);
    fn foresees(&self, timer: Meaning) -> bool;
    fn ends_when_all_is_there(&self) -> bool;
    fn measure(&mut self, view: &dyn View);
    fn record(&self, view: &dyn View, record: &mut Record);
}

impl<A: Application> App for A {
    fn start(&mut self, driver: &mut dyn Driver) {
        Application::start(self, driver);
    }

    fn established(&mut self, driver: &mut dyn Driver, at: EndpointId) {
        Application::established(self, driver, at);
    }

    fn received(&mut self, driver: &mut dyn Driver, at: EndpointId, message: Meaning) {
        Application::received(self, driver, at, message.into());
    }

    fn closed(&mut self, driver: &mut dyn Driver, at: EndpointId) {
        Application::closed(self, driver, at);
    }

    fn broken(&mut self, driver: &mut dyn Driver, at: EndpointId) {
        Application::broken(self, driver, at);
    }

    fn on_timeout(&mut self, at: EndpointId) {
        Application::on_timeout(self, at);
    }

    fn crashed(&mut self, driver: &mut dyn Driver, host: HostId) {
        Application::crashed(self, driver, host);
    }

    fn returned(&mut self, driver: &mut dyn Driver, host: HostId) {
        Application::returned(self, driver, host);
    }

    fn due(&mut self, driver: &mut dyn Driver, timer: Meaning) {
        Application::due(self, driver, timer.into());
    }

    fn foresees(&self, timer: Meaning) -> bool {
        Application::foresees(self, timer.into())
    }

    fn ends_when_all_is_there(&self) -> bool {
        Application::ends_when_all_is_there(self)
    }

    fn measure(&mut self, view: &dyn View) {
        Application::measure(self, view);
    }

    fn record(&self, view: &dyn View, record: &mut Record) {
        Application::record(self, view, record);
    }
}
