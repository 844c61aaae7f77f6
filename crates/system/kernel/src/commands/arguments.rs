//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use fanin_proxy_observe::collector::{self, Uri};

use crate::control::{CONTROLS, Control};
use crate::grants::Constants;
use crate::watch::row::Threshold;

/// Load gentle slow start (GSS) or windows granted by this host into this machine's kernel, as programs by eBPF
#[derive(Parser)]
#[command(name = "fanin kernel", version, max_term_width = 100)]
#[command(after_help = "Example:\n  fanin kernel check\n  \
    fanin kernel load gss --canary cgroup=system.slice/memcached.service --for 10m\n  \
    fanin kernel load gss --cgroup system.slice/memcached.service\n  \
    fanin kernel load grants --device eth0 --canary cgroup=system.slice/web.service --for 10m\n  \
    fanin kernel load grants --device eth0 --queue 32768\n  fanin kernel unload")]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// List congestion controls, with their names in the kernel
    List(ShowArguments),
    /// Check this machine's kernel, and name missing features
    Check(OverArguments),
    /// Load gentle slow start, which routes, sockets or cgroups then select, or grants at a network device
    Load(LoadArguments),
    /// Show loaded congestion controls, and how many connections use each
    Status(ShowArguments),
    /// Unload: connections that use it keep it until they close
    Unload(UnloadArguments),
    /// Load congestion controls until standard input ends
    Hold(HoldArguments),
    /// Find bursts that arrive at a network device, with their fan-in (`fanin watch`)
    Watch(WatchArguments),
}

#[derive(Args)]
pub struct ShowArguments {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct OverArguments {
    /// Extension that is to be loaded
    #[arg(value_enum, default_value_t = Extension::Gss)]
    pub what: Extension,
    /// Congestion control that gentle slow start extends
    #[arg(long, value_enum, default_value_t = Over::Cubic)]
    pub over: Over,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct LoadArguments {
    /// Extension to load
    #[arg(value_enum)]
    pub what: Extension,
    /// Congestion control that gentle slow start extends
    #[arg(long, value_enum, default_value_t = Over::Cubic, conflicts_with = "device")]
    pub over: Over,
    /// Network device at which windows are granted
    #[arg(long, value_name = "eth0", required_if_eq("what", "grants"))]
    pub device: Option<String>,
    /// Rate of the device's link, Mbit/s [default: as the device reports it]
    #[arg(long, value_name = "MBIT", requires = "device", value_parser = clap::value_parser!(u64).range(1..=1_600_000))]
    pub rate_mbit: Option<u64>,
    /// Bytes that may wait at the switch's port to this host: at most half of its buffer
    #[arg(long, value_name = "BYTES", requires = "device", default_value_t = 16_384, value_parser = clap::value_parser!(u64).range(1..=1 << 30))]
    pub queue: u64,
    /// Rate at which the host receives at most, such as 200Mbit/s or 1.5G, with frames' headers [default: the link's rate]
    #[arg(long, value_name = "200Mbit/s", requires = "device", conflicts_with = "canary", value_parser = limit)]
    pub limit: Option<u64>,
    /// Segments of a turn: 2, or 1 if the route to the senders has `quickack 1`
    #[arg(long, value_name = "N", requires = "device", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub turn: u32,
    /// Select it for new connections of this cgroup (v2): its folder, or its path below the mount
    #[arg(long, value_name = "PATH", conflicts_with = "canary")]
    pub cgroup: Option<PathBuf>,
    /// Try it on a share of the new connections of a cgroup, and take it back
    #[arg(long, value_name = "cgroup=PATH", value_parser = canary)]
    pub canary: Option<PathBuf>,
    /// Duration of the trial [default: 10m]; without one, time after which grants end [default: never]
    #[arg(long = "for", value_name = "10m", value_parser = duration, id = "duration")]
    pub duration: Option<Duration>,
    /// Share of the new connections that the trial changes; the others are the comparison
    #[arg(long, value_name = "50%", value_parser = share, default_value = "50%", requires = "canary")]
    pub share: f64,
    /// Continue the trial when the congestion control is worse
    #[arg(long, requires = "canary")]
    pub keep_when_worse: bool,
    /// Print the simulator's prediction beside the trial's figures, for the first point of this scenario
    #[arg(long, value_name = "FILE", requires = "canary")]
    pub scenario: Option<PathBuf>,
    /// Write the trial's report to a file (JSON)
    #[arg(long, value_name = "FILE", requires = "canary")]
    pub report: Option<PathBuf>,
    /// Print the trial's report as JSON
    #[arg(long, requires = "canary")]
    pub json: bool,
    /// Stay with the programs (`load` starts this process itself)
    #[arg(long, hide = true, requires = "device", conflicts_with = "canary")]
    pub resident: bool,
}

#[derive(Args)]
pub struct WatchArguments {
    /// Network device at which packets arrive
    #[arg(long, value_name = "eth0", required_unless_present = "summary")]
    pub interface: Option<String>,
    /// Rate of its link, Mbit/s; a burst is above half of it [default: as the device reports it; 1000 for a virtual device]
    #[arg(long, value_name = "MBIT", value_parser = clap::value_parser!(u64).range(1..=1_600_000))]
    pub rate_mbit: Option<u64>,
    /// Time over which arrivals are counted, us
    #[arg(long, value_name = "US", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(100..=1_000_000))]
    pub bin_us: u64,
    /// Duration [default: until a signal]
    #[arg(long = "for", value_name = "10m", value_parser = duration, id = "duration")]
    pub duration: Option<Duration>,
    /// Print one JSON object a line
    #[arg(long)]
    pub json: bool,
    /// Save the second around bursts for `fanin diagnose`: headers of packets, and counters before and after, in a new folder in this one
    #[arg(long, value_name = "DIR")]
    pub save: Option<PathBuf>,
    /// Figures that a burst must reach to be saved: fan-in, ms, marks, resent
    #[arg(long, value_name = "fan-in=8,resent=1", default_value = "fan-in=8", requires = "save", value_parser = Threshold::read)]
    pub worse_than: Threshold,
    /// Number of bursts that stay saved: the latest
    #[arg(long, value_name = "N", default_value_t = 16, requires = "save", value_parser = clap::value_parser!(u16).range(1..=1_000))]
    pub keep: u16,
    /// Serve figures for Prometheus at this address, under /metrics
    #[arg(long, value_name = "127.0.0.1:9153")]
    pub metrics: Option<SocketAddr>,
    /// Send figures to an OpenTelemetry collector each 10 s, by OTLP over HTTP
    #[arg(long, value_name = "http://127.0.0.1:4318", value_parser = collector)]
    pub otlp: Option<Uri>,
    /// Append figures of each hour to a file in this folder, for --summary
    #[arg(long, value_name = "DIR")]
    pub write: Option<PathBuf>,
    /// Rack of this host in the figures of --write
    #[arg(long, value_name = "NAME", requires = "write")]
    pub rack: Option<String>,
    /// Summarise files of --write, of any number of hosts, and exit
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "interface")]
    pub summary: Vec<PathBuf>,
    /// Hash addresses in rows and saved packets, with a key for each run
    #[arg(long)]
    pub anonymous: bool,
}

#[derive(Args)]
pub struct UnloadArguments {
    /// What to unload [default: everything]
    #[arg(value_enum)]
    pub what: Option<Extension>,
    /// Only gentle slow start over this congestion control
    #[arg(long, value_enum)]
    pub over: Option<Over>,
}

#[derive(Args)]
pub struct HoldArguments {
    /// Schemes such as newreno+gss
    #[arg(value_name = "SCHEME", required_unless_present_any = ["mark", "m21_port", "m21_host", "grants"])]
    pub controls: Vec<String>,
    /// Mark packets of a device while its queue holds this many bytes or more
    #[arg(long, value_name = "NETNS:DEVICE:BYTES", value_parser = port)]
    pub mark: Vec<Port>,
    /// Assign M21's windows at a device, from this many bytes of buffer
    #[arg(long, value_name = "NETNS:DEVICE:BYTES", value_parser = port)]
    pub m21_port: Vec<Port>,
    /// Obey M21's windows in a network namespace of this process's cgroup
    #[arg(long, value_name = "NETNS")]
    pub m21_host: Vec<PathBuf>,
    /// Grant windows at a device: its rate in bytes a second, the queue in bytes, the time of unused windows in ns, segments of a turn, and
    /// bytes of a segment
    #[arg(long, value_name = "NETNS:DEVICE:RATE:QUEUE:IDLE:TURN:SEGMENT", value_parser = granting)]
    pub grants: Vec<Granting>,
}

/// A device in a network namespace that grants windows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granting {
    /// File of the namespace.
    pub namespace: PathBuf,
    /// The device.
    pub device: String,
    /// Constants of the programs.
    pub constants: Constants,
}

/// A device in a network namespace, and a number of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// File of the namespace.
    pub namespace: PathBuf,
    /// The device.
    pub device: String,
    /// The bytes.
    pub bytes: u32,
}

/// Limits of granted windows, bit/s: a segment in 121 ms, and the fastest link.
const LEAST_LIMIT: f64 = 1e5;
const MOST_LIMIT: f64 = 1.6e12;

/// Extensions of a congestion control.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Extension {
    /// Gentle slow start
    Gss,
    /// Windows granted by this host
    Grants,
}

/// Congestion controls that gentle slow start extends.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Over {
    Cubic,
    Reno,
    Dctcp,
}

impl Over {
    /// Gentle slow start over it.
    pub fn control(self) -> &'static Control {
        let [reno, cubic, dctcp, _] = &CONTROLS;
        match self {
            Over::Cubic => cubic,
            Over::Reno => reno,
            Over::Dctcp => dctcp,
        }
    }
}

fn canary(text: &str) -> Result<PathBuf, String> {
    match text.strip_prefix("cgroup=") {
        Some(path) if !path.is_empty() => Ok(path.into()),
        _ => Err("use cgroup=PATH, such as cgroup=system.slice/memcached.service".into()),
    }
}

fn port(text: &str) -> Result<Port, String> {
    let wrong = || "use NETNS:DEVICE:BYTES, such as /run/netns/router:eth0:30000".to_string();
    let mut parts = text.rsplitn(3, ':');
    let bytes = parts.next().and_then(|bytes| bytes.parse().ok()).ok_or_else(wrong)?;
    let (device, namespace) = parts.next().zip(parts.next()).ok_or_else(wrong)?;
    Ok(Port { namespace: namespace.into(), device: device.into(), bytes })
}

fn granting(text: &str) -> Result<Granting, String> {
    let wrong = || {
        "use NETNS:DEVICE:RATE:QUEUE:IDLE:TURN:SEGMENT, such as /run/netns/c:eth0:125000000:16384:10000000:1:1448"
            .to_string()
    };
    let parts: Vec<&str> = text.rsplitn(7, ':').collect();
    let [segment, turn, idle, queue, rate, device, namespace] = parts[..] else { return Err(wrong()) };
    let numbers = [rate, queue, idle, turn, segment].map(|part| part.parse::<u64>().ok().filter(|number| *number > 0));
    let [Some(rate), Some(queue), Some(idle_ns), Some(turn), Some(segment)] = numbers else { return Err(wrong()) };
    let [turn, segment] = [turn, segment].map(|number| u32::try_from(number).ok().filter(|number| *number <= 65_535));
    let (turn, segment) = turn.zip(segment).ok_or_else(wrong)?;
    let constants = Constants::of_all(rate, queue, idle_ns, segment, turn);
    Ok(Granting { namespace: namespace.into(), device: device.into(), constants })
}

fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || "use a whole number of s, m or h, such as 90s, 10m or 1h, at most 24h".to_string();
    let unit = text.chars().last().ok_or_else(wrong)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        _ => return Err(wrong()),
    };
    let count: u64 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
    let all = count.checked_mul(seconds).filter(|all| (1..=86_400).contains(all)).ok_or_else(wrong)?;
    Ok(Duration::from_secs(all))
}

fn collector(text: &str) -> Result<Uri, String> {
    collector::url(text).ok_or_else(|| "use http://host:port, such as http://127.0.0.1:4318".to_string())
}

/// A rate in bit/s: a number with a prefix, as Kubernetes' annotations have it, and with or without `bit/s`.
fn limit(text: &str) -> Result<u64, String> {
    let number = text.trim().trim_end_matches("bit/s").trim_end();
    let end = number.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(number.len());
    let unit = match number[end..].trim_start() {
        "" => 1.0,
        "k" | "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "Ki" => 1_024.0,
        "Mi" => 1_048_576.0,
        "Gi" => 1_073_741_824.0,
        _ => return Err("use a number of bit/s with k, M or G, such as 200Mbit/s or 1.5G".into()),
    };
    let bits = number[..end].parse::<f64>().map_err(|_| "use a number, such as 200Mbit/s".to_string())? * unit;
    match (LEAST_LIMIT..=MOST_LIMIT).contains(&bits) {
        true => Ok(bits as u64),
        false => Err("use 100kbit/s to 1600Gbit/s".into()),
    }
}

fn share(text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    let within = percent.filter(|percent| (1.0..=99.0).contains(percent));
    within.map(|percent| percent / 100.0).ok_or_else(|| "use a percentage from 1% to 99%".into())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn durations_have_a_unit() {
        assert_eq!(["90s", "10m", "1h"].map(|text| duration(text).unwrap().as_secs()), [90, 600, 3_600]);
        for text in ["", "10", "m", "0s", "25h", "1.5h", "-1s", "10ü", "99999999999999999999s"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn ports_have_three_parts() {
        let wanted = Port { namespace: "/proc/7/fd/9".into(), device: "l3".into(), bytes: 30_000 };
        assert_eq!(port("/proc/7/fd/9:l3:30000"), Ok(wanted));
        assert!(port("l3:30000").is_err() && port("/run/netns/a:l3:x").is_err());
    }

    #[test]
    fn devices_that_grant_have_seven_parts() {
        let found = granting("/proc/7/fd/9:l3:125000000:16384:10000000:2:1448").unwrap();
        assert_eq!((found.device.as_str(), found.constants.turn, found.constants.segment), ("l3", 2, 1_448));
        for text in ["l3:1:1:1:1:1", "/a:l3:1:1:1:0:1448", "/a:l3:x:1:1:1:1448", "/a:l3:1:1:1:1:70000"] {
            assert!(granting(text).is_err(), "{text}");
        }
    }

    #[test]
    fn limits_are_rates_with_a_prefix() {
        let right = ["200Mbit/s", "200 Mbit/s", "1.5G", "100k", "100000", "1Mi", "1600Gbit/s"];
        let bits = [200_000_000, 200_000_000, 1_500_000_000, 100_000, 100_000, 1_048_576, 1_600_000_000_000];
        assert_eq!(right.map(|text| limit(text).unwrap()), bits);
        for text in
            ["", "0", "0Mbit/s", "99k", "-1M", "M", "1.2.3M", "1 m", "2000G", "10MB/s", "1e9", "NaN", "inf", "١M"]
        {
            assert!(limit(text).is_err(), "{text}");
        }
    }

    #[test]
    fn shares_leave_a_part_on_either_side() {
        assert!((share("5%").unwrap() - 0.05).abs() < 1e-12);
        for text in ["0%", "100%", "50", "NaN%", "-1%", ""] {
            assert!(share(text).is_err(), "{text}");
        }
    }

    #[test]
    fn over_names_the_scheme() {
        assert_eq!(
            [Over::Cubic, Over::Reno, Over::Dctcp].map(|over| over.control().scheme),
            ["cubic+gss", "newreno+gss", "dctcp+gss"]
        );
    }
}
