//! Scenarios on real TCP: a run's network in namespaces, and the simulator's own applications over its sockets.
//!
//! [`Testbed`] is a [`Measurement`]: a lab that measures with it compares schemes as one that simulates does. [`Machine::Here`] is this
//! machine and its kernel; [`Machine::Booted`] boots a kernel that does not depend on this machine's speed. Everything belongs to the process, so nothing
//! is left when it ends, in any way, and the host's own network is not touched.

mod booted;
mod clock;
mod counters;
mod delays;
mod end;
mod here;
mod job;
mod memcached;
mod namespace;
mod netlink;
mod network;
mod programs;
mod queues;
mod sockets;
mod stalls;
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

pub use booted::{BootedMachine, Kind, prepare, serve};
pub use trouble::Trouble;

/// Where runs are measured.
#[derive(Clone, Debug)]
pub enum Machine {
    /// This machine, as root.
    Here,
    /// A machine that is booted for each run.
    Booted(BootedMachine),
}

impl Machine {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Machine::Here => "here",
            Machine::Booted(machine) => machine.kind.name(),
        }
    }
}

/// Measures runs on a machine.
#[derive(Clone, Debug)]
pub struct Testbed {
    /// The machine.
    pub machine: Machine,
    /// The program whose front end carries out key-value requests, with memcached.
    fanin: Option<PathBuf>,
}

impl Testbed {
    /// A testbed on this machine.
    pub fn here() -> Testbed {
        Testbed { machine: Machine::Here, fanin: None }
    }

    /// A testbed on a machine that is booted for each run. `kernel` is the folder for which [`prepare`] was called; `program` is an
    /// executable that calls [`serve`] when its arguments are `arguments` and a folder.
    ///
    /// # Errors
    /// [`Trouble::Lacks`] without the kernel.
    pub fn booted(
        kind: Kind,
        kernel: PathBuf,
        program: PathBuf,
        arguments: &'static [&'static str],
    ) -> Result<Testbed, Trouble> {
        let machine = Machine::Booted(BootedMachine::new(kind, kernel, program, arguments)?);
        Ok(Testbed { machine, fanin: None })
    }

    /// The same machine, with memcached on every server and the front end of this `fanin` program.
    pub fn with_memcached(self, fanin: PathBuf) -> Testbed {
        Testbed { fanin: Some(fanin), ..self }
    }

    /// Builds a run's network once, if that is cheap, to find out what is lacking; returns what differs from the scenario.
    ///
    /// # Errors
    /// [`Trouble`].
    pub fn check(&self, spec: &RunSpec) -> Result<Vec<String>, Trouble> {
        let plan = linux_fabric(spec)?;
        if self.fanin.is_some() {
            memcached::check(spec)?;
        }
        match plan.nodes() {
            nodes if nodes > trouble::MOST_NODES => Err(Trouble::TooLarge(nodes)),
            _ => match &self.machine {
                Machine::Here => here::check(plan, spec),
                Machine::Booted(_) => Ok(Vec::new()),
            },
        }
    }
}

impl Measurement for Testbed {
    fn measure(&self, spec: &RunSpec, stop: &AtomicBool) -> Result<RunTables, RunError> {
        let measured = match &self.machine {
            Machine::Here => here::run(spec, self.fanin.as_deref(), stop),
            Machine::Booted(machine) => machine.run(spec, self.fanin.as_deref(), stop),
        };
        measured.map_err(|trouble| match trouble {
            Trouble::Stopped => RunError::Stopped,
            other => RunError::Raised(other.to_string()),
        })
    }

    fn provenance(&self) -> Provenance {
        match &self.machine {
            Machine::Here => here::provenance(),
            Machine::Booted(machine) => machine.provenance(),
        }
    }

    fn at_once(&self) -> NonZeroUsize {
        match &self.machine {
            Machine::Here => NonZeroUsize::MIN,
            // Others do not disturb its clock.
            Machine::Booted(_) => thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        }
    }
}
