//! A run to be: a network, a transport and applications are given, the rest has a default.

use std::num::NonZeroUsize;
use std::sync::Arc;

use fanin_driver::{Application, Applications, Watch};
use fanin_fabric::{Change, Fabric, Framing, HostFault, HostId};
use fanin_tables::{RunError, RunTables};
use fanin_transport::Transport;
use fanin_units::{Rate, Time};

use crate::by_rate::ByRate;
use crate::engine::{self, Reached, Running};
use crate::fetch;
use crate::link::Departures;
use crate::network::{Card, Clients, Config, HostTicks, PacketFaults, Ports, ReceiveWindows, Switches};
use crate::occupancy::Occupancy;
use crate::parts::{self, Team};
use crate::probe::{NoProbe, NoProbeOfAnySize, Probe, Recorder, Watchers};
use crate::simulation::{Simulation, broken};
use crate::tap::{Tap, TapPoint};
use crate::world::World;

/// Bytes of memory per host with its links.
pub const HOST_BYTES: f64 = 600.0;
/// Bytes per open connection that packets touch.
const CONNECTION_BYTES: f64 = 1_200.0;
/// Bytes that fit in a nearby cache. A run whose packets touch more uses prefetching.
const NEAR: f64 = 2e6;

/// A run to be, over a transport `T`.
pub struct Builder<T: Transport> {
    fabric: Fabric,
    transport: ByRate<T>,
    config: Config,
    switches: Switches,
    departures: Departures,
    /// Whether ports' queues are measured.
    measures_ports: bool,
    /// Command that replays it.
    replay: String,
}

impl<T: Transport> Builder<T> {
    /// Hosts of a network that all have these settings of their transport, and the queue disciplines of its ports.
    ///
    /// Frames are Ethernet's, the seed is one, and nothing fails.
    pub fn new(fabric: Fabric, transport: T::Settings, ports: impl Ports + 'static) -> Builder<T> {
        let config = Config {
            ports: Arc::new(ports),
            seed: 1,
            framing: Framing::ETHERNET,
            jitter: Time::ZERO,
            faults: PacketFaults::default(),
            changes: Arc::default(),
            host_faults: Arc::default(),
            ticks: None,
            receive_windows: None,
            card: None,
            measures_pairs: false,
            clients: Clients::default(),
            connections: 0,
            measures_latencies: false,
        };
        let (switches, departures) = (Switches::default(), Departures::Eager);
        let transport = ByRate::same(transport);
        Builder { fabric, transport, config, switches, departures, measures_ports: false, replay: String::new() }
    }

    /// Settings of the transport at hosts' links of other rates than the usual one: for transports that
    /// [depend on it](Transport::DEPENDS_ON_RATE).
    pub fn at_other_rates(mut self, usual: Rate, of: impl Fn(Rate) -> T::Settings) -> Builder<T> {
        self.transport = ByRate::new(self.transport.usual().clone(), usual, &self.fabric, of);
        self
    }

    /// The seed of every random stream of the network: jitter, faults, queue disciplines and paths.
    pub fn seed(mut self, seed: u64) -> Builder<T> {
        self.config.seed = seed;
        self
    }

    /// Bytes of the link layer per packet.
    pub fn framing(mut self, framing: Framing) -> Builder<T> {
        self.config.framing = framing;
        self
    }

    /// Switches that trim, serve classes, or pause their neighbours.
    pub fn switches(mut self, switches: Switches) -> Builder<T> {
        self.switches = switches;
        self
    }

    /// The maximum delay that a host adds to a packet, uniform from zero.
    pub fn jitter(mut self, jitter: Time) -> Builder<T> {
        self.config.jitter = jitter;
        self
    }

    /// Random faults of packets.
    pub fn faults(mut self, faults: PacketFaults) -> Builder<T> {
        self.config.faults = faults;
        self
    }

    /// Links that fail, recover or change their rate.
    pub fn changes(mut self, changes: Vec<Change>) -> Builder<T> {
        self.config.changes = changes.into();
        self
    }

    /// Hosts that crash, return or slow down, in order of time.
    pub fn host_faults(mut self, faults: Vec<HostFault>) -> Builder<T> {
        self.config.host_faults = faults.into();
        self
    }

    /// Clock ticks of hosts.
    pub fn ticks(mut self, ticks: HostTicks) -> Builder<T> {
        self.config.ticks = Some(ticks);
        self
    }

    /// Receive windows set by hosts.
    pub fn receive_windows(mut self, windows: ReceiveWindows) -> Builder<T> {
        self.config.receive_windows = Some(windows);
        self
    }

    /// Network cards that drain their ingress buffers more slowly than links fill them.
    pub fn card(mut self, card: Card) -> Builder<T> {
        self.config.card = Some(card);
        self
    }

    /// Measures every queue pair.
    pub fn measure_pairs(mut self) -> Builder<T> {
        self.config.measures_pairs = true;
        self
    }

    /// Hosts that wait for responses.
    pub fn clients(mut self, clients: Clients) -> Builder<T> {
        self.config.clients = clients;
        self
    }

    /// About how many connections are open at once: their memory is reserved.
    pub fn connections(mut self, connections: usize) -> Builder<T> {
        self.config.connections = connections;
        self
    }

    /// Measures every packet's latency.
    pub fn measure_latencies(mut self) -> Builder<T> {
        self.config.measures_latencies = true;
        self
    }

    /// Measures the queues of ports over time.
    pub fn measure_ports(mut self) -> Builder<T> {
        self.measures_ports = true;
        self
    }

    /// Whether departures are computed in advance; the tables are the same.
    pub fn departures(mut self, departures: Departures) -> Builder<T> {
        self.departures = departures;
        self
    }

    /// The command that replays the run, which the error of a failed conservation check names.
    pub fn replayed_by(mut self, command: String) -> Builder<T> {
        self.replay = command;
        self
    }

    /// Begins the run of one application.
    pub fn start(self, application: impl Application + 'static) -> Simulation {
        self.start_all(Applications::new(Box::new(application)))
    }

    /// Begins the run of several applications.
    pub fn start_all(self, applications: Applications) -> Simulation {
        match self.measures_ports {
            true => self.observe(None, None, applications),
            false => match (T::SHARES_ENGINE, self.is_large()) {
                (true, is_large) => self.begin(NoProbeOfAnySize { is_large }, applications),
                (false, true) => self.begin(NoProbe::<true>, applications),
                (false, false) => self.begin(NoProbe::<false>, applications),
            },
        }
    }

    /// Begins a run that records the series and events selected by `watch`; the tables are the same.
    pub fn watch(self, watch: Watch, applications: Applications) -> Simulation {
        let recorder = Recorder::new(watch, self.fabric.downlinks(HostId::CLIENT));
        self.observe(Some(recorder), None, applications)
    }

    /// Begins a run that captures every packet that crosses the links at a point; `None` if the fabric has no such point.
    pub fn tap(self, point: &TapPoint, applications: Applications) -> Option<Simulation> {
        let tap = Tap::new(point, &self.fabric)?;
        Some(self.observe(None, Some(tap), applications))
    }

    /// Runs in this many parts, which a team serves in parallel, as long as `go_on` returns true, which receives from time to time a
    /// function that tells how far the run is. The caller has made sure that the workload can be foreseen, and that
    /// [`one_core`](crate::one_core) has no objection.
    ///
    /// # Errors
    /// As [`Simulation::run`] and [`Simulation::finish`].
    pub fn run_in_parts(
        self,
        applications: Applications,
        parts: NonZeroUsize,
        team: &dyn Team,
        go_on: &mut dyn FnMut(&dyn Fn() -> Reached) -> bool,
    ) -> Result<RunTables, RunError> {
        let replay = self.replay.clone();
        let tables = match T::SHARES_ENGINE {
            true => {
                let probe = NoProbeOfAnySize { is_large: true };
                parts::run(self.running(probe, applications), parts, team, go_on)
            }
            false => parts::run(self.running(NoProbe::<true>, applications), parts, team, go_on),
        };
        tables?.map_err(|imbalance| broken(&imbalance, &replay))
    }

    /// A run with a recorder and a tap, if given, and the measurements of ports.
    fn observe(mut self, recorder: Option<Recorder>, tap: Option<Tap>, applications: Applications) -> Simulation {
        let occupancy = self.measures_ports.then(Occupancy::default);
        if occupancy.is_some() || recorder.is_some() {
            // Departures are events, so that a queue is seen to shrink when it does.
            self.departures = Departures::Lazy;
        }
        self.begin(Watchers { occupancy, recorder, tap }, applications)
    }

    fn begin<P: Probe + 'static>(mut self, probe: P, applications: Applications) -> Simulation {
        let replay = std::mem::take(&mut self.replay);
        Simulation::new(Box::new(self.running(probe, applications)), replay)
    }

    /// The run at its start, with the state of every host and port.
    fn running<P: Probe>(self, probe: P, applications: Applications) -> Running<P, T, Applications> {
        let Builder { fabric, transport, config, switches, departures, .. } = self;
        engine::begin(World::new(fabric, transport, config, switches, departures, probe), applications)
    }

    /// Whether packets of the run touch more memory than is near.
    fn is_large(&self) -> bool {
        let bytes = f64::from(self.fabric.hosts()) * HOST_BYTES + self.config.connections as f64 * CONNECTION_BYTES;
        fetch::HAS_EFFECT && bytes > NEAR
    }
}
