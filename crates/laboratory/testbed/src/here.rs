//! Runs on this machine's kernel.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::{fs, panic, thread};

use fanin_apps::applications;
use fanin_assemble::{LinuxFabric, linux_fabric};
use fanin_lab::Provenance;
use fanin_spec::RunSpec;
use fanin_tables::RunTables;
use fanin_units::Time;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use procfs::Current;

use crate::network::LocalNetwork;
use crate::sockets::Sockets;
use crate::trouble::Trouble;
use crate::{memcached, tables};

/// A run takes at most this many times its duration, and some time more.
const LONGEST: u64 = 20;
/// The time more.
const AT_LEAST: Time = Time::from_millis(60_000);

/// Open files that a run may need: new connections between many hosts have two each.
const FILES: u64 = 1 << 17;

/// Measures one run; with `fanin`, by its front end and memcached.
pub fn run(spec: &RunSpec, fanin: Option<&Path>, stop: &AtomicBool) -> Result<RunTables, Trouble> {
    raise_limit_of_files();
    on_a_thread(|| match fanin {
        Some(fanin) => memcached::run(spec, fanin, stop),
        None => measure(LocalNetwork::build(linux_fabric(spec)?)?, spec, stop),
    })
}

/// Builds a network and removes it.
pub fn check(plan: LinuxFabric, spec: &RunSpec) -> Result<Vec<String>, Trouble> {
    on_a_thread(|| {
        let sockets = LocalNetwork::build(plan).and_then(|network| Sockets::open(network, spec))?;
        Ok(sockets.network.notes())
    })
}

/// Raises the limit of open files, as far as that is allowed. A run that needs more fails with the system's error.
fn raise_limit_of_files() {
    let Ok((_, most)) = getrlimit(Resource::RLIMIT_NOFILE) else { return };
    let raised = setrlimit(Resource::RLIMIT_NOFILE, most.max(FILES), most.max(FILES));
    if raised.is_err() {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, most, most);
    }
}

/// A network namespace is a thread's.
fn on_a_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| scope.spawn(work).join()).unwrap_or_else(|payload| panic::resume_unwind(payload))
}

fn measure(network: LocalNetwork, spec: &RunSpec, stop: &AtomicBool) -> Result<RunTables, Trouble> {
    let mut sockets = Sockets::open(network, spec)?;
    let mut applications = applications(spec);
    let most = Time(spec.settings.workload.duration.0.saturating_mul(LONGEST)).saturating_add(AT_LEAST);
    sockets.carry_out(&mut applications, most, stop)?;
    let (record, stalls) = (applications.record(&sockets), sockets.stalls()?);
    let (counts, payload_before) = sockets.counts()?;
    Ok(tables::tables(&sockets.network.plan.fabric, record, &counts, Some(stalls), payload_before))
}

/// This machine and its kernel.
pub fn provenance() -> Provenance {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let processors = thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    let memory = procfs::Meminfo::current().map_or(0, |memory| memory.mem_total >> 20);
    Provenance {
        kernel: format!("Linux {}", release.trim()),
        machine: format!("{processors} processors, {memory} MiB"),
        date: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use fanin_fabric::HostId;
    use fanin_spec::Scenario;

    use super::*;

    #[test]
    fn connections_to_several_servers_may_share_a_port() {
        let requests = include_str!("../tests/star.toml")
            .replace("\"cubic\"", "\"one-all\"")
            .replace("kind = \"barrier\"\nfragment = \"16 KiB\"", "kind = \"key_value\"\nqueries = 5")
            + "[key_value]\nobjects = 100\nper_request = 20\n";
        let scenario = Scenario::parse("requests.toml", &requests).unwrap();
        let spec = scenario.variants().unwrap()[0].at(0, 1).unwrap();
        let measured = on_a_thread(|| {
            let network = LocalNetwork::build(linux_fabric(&spec)?)?;
            network.host(HostId(0)).set(&["net.ipv4.ip_local_port_range=20001 20001".into()])?;
            measure(network, &spec, &AtomicBool::new(false))
        });
        match measured {
            Err(Trouble::Lacks(why)) => eprintln!("skipped: {why}"),
            measured => assert_eq!(measured.unwrap().totals.rounds, 5),
        }
    }
}
