//! What the kernel and its queues have counted.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use fanin_fabric::{HostId, LinkId};

use crate::network::{LocalNetwork, PortCounts};
use crate::trouble::Trouble;

/// Files with the TCP counters of each host.
pub struct Counters {
    files: Vec<File>,
    processors: File,
}

/// Counts of all hosts and ports; those of TCP by the names of `nstat`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts {
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Tail loss probes.
    pub probes: u64,
    /// Segments sent again.
    pub retransmits: u64,
    /// Entries into fast recovery.
    pub recoveries: u64,
    /// Data segments sent, each once.
    pub segments: u64,
    /// Ports of switches.
    pub ports: Vec<(LinkId, PortCounts)>,
    /// Time of each processor in ticks: busy, and in total.
    pub processors: Vec<(u64, u64)>,
}

impl Counters {
    /// Opens the files of a network's hosts.
    pub fn open(network: &LocalNetwork) -> Result<Counters, Trouble> {
        let hosts = (0..network.plan.fabric.hosts()).map(HostId);
        // `/proc/net` is that of the process's first thread; a thread has its own.
        let files = hosts.flat_map(|host| {
            ["netstat", "snmp"].map(|name| network.host(host).open(&format!("/proc/thread-self/net/{name}")))
        });
        Ok(Counters { files: files.collect::<Result<_, _>>()?, processors: File::open("/proc/stat")? })
    }

    /// Reads everything.
    pub fn read(&mut self, network: &LocalNetwork) -> Result<Counts, Trouble> {
        let mut counts = Counts::default();
        for file in &mut self.files {
            let text = read(file)?;
            let sum = |names: &[&str]| names.iter().map(|name| counter(&text, name)).sum::<u64>();
            counts.timeouts += sum(&["TCPTimeouts"]);
            counts.probes += sum(&["TCPLossProbes"]);
            counts.retransmits += sum(&["RetransSegs"]);
            counts.recoveries += sum(&["TCPRenoRecovery", "TCPSackRecovery"]);
            counts.segments += sum(&["TCPOrigDataSent"]);
        }
        counts.ports = network.ports()?;
        counts.processors = read(&mut self.processors)?.lines().filter_map(processor).collect();
        Ok(counts)
    }
}

impl Counts {
    /// Counts since others.
    pub fn since(&self, before: &Counts) -> Counts {
        let port = |(link, now): &(LinkId, PortCounts)| {
            let was =
                before.ports.iter().find(|(other, _)| other == link).map_or(PortCounts::default(), |(_, was)| *was);
            let counts = PortCounts {
                packets: now.packets - was.packets,
                bytes: now.bytes - was.bytes,
                drops: now.drops - was.drops,
                marks: now.marks - was.marks,
            };
            (*link, counts)
        };
        let spent = |(now, was): (&(u64, u64), &(u64, u64))| (now.0 - was.0, now.1 - was.1);
        Counts {
            timeouts: self.timeouts - before.timeouts,
            probes: self.probes - before.probes,
            retransmits: self.retransmits - before.retransmits,
            recoveries: self.recoveries - before.recoveries,
            segments: self.segments - before.segments,
            ports: self.ports.iter().map(port).collect(),
            processors: self.processors.iter().zip(&before.processors).map(spent).collect(),
        }
    }

    /// Share of its time that the busiest processor was busy.
    pub fn busy(&self) -> f64 {
        let share = |(busy, total): &(u64, u64)| *busy as f64 / (*total).max(1) as f64;
        self.processors.iter().map(share).fold(0.0, f64::max)
    }
}

/// The whole content of a file of /proc.
fn read(file: &mut File) -> Result<String, Trouble> {
    let mut text = String::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_string(&mut text)?;
    Ok(text)
}

/// A counter of /proc/net/netstat or snmp: lines of names, each followed by one of numbers.
fn counter(text: &str, name: &str) -> u64 {
    let lines: Vec<&str> = text.lines().collect();
    let of = |pair: &[&str]| {
        let place = pair[0].split(' ').position(|word| word == name)?;
        pair[1].split(' ').nth(place)?.parse().ok()
    };
    lines.chunks_exact(2).find_map(of).unwrap_or(0)
}

/// Busy and total ticks of a line `cpu0 USER NICE SYSTEM IDLE IOWAIT ...` (proc_stat(5)).
fn processor(line: &str) -> Option<(u64, u64)> {
    let rest = line.strip_prefix("cpu").filter(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))?;
    let ticks: Vec<u64> = rest.split_whitespace().skip(1).take(8).filter_map(|word| word.parse().ok()).collect();
    let total = ticks.iter().sum();
    Some((total - ticks.get(3)? - ticks.get(4)?, total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_name() {
        let text = "TcpExt: SyncookiesSent TCPTimeouts\nTcpExt: 1 23\nIpExt: InNoRoutes\nIpExt: 7\n";
        assert_eq!([counter(text, "TCPTimeouts"), counter(text, "InNoRoutes"), counter(text, "none")], [23, 7, 0]);
    }

    #[test]
    fn busy_time_excludes_idle_and_waiting() {
        assert_eq!(processor("cpu0 10 1 20 60 5 3 1 0 0 0"), Some((35, 100)));
        assert_eq!(processor("cpu  10 1 20 60 5 3 1 0 0 0"), None);
        assert_eq!(processor("intr 5"), None);
    }
}
