//! Scenarios on real TCP: a run's network in namespaces, and the simulator's own applications over its sockets.
//!
//! [`Testbed`] is a [`Measurement`]: a lab that measures with it compares schemes as one that simulates does. [`Machine::Here`] is this
//! machine and its kernel; [`Machine::Instant`] boots a kernel whose processor takes no time. Everything belongs to the process, so nothing
//! is left when it ends, in any way, and the host's own network is not touched.

mod clock;
mod counters;
mod end;
mod here;
mod instant;
mod job;
mod namespace;
mod network;
mod sockets;
mod tables;
mod trouble;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::thread;

use fanin_assemble::linux_fabric;
use fanin_lab::{Measurement, Provenance};
use fanin_spec::RunSpec;
use fanin_tables::{RunError, RunTables};

pub use instant::{InstantMachine, prepare, serve};
pub use trouble::Trouble;

/// Where runs are measured.
#[derive(Clone, Debug)]
pub enum Machine {
    /// This machine, as root.
    Here,
    /// User-mode Linux in time travel.
    Instant(InstantMachine),
}

/// Measures runs on a machine.
#[derive(Clone, Debug)]
pub struct Testbed {
    /// The machine.
    pub machine: Machine,
}

impl Testbed {
    /// A testbed on this machine.
    pub fn here() -> Testbed {
        Testbed { machine: Machine::Here }
    }

    /// A testbed on User-mode Linux. `kernel` is what [`prepare`] has built; `program` is an executable that calls [`serve`] when its
    /// arguments are `arguments` and a folder.
    ///
    /// # Errors
    /// [`Trouble::Lacks`] without the kernel.
    pub fn instant(kernel: PathBuf, program: PathBuf, arguments: &'static [&'static str]) -> Result<Testbed, Trouble> {
        Ok(Testbed { machine: Machine::Instant(InstantMachine::new(kernel, program, arguments)?) })
    }

    /// Builds a run's network once, if that is cheap, to find out what is lacking; returns what differs from the scenario.
    ///
    /// # Errors
    /// [`Trouble`].
    pub fn check(&self, spec: &RunSpec) -> Result<Vec<String>, Trouble> {
        let plan = linux_fabric(spec)?;
        match plan.nodes() {
            nodes if nodes > trouble::MOST_NODES => Err(Trouble::TooLarge(nodes)),
            _ => match &self.machine {
                Machine::Here => here::check(plan),
                Machine::Instant(_) => Ok(Vec::new()),
            },
        }
    }
}

impl Measurement for Testbed {
    fn measure(&self, spec: &RunSpec, stop: &AtomicBool) -> Result<RunTables, RunError> {
        let measured = match &self.machine {
            Machine::Here => here::run(spec, stop),
            Machine::Instant(machine) => machine.run(spec, stop),
        };
        measured.map_err(|trouble| match trouble {
            Trouble::Stopped => RunError::Stopped,
            other => RunError::Raised(other.to_string()),
        })
    }

    fn provenance(&self) -> Provenance {
        match &self.machine {
            Machine::Here => here::provenance(),
            Machine::Instant(machine) => machine.provenance(),
        }
    }

    fn at_once(&self) -> NonZeroUsize {
        match &self.machine {
            Machine::Here => NonZeroUsize::MIN,
            // Its clock stands while it computes: others do not disturb it.
            Machine::Instant(_) => thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        }
    }
}
