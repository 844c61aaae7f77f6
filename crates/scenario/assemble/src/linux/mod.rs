//! A scenario's network and TCP as settings of Linux: queues of `tc`, attributes of routes, sysctls, and a socket's buffer.
//!
//! [`linux_fabric`] maps a run's whole network. [`linux`] maps a star, a router between one client and its servers, to a [`LinuxSetup`], which
//! [`commands`](LinuxSetup::batches) prints for `ip`, `tc` and `sysctl`. Both name the first setting that a kernel cannot have. In that star
//! only what responses pass is shaped: the servers' links and the router's port to the client. Requests and ACKs are small; they have the
//! propagation delay.

mod commands;
mod fabric;
mod host;
mod qdisc;
mod unsupported;

pub use commands::{Batch, Namespaces};
pub use fabric::{LinuxFabric, LinuxGrants, linux_fabric};
pub use host::{LinuxHost, MTU, RouteAttribute, Sysctl, route_window_holds, socket_buffer};
pub use qdisc::{CoDel, Htb, Qdisc, Red};
pub use unsupported::{MOST_SERVERS, Unsupported};

use fanin_spec::{RunSpec, Settings};
use fanin_units::Time;

/// Settings of the router's and the hosts' kernels. All servers are alike.
#[derive(Clone, Debug, PartialEq)]
pub struct LinuxSetup {
    /// Number of servers.
    pub servers: u32,
    /// Largest IP packet in bytes, of every device.
    pub mtu: u64,
    /// Settings of each server.
    pub server: LinuxHost,
    /// Settings of the client.
    pub client: LinuxHost,
    /// Queue of each server's link.
    pub server_link: Egress,
    /// Queue of the router's port to the client, which is measured.
    pub client_port: Egress,
    /// Delay at the router's port to each server (`netem`): the propagation delay of a whole round trip. Zero: none.
    pub round_trip: Time,
}

/// A device's transmit queue: a rate over a queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Egress {
    /// The rate.
    pub rate: Htb,
    /// The queue below it.
    pub queue: Qdisc,
}

/// A run's network and TCP as settings of Linux.
///
/// # Errors
/// The first setting without a counterpart in Linux, with the reason.
pub fn linux(spec: &RunSpec) -> Result<LinuxSetup, Unsupported> {
    unsupported::check(spec)?;
    let s = &spec.settings;
    let (mtu, port_rate) = (mtu(spec), s.link.client_rate.0.unwrap_or(s.link.rate));
    Ok(LinuxSetup {
        servers: spec.fan_in,
        mtu,
        server: host::server(spec),
        client: host::client(spec),
        server_link: Egress { rate: Htb::new(s, s.link.rate, mtu)?, queue: Qdisc::of_host(s.host.buffer.0, mtu) },
        client_port: Egress { rate: Htb::new(s, port_rate, mtu)?, queue: Qdisc::of_port(spec, port_rate, mtu)? },
        round_trip: netem_delay(s),
    })
}

/// Largest IP packet: a segment with its headers and options.
fn mtu(spec: &RunSpec) -> u64 {
    spec.settings.full_packet().0 + u64::from(crate::tcp::tcp_params(spec).option_bytes())
}

/// Propagation delay of a round trip over four links, rounded up to 8 us, which `tc` passes on unchanged: it cuts other delays to whole
/// microseconds and to ticks of 64 ns (iproute2, tc_core_time2tick). 20 us would become 19.97, and Linux, which counts round trips in whole
/// microseconds, would see some of 19, below the shortest one (tcp_rack_advance).
fn netem_delay(settings: &Settings) -> Time {
    let step = Time::from_micros(8).0;
    Time((4 * settings.link.delay.0).div_ceil(step) * step)
}

#[cfg(test)]
mod tests;
