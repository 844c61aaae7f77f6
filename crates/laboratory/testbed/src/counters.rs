//! Counters of the kernel and its queues.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use fanin_fabric::{HostId, LinkId};
use fanin_tables::Cause;

use crate::network::{LocalNetwork, PortCounts};
use crate::trouble::Trouble;

/// Files with the TCP counters of each host, and the processors'.
pub struct Counters {
    /// `netstat` and `snmp` by host.
    hosts: Vec<[File; 2]>,
    processors: File,
}

/// TCP's counts of one host, by the names of `nstat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Events {
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Tail loss probes.
    pub probes: u64,
    /// SYNs and SYN-ACKs sent again.
    pub syns: u64,
    /// Segments sent again.
    pub retransmits: u64,
    /// Entries into fast recovery.
    pub recoveries: u64,
    /// Data segments sent, each once.
    pub segments: u64,
}

/// Counts of all hosts and ports.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts {
    /// Sums over hosts.
    pub events: Events,
    /// Ports of switches.
    pub ports: Vec<(LinkId, PortCounts)>,
    /// Time of each processor in ticks: busy, and in total.
    pub processors: Vec<(u64, u64)>,
}

impl Counters {
    /// Opens the files of a network's hosts.
    pub fn open(network: &LocalNetwork) -> Result<Counters, Trouble> {
        // `/proc/net` is that of the process's first thread; a thread has its own.
        let open = |host, name: &str| network.host(host).open(&format!("/proc/thread-self/net/{name}"));
        let hosts = (0..network.plan.fabric.hosts()).map(HostId);
        let hosts = hosts.map(|host| Ok([open(host, "netstat")?, open(host, "snmp")?]));
        Ok(Counters { hosts: hosts.collect::<Result<_, Trouble>>()?, processors: File::open("/proc/stat")? })
    }

    /// Reads everything, the processors' times last, so that they do not include this.
    pub fn first(&mut self, network: &LocalNetwork) -> Result<Counts, Trouble> {
        Ok(Counts { ports: network.ports()?, events: self.sum()?, processors: self.processors()? })
    }

    /// Reads everything, the processors' times first.
    pub fn last(&mut self, network: &LocalNetwork) -> Result<Counts, Trouble> {
        Ok(Counts { processors: self.processors()?, events: self.sum()?, ports: network.ports()? })
    }

    fn sum(&mut self) -> Result<Events, Trouble> {
        Ok(self.events()?.iter().fold(Events::default(), Events::plus))
    }

    fn processors(&mut self) -> Result<Vec<(u64, u64)>, Trouble> {
        Ok(read(&mut self.processors)?.lines().filter_map(processor).collect())
    }

    /// Reads TCP's counts of one host, which is cheap enough to be done within a run.
    pub fn of(&mut self, host: HostId) -> Result<Events, Trouble> {
        events(&mut self.hosts[host.0 as usize])
    }

    /// Reads TCP's counts of each host.
    pub fn events(&mut self) -> Result<Vec<Events>, Trouble> {
        self.hosts.iter_mut().map(events).collect()
    }
}

fn events([netstat, snmp]: &mut [File; 2]) -> Result<Events, Trouble> {
    let (netstat, snmp) = (read(netstat)?, read(snmp)?);
    let of = |name| counter(&netstat, name);
    Ok(Events {
        timeouts: of("TCPTimeouts"),
        probes: of("TCPLossProbes"),
        syns: of("TCPSynRetrans"),
        retransmits: counter(&snmp, "RetransSegs"),
        recoveries: of("TCPRenoRecovery") + of("TCPSackRecovery"),
        segments: of("TCPOrigDataSent"),
    })
}

impl Events {
    fn with(&self, other: &Events, of: fn(u64, u64) -> u64) -> Events {
        Events {
            timeouts: of(self.timeouts, other.timeouts),
            probes: of(self.probes, other.probes),
            syns: of(self.syns, other.syns),
            retransmits: of(self.retransmits, other.retransmits),
            recoveries: of(self.recoveries, other.recoveries),
            segments: of(self.segments, other.segments),
        }
    }

    fn plus(self, other: &Events) -> Events {
        self.with(other, |one, other| one + other)
    }

    /// Those after others.
    pub fn since(&self, before: &Events) -> Events {
        self.with(before, |now, before| now - before)
    }

    /// The timer that most likely ended a stall in which they happened.
    pub fn cause(&self) -> Cause {
        match self {
            Events { syns: 1.., .. } => Cause::Syn,
            Events { timeouts: 1.., .. } => Cause::Rto,
            Events { probes: 1.., .. } => Cause::Tlp,
            Events { retransmits: 1.., .. } => Cause::Reordering,
            _ => Cause::Unknown,
        }
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
            events: self.events.since(&before.events),
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
    fn stall_has_its_last_resort_as_cause() {
        let repaired = Events { retransmits: 3, ..Events::default() };
        let probed = Events { probes: 1, ..repaired };
        let timed_out = Events { timeouts: 1, ..probed };
        let causes = [Events::default(), repaired, probed, timed_out].map(|events| events.cause());
        assert_eq!(causes, [Cause::Unknown, Cause::Reordering, Cause::Tlp, Cause::Rto]);
    }

    #[test]
    fn busy_time_excludes_idle_and_waiting() {
        assert_eq!(processor("cpu0 10 1 20 60 5 3 1 0 0 0"), Some((35, 100)));
        assert_eq!(processor("cpu  10 1 20 60 5 3 1 0 0 0"), None);
        assert_eq!(processor("intr 5"), None);
    }
}
