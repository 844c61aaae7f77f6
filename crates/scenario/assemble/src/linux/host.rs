//! A host's TCP in Linux: sysctls, attributes of its route, and the socket's buffer.

use std::fmt;

use fanin_spec::{RunSpec, Scheme, Settings, Stack};
use fanin_units::Time;

/// MTU of a device unless set.
pub const MTU: u64 = 1_500;

/// Bytes of receive buffer that a packet of up to 1,500 B occupies (the kernel's truesize): half a page and its sk_buff.
const PACKET_IN_BUFFER: u64 = 2_304;

/// Initial window of a route that sets none, in segments (TCP_INIT_CWND).
const INITIAL_WINDOW: u32 = 10;

/// Settings of a host's TCP.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinuxHost {
    /// Sysctls that differ from the kernel's defaults, and those of congestion control.
    pub sysctls: Vec<Sysctl>,
    /// Attributes of the route to the other side.
    pub route: Vec<RouteAttribute>,
    /// SO_RCVBUF of sockets in bytes, set before they connect. `None`: the kernel's own.
    pub receive_buffer: Option<u64>,
}

/// A sysctl with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sysctl {
    /// Name, such as `net.ipv4.tcp_ecn`.
    pub key: &'static str,
    /// Value.
    pub value: String,
}

impl Sysctl {
    fn new(key: &'static str, value: impl fmt::Display) -> Sysctl {
        Sysctl { key, value: value.to_string() }
    }

    /// The congestion control of new connections.
    pub fn congestion_control(name: &str) -> Sysctl {
        Sysctl::new("net.ipv4.tcp_congestion_control", name)
    }

    /// ECN: 1 requests it, 2 accepts it if the peer requests it (the default).
    pub fn ecn(on: bool) -> Sysctl {
        Sysctl::new("net.ipv4.tcp_ecn", if on { 1 } else { 2 })
    }

    /// `tcp.idle_restart`.
    pub fn idle_restart(on: bool) -> Sysctl {
        Sysctl::new("net.ipv4.tcp_slow_start_after_idle", u8::from(on))
    }

    /// Autotuning of the receive buffer, which also widens a route's window.
    pub fn receive_autotuning(on: bool) -> Sysctl {
        Sysctl::new("net.ipv4.tcp_moderate_rcvbuf", u8::from(on))
    }

    /// Whether a connection starts without what earlier ones to its peer left (tcp_metrics), as fanin's do.
    fn no_metrics_save() -> Sysctl {
        Sysctl::new("net.ipv4.tcp_no_metrics_save", 1)
    }

    /// `tcp.timestamps`.
    fn timestamps(on: bool) -> Sysctl {
        Sysctl::new("net.ipv4.tcp_timestamps", u8::from(on))
    }

    /// Packets that wait between two devices of one machine, for all its namespaces: a veth pair loses those beyond (enqueue_to_backlog).
    pub fn backlog() -> Sysctl {
        Sysctl::new("net.core.netdev_max_backlog", 20_000)
    }
}

/// As an argument of `sysctl -w`.
impl fmt::Display for Sysctl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.key, self.value)
    }
}

/// An attribute of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteAttribute {
    /// Minimum RTO, in whole milliseconds as `ip` has them (iproute2, get_time_rtt), rounded up.
    RtoMin(Time),
    /// Initial window in segments.
    InitialWindow(u32),
    /// Acknowledge every segment at once.
    QuickAck,
    /// Congestion control of connections by this route.
    CongestionControl(&'static str),
    /// Largest window that the host advertises, in bytes.
    Window(u64),
}

/// As `ip route` takes it.
impl fmt::Display for RouteAttribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RouteAttribute::RtoMin(time) => write!(f, "rto_min {}ms", time.0.div_ceil(Time::from_millis(1).0)),
            RouteAttribute::InitialWindow(segments) => write!(f, "initcwnd {segments}"),
            RouteAttribute::QuickAck => f.write_str("quickack 1"),
            RouteAttribute::CongestionControl(name) => write!(f, "congctl {name}"),
            RouteAttribute::Window(bytes) => write!(f, "window {bytes}"),
        }
    }
}

/// Whether a route's `window` limits the receive window. When the first full segment arrives, Linux 6.12 replaces that limit by the whole
/// receive buffer (net/ipv4/tcp_input.c, tcp_measure_rcv_mss()); 6.1 does not.
pub fn route_window_holds(settings: &Settings) -> bool {
    settings.tcp.profile.0 != Some(Stack::Linux)
}

/// SO_RCVBUF with which sockets advertise this many segments, and the buffer that the kernel makes of it: it doubles the value
/// (sock_setsockopt), and reserves space for one more packet.
pub fn socket_buffer(segments: u64) -> (u64, u64) {
    let buffer = PACKET_IN_BUFFER * (segments + 1);
    (buffer / 2, buffer)
}

/// The kernel's name of a scheme's congestion control; `None` if the kernel has none like it. Names with gentle slow start are those that
/// `fanin kernel` loads.
pub(super) fn kernels_name(scheme: Scheme) -> Option<&'static str> {
    let linux = scheme.base.row().linux?;
    if scheme.gss { linux.gentle } else { Some(linux.name) }
}

/// The kernel's name of a run's congestion control.
pub(super) fn congestion_control(spec: &RunSpec) -> &'static str {
    kernels_name(spec.scheme).expect("the check refuses others")
}

fn sysctls(spec: &RunSpec) -> Vec<Sysctl> {
    let (t, law) = (&spec.settings.tcp, congestion_control(spec));
    let mut sysctls = vec![Sysctl::congestion_control(law), Sysctl::ecn(spec.scheme.ecn), Sysctl::no_metrics_save()];
    if !t.idle_restart {
        sysctls.push(Sysctl::idle_restart(false));
    }
    if !t.timestamps {
        sysctls.push(Sysctl::timestamps(false));
    }
    sysctls
}

/// A host that both sends and receives data. Its sockets choose the congestion control.
pub(super) fn any(spec: &RunSpec) -> LinuxHost {
    let (server, client) = (server(spec), client(spec));
    let own = client.sysctls.into_iter().filter(|sysctl| !sysctl.key.ends_with("congestion_control")).collect();
    let route = [server.route, client.route].concat();
    LinuxHost { sysctls: own, route, receive_buffer: client.receive_buffer }
}

/// A server, which sends data.
pub(super) fn server(spec: &RunSpec) -> LinuxHost {
    let t = &spec.settings.tcp;
    let mut route = vec![RouteAttribute::RtoMin(t.rto_min)];
    // A window that restarts after an idle time is the route's, with gentle slow start too.
    let initial_window = if spec.scheme.gss { spec.settings.laws.parts.gss.initial_window } else { t.initial_window };
    if initial_window != INITIAL_WINDOW {
        route.push(RouteAttribute::InitialWindow(initial_window));
    }
    LinuxHost { sysctls: sysctls(spec), route, receive_buffer: None }
}

/// The client, which acknowledges it.
pub(super) fn client(spec: &RunSpec) -> LinuxHost {
    let t = &spec.settings.tcp;
    let mut host = LinuxHost { sysctls: sysctls(spec), ..LinuxHost::default() };
    // Grants pass with ACKs (docs/grants.md).
    if t.delayed_ack == 1 || spec.scheme.grants {
        host.route.push(RouteAttribute::QuickAck);
    }
    // A window that fills no buffer of the kernel's default is no limit.
    if t.receive_window != Settings::default().tcp.receive_window {
        if route_window_holds(&spec.settings) {
            host.route.push(RouteAttribute::Window(t.receive_window.0));
            host.sysctls.push(Sysctl::receive_autotuning(false));
        } else {
            host.receive_buffer = Some(socket_buffer(t.receive_window.0.div_ceil(t.mss.0)).0);
        }
    }
    host
}
