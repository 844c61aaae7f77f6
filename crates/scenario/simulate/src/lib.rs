//! Runs of scenarios on the simulator: the settings of a [`RunSpec`] become the calls of a [`Builder`], and [`run`] gives its
//! [`RunTables`].

mod beside;
mod builder;
mod need;
mod ports;
mod reasons;

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};

use fanin_assemble::fabric;
use fanin_fabric::HostId;
use fanin_sim::{Applications, CapturedPacket, Departures, Reached, Simulation, TapPoint, Team};
use fanin_spec::{RunSpec, Transport, Watch};
use fanin_tables::{CollectiveRow, RunError, RunTables};

pub use builder::builder;
use builder::{rdma, rdma_beside_tcp, tcp, uet};
pub use need::{need, share_done};
pub use reasons::one_core;

/// The engine's name: another engine's tables may differ.
pub const ENGINE: &str = env!("FANIN_ENGINE");

/// Evaluates an expression of the builder for a spec's transport.
macro_rules! of_transport {
    ($spec:ident, $builder:ident => $simulation:expr) => {
        match $spec.scheme.transport {
            Transport::Rdma(kind) if let Some(background) = $spec.background() => {
                let $builder = rdma_beside_tcp($spec, kind, &background);
                $simulation
            }
            _ => of_lone_transport!($spec, $builder => $simulation),
        }
    };
}

/// As [`of_transport`], of a spec without background traffic over another transport.
macro_rules! of_lone_transport {
    ($spec:ident, $builder:ident => $simulation:expr) => {
        match $spec.scheme.transport {
            Transport::Tcp => {
                let $builder = tcp($spec);
                $simulation
            }
            Transport::Rdma(kind) => {
                let $builder = rdma($spec, kind);
                $simulation
            }
            Transport::Uet(kind) => {
                let $builder = uet($spec, kind);
                $simulation
            }
        }
    };
}

/// Begins a run of a spec.
pub fn begin(spec: &RunSpec) -> Simulation {
    begin_with(spec, Departures::Eager)
}

/// Begins a run with eager or lazy departures: both give the same tables.
pub fn begin_with(spec: &RunSpec, departures: Departures) -> Simulation {
    let applications = fanin_apps::applications(spec);
    of_transport!(spec, builder => builder.departures(departures).start_all(applications))
}

/// Begins a run of other applications than those of the spec, over its network and transport.
pub fn begin_applications(spec: &RunSpec, applications: Applications) -> Simulation {
    of_transport!(spec, builder => builder.start_all(applications))
}

/// The number of hosts of a spec's network.
pub fn hosts(spec: &RunSpec) -> u32 {
    fabric(spec).hosts()
}

/// Begins a run that records the series and events selected by `watch`.
pub fn begin_watched(spec: &RunSpec, watch: Watch) -> Simulation {
    let applications = fanin_apps::applications(spec);
    of_transport!(spec, builder => builder.watch(watch, applications))
}

/// Begins a run that captures every packet that crosses the links at a point; `None` if the fabric has no such point.
pub fn begin_tapped(spec: &RunSpec, point: &TapPoint) -> Option<Simulation> {
    let applications = fanin_apps::applications(spec);
    of_transport!(spec, builder => builder.tap(point, applications))
}

/// Runs one spec; checks `stop` from time to time.
///
/// # Errors
/// [`RunError`]; never because of the spec, which the scenario reader validates.
pub fn run(spec: &RunSpec, stop: &AtomicBool) -> Result<RunTables, RunError> {
    run_with(spec, Departures::Eager, stop)
}

/// Runs one spec; `tell` receives from time to time a function that says how far the run is.
///
/// # Errors
/// As [`run`].
pub fn run_telling(
    spec: &RunSpec,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(&dyn Fn() -> Reached),
) -> Result<RunTables, RunError> {
    let mut simulation = begin(spec);
    simulation.run_while(&mut |simulation| {
        tell(&|| simulation.reached());
        !stop.load(Ordering::Relaxed)
    })?;
    simulation.finish()
}

/// Runs one spec; `ended` receives each collective operation of a trace when it ends, or a few thousand events later.
///
/// # Errors
/// As [`run`].
pub fn follow(spec: &RunSpec, stop: &AtomicBool, ended: &mut dyn FnMut(&CollectiveRow)) -> Result<RunTables, RunError> {
    let mut simulation = begin(spec);
    let mut reported = 0;
    let mut report = |simulation: &Simulation| {
        let rows = simulation.ended_collectives();
        rows[reported..].iter().for_each(&mut *ended);
        reported = rows.len();
    };
    let result = simulation.run_while(&mut |simulation| {
        report(simulation);
        !stop.load(Ordering::Relaxed)
    });
    report(&simulation);
    result?;
    simulation.finish()
}

/// As [`run_telling`], in this many parts, which a team serves in parallel, or in one piece for the reasons of [`one_core`]: the tables
/// are the same.
///
/// # Errors
/// As [`run`].
pub fn run_in_parts(
    spec: &RunSpec,
    parts: NonZeroUsize,
    team: &dyn Team,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(&dyn Fn() -> Reached),
) -> Result<RunTables, RunError> {
    if parts == NonZeroUsize::MIN || one_core(spec).is_some() {
        return run_telling(spec, stop, tell);
    }
    let applications = fanin_apps::applications(spec);
    let mut go_on = |reached: &dyn Fn() -> Reached| {
        tell(reached);
        !stop.load(Ordering::Relaxed)
    };
    of_lone_transport!(spec, builder => builder.run_in_parts(applications, parts, team, &mut go_on))
}

/// Runs one spec with eager or lazy departures: both give the same tables.
///
/// # Errors
/// As [`run`].
pub fn run_with(spec: &RunSpec, departures: Departures, stop: &AtomicBool) -> Result<RunTables, RunError> {
    let mut simulation = begin_with(spec, departures);
    simulation.run(stop)?;
    simulation.finish()
}

/// Runs one spec and also returns the series and events selected by `watch`; the tables are the same.
///
/// # Errors
/// As [`run`].
pub fn watch(spec: &RunSpec, watch: Watch, stop: &AtomicBool) -> Result<RunTables, RunError> {
    let mut simulation = begin_watched(spec, watch);
    simulation.run(stop)?;
    simulation.finish()
}

/// Runs one spec and returns every packet that crosses the links at a point.
///
/// # Errors
/// As [`run`]; `Ok(None)` if the fabric has no such point.
pub fn tap(
    spec: &RunSpec,
    point: &TapPoint,
    stop: &AtomicBool,
) -> Result<Option<(RunTables, Vec<CapturedPacket>)>, RunError> {
    let Some(mut simulation) = begin_tapped(spec, point) else { return Ok(None) };
    simulation.run(stop)?;
    let caught = simulation.caught();
    Ok(Some((simulation.finish()?, caught)))
}

/// The names of the hosts and ports of a spec's network, for taps.
pub fn tap_points(spec: &RunSpec) -> (Vec<String>, Vec<String>) {
    let fabric = fabric(spec);
    let hosts = (0..fabric.hosts()).map(|host| fabric.name(HostId(host).node())).collect();
    (hosts, fabric.link_ids().map(|link| fabric.link_name(link)).collect())
}
