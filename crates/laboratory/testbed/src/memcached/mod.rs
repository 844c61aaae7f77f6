//! Key-value requests to memcached by `fanin front`: a memcached on every server, for SICC with an agent beside it, and one client, which
//! makes the workload's requests.
#![expect(clippy::disallowed_types, reason = "one client that waits for each response")]

mod client;
mod migration;

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write as _};
use std::net::{SocketAddr, SocketAddrV4, TcpStream};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{slice, thread};

use fanin_apps::Reads;
use fanin_assemble::{linux_fabric, most_hubs};
use fanin_driver::Record;
use fanin_fabric::HostId;
use fanin_fanout::sicc::{self, Parts};
use fanin_spec::{FanOut, Kind, RunSpec, WarmUp, Windows};
use fanin_tables::{QueryRow, RunTables};
use fanin_units::Time;
use nix::sys::memfd::{MFdFlags, memfd_create};

use crate::clock::Clock;
use crate::counters::Counters;
use crate::network::LocalNetwork;
use crate::tables;
use crate::trouble::Trouble;
use client::Client;
use migration::Migration;

/// Host of the client and its front end.
const CLIENT: HostId = HostId(0);
/// Where memcached, agents and the front end listen.
const SERVER_PORT: u16 = 11_211;
const AGENT_PORT: u16 = 11_311;
const FRONT: SocketAddr = SocketAddr::V4(SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, 22_122));
/// Time in which a program has to listen, and between attempts.
const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(20);
/// Longest wait for a response.
const LONGEST: Duration = Duration::from_secs(60);
/// Time in which memcached answers an agent: longer than a timeout of TCP.
const ANSWERS_IN: Duration = Duration::from_secs(5);
/// Standard input as a file; a booted machine has no `/dev/stdin`.
const STDIN: &str = "/proc/self/fd/0";
/// Whether `fanin front` can carry out a run.
///
/// # Errors
/// [`Trouble::Asked`] with the setting that it lacks.
pub fn check(spec: &RunSpec) -> Result<(), Trouble> {
    let (s, scheme) = (&spec.settings, &spec.scheme);
    let refuse = |what: String| Err(Trouble::Asked(what));
    if s.workload.kind != Kind::KeyValue {
        return refuse(format!("--memcached: workload.kind is `{}`: use key_value", s.workload.kind.word()));
    }
    if method(spec).is_none() {
        return refuse(format!(
            "--memcached: `fanin front` has no `{scheme}`: use one-all, sw, ictcp-window, sicc or picc"
        ));
    }
    if parts(spec).is_some() && !has_usual_sicc(spec) {
        let keys = "sicc.bound, hubs, requests, mean_object, period, linger and hub_window";
        return refuse(format!("--memcached: `fanin front` has SICC's usual settings: change no others than {keys}"));
    }
    if let Some(key) = migration::lacks(spec) {
        return refuse(format!(
            "--memcached: `fanin front` moves keys with one replica, by a plan made before: set {key}"
        ));
    }
    let open = s.key_value.within.0.is_some();
    if open || s.key_value.front_ends > 1 {
        let key = if open { "within" } else { "front_ends" };
        return refuse(format!("--memcached: one front end makes one request after another: remove key_value.{key}"));
    }
    Ok(())
}

/// Whether SICC has the settings of `fanin front`, apart from those that are passed on. The hub is always the least busy server there, and
/// the queue is estimated.
fn has_usual_sicc(spec: &RunSpec) -> bool {
    let given = spec.settings.fan_outs.sicc;
    let sicc::Params { bound, hubs, mean_object, period, linger, hub_window, hub, queue, .. } = given;
    let usual = sicc::Params::default();
    given == sicc::Params { bound, hubs, mean_object, period, linger, hub_window, hub, queue, ..usual }
}

/// The algorithm by the name that `fanin front` has for it.
fn method(spec: &RunSpec) -> Option<&'static str> {
    match (spec.scheme.fan_out.unwrap_or(FanOut::OneAll), spec.scheme.gathering) {
        (FanOut::OneAll, _) => Some("one-all"),
        (FanOut::SlidingWindow, None) => Some("sw"),
        (FanOut::IctcpWindow, None) => Some("ictcp-window"),
        (fan_out, None) => parts(spec).map(|_| fan_out.row().word),
        _ => None,
    }
}

/// Measures one run with the front end of a `fanin` program.
pub fn run(spec: &RunSpec, fanin: &Path, stop: &AtomicBool) -> Result<RunTables, Trouble> {
    let network = LocalNetwork::build(linux_fabric(spec)?)?;
    let law = format!("net.ipv4.tcp_congestion_control={}", network.plan.congestion_control);
    (0..=spec.fan_in).try_for_each(|host| network.host(HostId(host)).set(slice::from_ref(&law)))?;
    let _servers = servers(&network, spec)?;
    let hubs = parts(spec).map(|parts| Hubs::start(&network, spec, parts, fanin)).transpose()?;
    let migration = Migration::of(spec, &names(&network, spec))?;
    let (_front, mut client) = front(&network, spec, fanin, hubs.as_ref(), migration.as_ref())?;
    let mut reads = Reads::new(spec);
    client.store(&reads.objects().collect::<Vec<_>>(), stop)?;
    if let Some(migration) = migration {
        migration.carry_out(&mut client, spec, stop)?;
    }
    let (clock, mut counters, mut record) = (Clock::start()?, Counters::open(&network)?, Record::default());
    let (workload, mut warm_up) = (&spec.settings.workload, spec.settings.workload.warm_up.0);
    let (mut before, mut began, mut asked) = (counters.first(&network)?, Time::ZERO, 0);
    loop {
        let now = clock.now();
        let warm = warm_up.is_none_or(|given| match given {
            WarmUp::Rounds(rounds) => asked >= rounds,
            WarmUp::For(time) => now >= time,
        });
        if warm && warm_up.take().is_some() {
            (before, began, record, asked) = (counters.first(&network)?, clock.now(), Record::default(), 0);
        }
        if warm && (asked >= workload.queries || now.since(began) >= workload.duration) {
            break;
        }
        if stop.load(Ordering::Relaxed) {
            return Err(Trouble::Stopped);
        }
        let (objects, start) = (reads.request(), clock.now());
        let response = client.get(&objects)?;
        let took = clock.now().since(start);
        record.payload_bytes += response.bytes;
        record.queries.push(QueryRow {
            round: asked,
            start_ps: start.since(began).0,
            qct_ps: Some(took.0),
            ..QueryRow::default()
        });
        record.requests.push(response.row(asked, objects.len() as u64, start.since(began), took));
        asked += 1;
    }
    record.measured = clock.now().since(began);
    let counts = counters.last(&network)?.since(&before);
    Ok(tables::tables(&network.plan.fabric, record, &counts, None, 0))
}

/// A program that ends with this one, in any way.
struct Program(Child);

impl Program {
    /// Starts a program in the namespace of a host. Its input is a pipe.
    fn start(network: &LocalNetwork, host: HostId, command: &[&str]) -> Result<Program, Trouble> {
        network.host(host).enter()?;
        let mut kept = Command::new("setpriv");
        kept.args(["--pdeathsig", "KILL"]).args(command);
        kept.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = kept.spawn().map_err(|error| Trouble::Lacks(format!("no `setpriv`, of util-linux: {error}")))?;
        Ok(Program(child))
    }

    /// Waits until it listens, and connects to it from the client's host.
    fn connect(&mut self, network: &LocalNetwork, to: SocketAddr, name: &str) -> Result<TcpStream, Trouble> {
        network.host(CLIENT).enter()?;
        for _ in 0..PATIENCE.as_millis() / PAUSE.as_millis() {
            if let Ok(stream) = TcpStream::connect_timeout(&to, PATIENCE) {
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(LONGEST))?;
                return Ok(stream);
            }
            if let Some(status) = self.0.try_wait()? {
                return Err(Trouble::Lacks(format!("`{name}` did not start ({status}): is it installed?")));
            }
            thread::sleep(PAUSE);
        }
        Err(Trouble::Lacks(format!("`{name}` does not listen on {to}")))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn servers(network: &LocalNetwork, spec: &RunSpec) -> Result<Vec<Program>, Trouble> {
    let one = |host: HostId| {
        let command = ["memcached", "-u", "root", "-U", "0", "-t", "1", "-m", "1024", "-p", &SERVER_PORT.to_string()];
        let mut program = Program::start(network, host, &command)?;
        program.connect(network, address(network, host), "memcached")?;
        Ok(program)
    };
    (1..=spec.fan_in).map(HostId).map(one).collect()
}

fn address(network: &LocalNetwork, host: HostId) -> SocketAddr {
    at(network, host, SERVER_PORT)
}

fn at(network: &LocalNetwork, host: HostId, port: u16) -> SocketAddr {
    SocketAddrV4::new(network.plan.address(host.node()), port).into()
}

/// Parts of SICC, if multigets go through hubs.
fn parts(spec: &RunSpec) -> Option<Parts> {
    spec.scheme.fan_out?.parts(&spec.settings.fan_outs.sicc)
}

/// Agents, and the file of racks, which ends with this process.
struct Hubs {
    racks: File,
    _agents: Vec<Program>,
}

impl Hubs {
    /// Starts an agent on every server.
    fn start(network: &LocalNetwork, spec: &RunSpec, parts: Parts, fanin: &Path) -> Result<Hubs, Trouble> {
        let hosts = || (1..=spec.fan_in).map(HostId);
        let mut racks = String::new();
        for host in hosts() {
            let (memcached, agent) = (address(network, host), at(network, host, AGENT_PORT));
            let rack = network.plan.fabric.rack(host);
            writeln!(racks, "[[server]]\nmemcached = \"{memcached}\"\nagent = \"{agent}\"\nrack = \"{rack}\"")
                .map_err(io::Error::other)?;
        }
        let mut hubs = Hubs { racks: memfd_create("racks", MFdFlags::empty())?.into(), _agents: Vec::new() };
        hubs.racks.write_all(racks.as_bytes())?;
        let one = |host: HostId| {
            let mut program = configured(network, host, fanin, "agent", &hubs.agent(network, spec, parts, host))?;
            program.connect(network, at(network, host, AGENT_PORT), "fanin agent")?;
            Ok(program)
        };
        let agents: Result<_, Trouble> = hosts().map(one).collect();
        Ok(Hubs { _agents: agents?, ..hubs })
    }

    /// Path of the file of racks for other processes.
    fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.racks.as_raw_fd())
    }

    /// Configuration of an agent.
    fn agent(&self, network: &LocalNetwork, spec: &RunSpec, parts: Parts, host: HostId) -> String {
        let (sicc, fabric) = (&spec.settings.fan_outs.sicc, &network.plan.fabric);
        format!(
            r#"listen = "{}"
memcached = "{}"
racks = "{}"
plaintext = true
link = "{}"
window = "{}"
pack = {}
linger = "{}"
timeout = "{} s"
"#,
            at(network, host, AGENT_PORT),
            address(network, host),
            self.path(),
            fabric.link(fabric.uplink(host)).rate,
            sicc.hub_window,
            parts.packing,
            sicc.linger,
            ANSWERS_IN.as_secs(),
        )
    }

    /// Keys of the front end's pool.
    fn keys(&self, spec: &RunSpec) -> String {
        let (s, sicc) = (&spec.settings, &spec.settings.fan_outs.sicc);
        format!(
            r#"racks = "{}"
plaintext = true
sicc = {{ hubs = {}, object = "{}", period = "{}", buffer = "{} B" }}
"#,
            self.path(),
            most_hubs(spec, CLIENT.0),
            sicc.mean_object,
            sicc.period,
            s.in_bytes(s.port_buffer())
        )
    }
}

/// Starts a `fanin` program with a configuration.
fn configured(
    network: &LocalNetwork,
    host: HostId,
    fanin: &Path,
    command: &str,
    configuration: &str,
) -> Result<Program, Trouble> {
    let path = fanin.to_string_lossy();
    let mut program = Program::start(network, host, &[&path, command, "--config", STDIN])?;
    if let Some(mut input) = program.0.stdin.take() {
        input.write_all(configuration.as_bytes())?;
    }
    Ok(program)
}

fn front(
    network: &LocalNetwork,
    spec: &RunSpec,
    fanin: &Path,
    hubs: Option<&Hubs>,
    migration: Option<&Migration>,
) -> Result<(Program, Client), Trouble> {
    let mut text = configuration(network, spec);
    text += &hubs.map_or_else(String::new, |hubs| hubs.keys(spec));
    text += &migration.map_or_else(String::new, Migration::keys);
    let mut program = configured(network, CLIENT, fanin, "front", &text)?;
    let stream = program.connect(network, FRONT, "fanin front")?;
    Ok((program, Client::new(stream)))
}

/// Names of the pool's servers, as a plan has them: without memcached's usual port.
fn names(network: &LocalNetwork, spec: &RunSpec) -> Vec<String> {
    (1..=spec.fan_in).map(|host| address(network, HostId(host)).ip().to_string()).collect()
}

/// The front end's configuration.
fn configuration(network: &LocalNetwork, spec: &RunSpec) -> String {
    let (s, fabric) = (&spec.settings, &network.plan.fabric);
    let servers: Vec<String> =
        (1..=spec.fan_in).map(|host| format!("{:?}", address(network, HostId(host)).to_string())).collect();
    let rate = fabric.link(fabric.reverse(fabric.uplink(CLIENT))).rate;
    let windows = if s.key_value.windows == Windows::Anew { "anew" } else { "kept" };
    format!(
        r#"threads = 1
[[pool]]
listen = "{FRONT}"
multiget = "{}"
windows = "{windows}"
late = "{}"
link = "{rate}"
replicas = {}
timeout = "{} s"
servers = [{}]
"#,
        method(spec).unwrap_or_default(),
        s.fan_outs.sliding_window.late,
        s.key_value.replicas,
        LONGEST.as_secs(),
        servers.join(", ")
    )
}
