//! Counters of each second, where the sensor cannot run.

use std::fs;
use std::io;

use crate::device;
use crate::trouble::Trouble;
use crate::watch::row::SecondRow;

/// Counters at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    bytes: u64,
    packets: u64,
    dropped: u64,
    resent: u64,
    timeouts: u64,
    probes: u64,
    recoveries: u64,
}

impl Counters {
    /// Reads those of a device, and those of TCP in this network namespace.
    ///
    /// # Errors
    /// There is no such device, or the system hides its counters.
    pub fn read(device: &str) -> Result<Counters, Trouble> {
        let counters = device::counters(device)?;
        let own = |name: &str| counters.iter().find(|(known, _)| *known == name).map_or(0, |(_, value)| *value);
        let (bytes, packets, dropped) = (own("rx_bytes"), own("rx_packets"), own("rx_dropped"));
        let texts = ["/proc/thread-self/net/snmp", "/proc/thread-self/net/netstat"].map(fs::read_to_string);
        let [snmp, netstat] = texts;
        Ok(Counters { bytes, packets, dropped, ..Counters::of_tcp(&(snmp? + &netstat?)) })
    }

    /// TCP's, from lines of names that lines of values follow.
    fn of_tcp(text: &str) -> Counters {
        let value = |prefix: &str, name: &str| {
            let mut lines = text.lines().filter_map(|line| line.strip_prefix(prefix)?.strip_prefix(": "));
            let (names, values) = lines.next().zip(lines.next())?;
            let place = names.split(' ').position(|one| one == name)?;
            values.split(' ').nth(place)?.parse::<u64>().ok()
        };
        let value = |prefix: &str, name: &str| value(prefix, name).unwrap_or(0);
        Counters {
            resent: value("Tcp", "RetransSegs"),
            timeouts: value("TcpExt", "TCPTimeouts"),
            probes: value("TcpExt", "TCPLossProbes"),
            recoveries: value("TcpExt", "TCPSackRecovery") + value("TcpExt", "TCPRenoRecovery"),
            ..Counters::default()
        }
    }

    /// What was counted since another reading.
    pub fn since(&self, before: &Counters, start_s: f64, duration_s: f64) -> SecondRow {
        let bytes = self.bytes.saturating_sub(before.bytes);
        SecondRow {
            start_s,
            duration_s,
            bytes,
            packets: self.packets.saturating_sub(before.packets),
            mean_mbit: bytes as f64 * 8e-6 / duration_s,
            dropped: self.dropped.saturating_sub(before.dropped),
            resent: self.resent.saturating_sub(before.resent),
            timeouts: self.timeouts.saturating_sub(before.timeouts),
            loss_probes: self.probes.saturating_sub(before.probes),
            recoveries: self.recoveries.saturating_sub(before.recoveries),
        }
    }
}

/// Reason why this kernel cannot have links at devices.
///
/// # Errors
/// Its version is unknown.
pub fn too_old() -> io::Result<Option<String>> {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease")?;
    Ok(below_6_6(&release).then(|| format!("Linux {} has no links at devices: it needs Linux 6.6", release.trim())))
}

fn below_6_6(release: &str) -> bool {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit()).map_while(|part| part.parse::<u32>().ok());
    numbers.next().zip(numbers.next()).is_some_and(|version| version < (6, 6))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_name() {
        let text = "Tcp: RtoMin RetransSegs\nTcp: 200 7\nTcpExt: TCPTimeouts Other TCPLossProbes TCPSackRecovery\n\
            TcpExt: 3 9 4 5\nIpExt: InOctets\nIpExt: 1\n";
        let found = Counters::of_tcp(text);
        let wanted = Counters { resent: 7, timeouts: 3, probes: 4, recoveries: 5, ..Counters::default() };
        assert_eq!(found, wanted);
        let row =
            Counters { bytes: 2_500_000, ..found }.since(&Counters { timeouts: 1, ..Counters::default() }, 9.0, 2.0);
        assert_eq!((row.timeouts, row.resent, row.mean_mbit), (2, 7, 10.0));
    }

    #[test]
    fn links_need_linux_6_6() {
        for (release, is_below) in
            [("6.5.13-generic", true), ("5.15.0", true), ("6.6.0", false), ("6.18.44-x", false), ("7.0-rc1", false)]
        {
            assert_eq!(below_6_6(release), is_below, "{release}");
        }
    }
}
