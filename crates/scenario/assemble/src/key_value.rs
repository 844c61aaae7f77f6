//! Settings of front ends, hubs and data servers.

use fanin_fabric::HostId;
use fanin_fanout::{Asks, sicc, tree};
use fanin_roles::front_end::{Params, RequestMethod};
use fanin_roles::{Node, data_server, hub};
use fanin_spec::{FanOut, Gathering, Replica, RunSpec, ServerOrder, Settings, Windows};
use fanin_units::{Bytes, Rate, Time};

/// A front end on a host, in one of its incarnations.
pub fn front_end_params(spec: &RunSpec, host: u32, life: u16) -> Params {
    let (s, k) = (&spec.settings, &spec.settings.key_value);
    let capacity = capacity(spec, HostId(host));
    let fan_out = spec.scheme.fan_out.unwrap_or(FanOut::OneAll);
    let sicc = s.fan_outs.sicc;
    let method = match fan_out.asks(&sicc) {
        Asks::Servers(window) => RequestMethod::Servers(window(&s.fan_outs, capacity)),
        Asks::Hubs(parts) => {
            RequestMethod::Swarms { parts, settings: sicc, bound: most_hubs(spec, host), packet: packet(s) }
        }
    };
    let (anew, together) = (k.windows == Windows::Anew, k.replica == Replica::Together);
    let most_bytes = s.workload.bytes_in_flight.0;
    let (timeout, tries) = (k.timeout.0, k.tries as u8);
    let covers = k.replica == Replica::Cover || spec.scheme.gathering == Some(Gathering::Groups);
    let most = u64::from(s.placements.groups.busiest) * 256 / 100;
    // All hosts but the first are servers.
    let cover = covers.then_some((spec.fan_in + 1, most));
    Params {
        me: Node(host),
        epoch: life,
        capacity,
        method,
        anew,
        most_bytes,
        together,
        cover,
        timeout,
        tries,
        agents: false,
    }
}

/// Maximum number of hubs that send to the front end on a host itself (SICC, equation 1).
pub fn most_hubs(spec: &RunSpec, host: u32) -> u32 {
    let (s, sicc) = (&spec.settings, &spec.settings.fan_outs.sicc);
    let (buffer, capacity) = (Bytes(s.in_bytes(s.port_buffer())), capacity(spec, HostId(host)));
    tree::bound(sicc.bound, buffer, sicc.mean_object, s.uplink_of_host(), capacity, sicc.hubs)
}

/// The hub on a host.
pub fn hub_params(spec: &RunSpec, host: u32) -> hub::Params {
    let (s, sicc) = (&spec.settings, &spec.settings.fan_outs.sicc);
    let parts: Option<sicc::Parts> = spec.scheme.fan_out.and_then(|fan_out| fan_out.parts(sicc));
    let (room, overhead) = packet(s);
    hub::Params {
        me: Node(host),
        room,
        overhead,
        packs: parts.is_some_and(|parts| parts.packing),
        linger: sicc.linger,
        window: sicc.hub_window,
        mean_object: sicc.mean_object,
        // A hub must report silent servers before it counts as silent itself.
        timeout: s.key_value.timeout.0.map_or(Time::NEVER, |timeout| Time(timeout.0 / 2)),
        forget: Time::from_secs(60),
        limits: None,
        behind: Time::ZERO,
    }
}

/// The data server on a host.
pub fn data_server_params(spec: &RunSpec, host: u32) -> data_server::Params {
    let k = &spec.settings.key_value;
    let queued =
        |sub_queue: u32| data_server::Order::Queued { sub_queue: sub_queue as usize, exponent: k.wait_exponent };
    let order = match k.server {
        ServerOrder::Parallel => data_server::Order::AtOnce,
        // PICC's objects are sent in its order.
        ServerOrder::Fifo if spec.scheme.gathering.is_none_or(|of| of == Gathering::Groups) => queued(1),
        ServerOrder::Fifo | ServerOrder::Reordered => queued(k.sub_queue),
    };
    data_server::Params { me: Node(host), most: k.lookups, order }
}

/// Payload of a full packet, and its other bytes: IP, TCP and link layer.
fn packet(s: &Settings) -> (u32, u32) {
    let room = s.tcp.mss.0 as u32;
    (room, s.link.framing.on_wire(s.full_packet().0 as u32) - room)
}

/// Total rate of a host's links.
fn capacity(spec: &RunSpec, host: HostId) -> Rate {
    let s = &spec.settings;
    s.rate_of_several_links(host).unwrap_or(match host {
        HostId::CLIENT => s.link.client_rate.0.unwrap_or(s.link.rate),
        _ => s.link.rate,
    })
}
