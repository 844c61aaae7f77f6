//! A pool's multigets as a scenario.

use fanin::{Rate, Time};
use fanin_daemon::incast::{Workload, widths};
use fanin_daemon::settings::Pool;

/// The algorithm without a limit.
const ONE_ALL: &str = "one-all";
/// Links of servers are at least this fast: slower ones would lessen incast.
const SERVER_LINK: Rate = Rate(10_000_000_000);
/// Data packets of a run, about; and bounds of its number of multigets.
const PACKETS: u64 = 30_000;
const QUERIES: (u64, u64) = (4, 40);
const PACKET: u64 = 1448;
/// Seeds without and with a limit: a collapse is clear, but a limit at its edge prevents it by chance.
const SEEDS: (u32, u32) = (1, 3);
/// Objects and bytes that a scenario permits.
const MOST_KEYS: f64 = 1e6;
const MOST_VALUE: u32 = 1 << 20;
/// Bounds of the time after which a response is late.
const LATE: (Time, Time) = (Time::from_micros(1), Time::from_secs(100));
/// Most servers, as a multiple of the width: more have almost no effect.
const MOST_SERVERS: u32 = 8;
/// Data links that a packet and its ACK pass.
const LINKS: u64 = 4;

/// Multigets to simulate.
#[derive(Clone, Debug, PartialEq)]
pub struct Multigets {
    /// Request algorithm.
    pub scheme: &'static str,
    /// Servers, which have the keys at random, and keys.
    pub servers: u32,
    pub keys: u32,
    /// Bytes of a value in a response.
    pub value: u32,
    /// Most servers at once.
    pub most: Option<u32>,
}

impl Multigets {
    /// The mean multiget, with the pool's algorithm.
    pub fn of_pool(pool: &Pool, workload: &Workload) -> Multigets {
        let (servers, value) = (pool.servers.len() as u32, workload.value.clamp(1, MOST_VALUE));
        let keys = workload.keys.min(MOST_KEYS as u32);
        Multigets { scheme: pool.multiget.row().word, servers, keys, value, most: None }
    }

    /// The same for another number of servers in a multiget, with as many keys of each.
    pub fn wide(&self, width: u32, workload: &Workload) -> Multigets {
        let each = f64::from(workload.keys) / f64::from(workload.servers.max(1));
        let keys = (each * f64::from(width)).round().clamp(1.0, MOST_KEYS);
        let is_enough = |servers: &u32| widths(f64::from(*servers), keys) + 0.5 >= f64::from(width);
        let servers = (width..width * MOST_SERVERS).find(is_enough).unwrap_or(width * MOST_SERVERS);
        Multigets { servers, keys: keys as u32, ..self.clone() }
    }

    /// The same from at most this many servers at once.
    pub fn limited(&self, most: Option<u32>) -> Multigets {
        Multigets { most, ..self.clone() }
    }

    /// The same from all servers at once.
    pub fn unlimited(&self) -> Multigets {
        Multigets { scheme: ONE_ALL, most: None, ..self.clone() }
    }
}

/// The text of a scenario; none without the network.
pub fn text(pool: &Pool, multigets: &Multigets) -> Option<String> {
    let incast = pool.incast?;
    let Multigets { scheme, servers, keys, value, most } = multigets;
    let packets = (u64::from(*keys) * u64::from(*value)).div_ceil(PACKET).max(u64::from(*servers));
    let queries = (PACKETS / packets).clamp(QUERIES.0, QUERIES.1);
    let rate = incast.link.max(SERVER_LINK);
    let client_rate = if incast.link < rate { format!("client_rate = \"{}\"\n", incast.link) } else { String::new() };
    let most = match (*scheme, most) {
        ("sw", Some(most)) => format!("most = {most}\n"),
        ("ictcp-window", Some(most)) => format!("[ictcp_window]\nmost = {most}\n"),
        _ => String::new(),
    };
    let seeds = if *scheme == ONE_ALL { SEEDS.0 } else { SEEDS.1 };
    let late = pool.late.clamp(LATE.0, LATE.1);
    let windows = if pool.keeps_windows { "kept" } else { "anew" };
    let (objects, lookups) = ((2 * keys).max(10_000), (*keys).max(10_000));
    let (buffer, rto_min, delay) = (incast.buffer, incast.rto_min, Time(incast.rtt.0 / LINKS));
    Some(format!(
        r#"# Multigets of pool {name}, from its settings. Values marked "assumed" are not in them.
schemes = ["cubic+{scheme}"]  # assumed: cubic, Linux's default

[link]
rate = "{rate}"  # assumed: at least 10 Gbit/s at servers
{client_rate}delay = "{delay}"

[switch]
buffer = "{buffer}"

[host]
service_time = "20 us"    # assumed: some tens of microseconds
service_jitter = "50 us"  # assumed: responses of real servers do not start simultaneously

[tcp]
profile = "linux"  # assumed
rto_min = "{rto_min}"

[workload]
kind = "key_value"
connections = "standing"
queries = {queries}
duration = "100 s"

[key_value]
objects = {objects}
lookups = {lookups}
replicas = 1
least = "{value} B"
most = "{value} B"
per_request = {keys}
server = "fifo"
windows = "{windows}"

[sliding_window]
late = "{late}"
{most}
[sweep]
fan_in = [{servers}]

[run]
seeds = {seeds}
"#,
        name = pool.name
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wider_multigets_have_as_many_keys_of_each_server() {
        let multigets = Multigets { scheme: "sw", servers: 100, keys: 20, value: 100, most: None };
        // 18.2 servers have 20 keys of 100 servers.
        let workload = Workload { keys: 20, servers: 18, value: 100 };
        let wide = multigets.wide(36, &workload);
        assert_eq!((wide.keys, wide.most), (40, None));
        assert!((150..=230).contains(&wide.servers), "{}", wide.servers);
        let many = multigets.wide(32, &Workload { keys: 300, servers: 32, value: 100 });
        assert_eq!((many.keys, many.servers), (300, 32));
        let one = multigets.wide(8, &Workload { keys: 2, servers: 2, value: 100 });
        assert_eq!((one.keys, one.servers), (8, 54));
    }
}
