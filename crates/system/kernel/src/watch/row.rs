//! Output of `fanin watch`: rows of JSON, and their text.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::watch::burst::Burst;

/// A row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Row {
    /// A burst that ended.
    Burst(BurstRow),
    /// A burst whose second is saved.
    Saved(SavedRow),
    /// A wait of a connection that sends.
    Wait(WaitRow),
    /// Counters of a second, where the sensor cannot run: bursts are unknown.
    CountersOnly(SecondRow),
}

/// A burst.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BurstRow {
    /// Unix time.
    pub start_s: f64,
    /// From its first bin above the limit to the last one.
    pub duration_ms: f64,
    /// Rate of its largest bin.
    pub peak_mbit: f64,
    /// Rate of the link.
    pub link_mbit: u64,
    /// Whether that rate is the default.
    pub rate_is_assumed: bool,
    /// Its counters.
    #[serde(flatten)]
    pub burst: Burst,
    /// Who receives it, most bytes first: at most four.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub receivers: Vec<Receiver>,
}

/// A service that receives a burst, or a part of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receiver {
    /// Unit of systemd, pod of Kubernetes, or cgroup.
    pub service: String,
    /// Path of the cgroup.
    pub cgroup: String,
    /// Bytes with their headers.
    pub bytes: u64,
}

/// Files of a burst.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SavedRow {
    /// Begin of the burst, Unix time.
    pub start_s: f64,
    /// Files that `fanin diagnose` reads.
    pub files: Vec<String>,
    /// Packets in the capture.
    pub packets: u64,
    /// Begin and end of the capture, Unix time.
    pub from_s: f64,
    /// End.
    pub to_s: f64,
}

/// Why a connection of this host sent nothing, or sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// A retransmission timeout.
    Timeout,
    /// A tail-loss probe.
    LossProbe,
    /// Recovery after duplicate acknowledgements, or by RACK.
    FastRetransmit,
    /// The receiver's window was closed, or smaller than a segment.
    ZeroWindow,
}

impl Cause {
    /// All, in the order of bpf/waits.bpf.c.
    pub const ALL: [Cause; 4] = [Cause::Timeout, Cause::LossProbe, Cause::FastRetransmit, Cause::ZeroWindow];

    /// Its name in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Cause::Timeout => "timeout",
            Cause::LossProbe => "loss-probe",
            Cause::FastRetransmit => "fast-retransmit",
            Cause::ZeroWindow => "zero-window",
        }
    }
}

/// A wait of a connection that sends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaitRow {
    /// Its end, Unix time.
    pub end_s: f64,
    /// Silence before a timer, or duration of a recovery or of a closed window.
    pub duration_ms: f64,
    /// Why.
    pub cause: Cause,
    /// This host's end of the connection.
    pub own: String,
    /// The other end.
    pub peer: String,
    /// Whose connection it is, if its cgroup is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
}

impl fmt::Display for WaitRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WaitRow { end_s, duration_ms, cause, own, peer, service } = self;
        write!(f, "{end_s:.3} wait: {}, {duration_ms:.1} ms, {own} to {peer}", cause.word())?;
        service.as_ref().map_or(Ok(()), |service| write!(f, ", of {service}"))
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Row::Burst(row) => row.fmt(f),
            Row::Saved(row) => row.fmt(f),
            Row::Wait(row) => row.fmt(f),
            Row::CountersOnly(row) => row.fmt(f),
        }
    }
}

impl fmt::Display for BurstRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Burst { fan_in, bytes, marks, resent, .. } = self.burst;
        write!(
            f,
            "{:.3} burst: fan-in {fan_in}, {:.1} ms, {:.1} KiB, peak {:.0} Mbit/s, {marks} marks, {resent} resent",
            self.start_s,
            self.duration_ms,
            bytes as f64 / 1024.0,
            self.peak_mbit
        )?;
        self.receivers.first().map_or(Ok(()), |receiver| write!(f, ", for {}", receiver.service))
    }
}

impl fmt::Display for SavedRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let span = self.to_s - self.from_s;
        write!(
            f,
            "{:.3} saved {} packets of {span:.2} s: fanin diagnose {}",
            self.start_s,
            self.packets,
            self.files.join(" ")
        )
    }
}

/// Counters of a second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SecondRow {
    /// Unix time.
    pub start_s: f64,
    /// About a second.
    pub duration_s: f64,
    /// Bytes that the device received.
    pub bytes: u64,
    /// Packets that it received.
    pub packets: u64,
    /// Mean rate.
    pub mean_mbit: f64,
    /// Packets that it dropped.
    pub dropped: u64,
    /// TCP segments that this host sent again.
    pub resent: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Tail-loss probes.
    pub loss_probes: u64,
    /// Fast recoveries.
    pub recoveries: u64,
}

impl fmt::Display for SecondRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SecondRow { start_s, mean_mbit, packets, resent, timeouts, loss_probes, recoveries, .. } = self;
        write!(
            f,
            "{start_s:.0} counters only: mean {mean_mbit:.1} Mbit/s, {packets} packets, {resent} resent by this host, {timeouts} timeouts, \
             {loss_probes} probes, {recoveries} recoveries"
        )
    }
}

/// Figures that a burst must reach.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Threshold {
    /// Connections.
    pub fan_in: Option<u64>,
    /// Duration, ms.
    pub ms: Option<u64>,
    /// Marked packets.
    pub marks: Option<u64>,
    /// Segments sent again.
    pub resent: Option<u64>,
}

impl Threshold {
    /// Reads figures such as `fan-in=16,resent=1`.
    ///
    /// # Errors
    /// Names the part that is wrong.
    pub fn read(text: &str) -> Result<Threshold, String> {
        let mut threshold = Threshold::default();
        for part in text.split(',') {
            let wrong =
                || format!("`{part}`: use fan-in, ms, marks or resent with a whole number, such as fan-in=16,resent=1");
            let (name, number) = part.split_once('=').ok_or_else(wrong)?;
            let place = match name {
                "fan-in" => &mut threshold.fan_in,
                "ms" => &mut threshold.ms,
                "marks" => &mut threshold.marks,
                "resent" => &mut threshold.resent,
                _ => return Err(wrong()),
            };
            *place = Some(number.parse().map_err(|_| wrong())?);
        }
        Ok(threshold)
    }

    /// Whether a burst reaches all of them.
    pub fn is_reached_by(&self, row: &BurstRow) -> bool {
        let Burst { fan_in, marks, resent, .. } = row.burst;
        let reaches = |least: Option<u64>, value: u64| least.is_none_or(|least| value >= least);
        reaches(self.fan_in, fan_in)
            && reaches(self.ms, row.duration_ms as u64)
            && reaches(self.marks, marks)
            && reaches(self.resent, resent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> BurstRow {
        let burst = Burst { fan_in: 32, bytes: 2048, packets: 9, marks: 3, resent: 1, ..Burst::default() };
        let [service, cgroup] = ["web.service", "/system.slice/web.service"].map(str::to_string);
        BurstRow {
            start_s: 7.25,
            duration_ms: 18.0,
            peak_mbit: 990.0,
            link_mbit: 1000,
            rate_is_assumed: true,
            burst,
            receivers: vec![Receiver { service, cgroup, bytes: 2000 }],
        }
    }

    #[test]
    fn rows_are_read_as_written() {
        let saved =
            SavedRow { start_s: 7.25, files: vec!["a/packets.pcap".into()], packets: 4, from_s: 6.5, to_s: 7.5 };
        let waits = Cause::ALL.map(|cause| {
            let [own, peer] = ["10.0.0.1:7000", "[::1]:80"].map(str::to_string);
            let service = (cause == Cause::Timeout).then(|| "web.service".into());
            Row::Wait(WaitRow { end_s: 7.5, duration_ms: 204.0, cause, own, peer, service })
        });
        for row in [Row::Burst(row()), Row::Saved(saved)].into_iter().chain(waits) {
            let json = serde_json::to_string(&row).unwrap();
            assert_eq!(serde_json::from_str::<Row>(&json).unwrap(), row, "{json}");
        }
        assert!(Cause::ALL.iter().all(|cause| serde_json::to_value(cause).unwrap() == cause.word()));
        let json = serde_json::to_value(Row::Burst(row())).unwrap();
        assert_eq!((json["type"].as_str(), json["fan_in"].as_u64()), (Some("burst"), Some(32)));
    }

    #[test]
    fn burst_reaches_all_figures_of_a_threshold() {
        let reached = |text: &str| Threshold::read(text).unwrap().is_reached_by(&row());
        assert!(reached("fan-in=32,ms=18,marks=3,resent=1") && reached("fan-in=2"));
        assert!(!reached("fan-in=33") && !reached("fan-in=2,resent=2") && !reached("ms=19") && !reached("marks=4"));
        for text in ["", "fan-in", "fan-in=", "fan-in=x", "fan-in=-1", "size=3", "fan-in=8,"] {
            assert!(Threshold::read(text).is_err(), "{text}");
        }
    }
}
