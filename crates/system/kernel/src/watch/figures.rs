//! Figures of bursts and waits over a time: histograms by powers of two.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::watch::row::{BurstRow, Cause, WaitRow};

/// Bucket `n` has values up to 2^n; the last one has all larger ones, too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Powers(Vec<u64>);

/// Units of a duration in a second: 2^20.
pub const PER_SECOND: u64 = 1 << DOUBLINGS;
/// Their binary logarithm.
pub const DOUBLINGS: i32 = 20;
/// Buckets: the largest bound is 2^20, a second.
const BUCKETS: usize = DOUBLINGS as usize + 1;

impl Powers {
    /// Counts a value.
    pub fn add(&mut self, value: u64) {
        let bucket = (value.max(1).next_power_of_two().ilog2() as usize).min(BUCKETS - 1);
        self.0.resize(self.0.len().max(bucket + 1), 0);
        self.0[bucket] += 1;
    }

    fn join(&mut self, other: &Powers) {
        self.0.resize(self.0.len().max(other.0.len()), 0);
        self.0.iter_mut().zip(&other.0).for_each(|(own, other)| *own += other);
    }

    /// Upper bounds and counts.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.iter().enumerate().map(|(bucket, count)| (1 << bucket, *count))
    }

    /// Upper bound of the bucket of a quantile; zero without values.
    pub fn quantile(&self, share: f64) -> u64 {
        let all: u64 = self.0.iter().sum();
        let wanted = (all as f64 * share).ceil() as u64;
        let mut seen = 0;
        self.buckets()
            .find(|(_, count)| {
                seen += count;
                seen >= wanted.max(1)
            })
            .map_or(0, |(bound, _)| bound)
    }
}

/// Waits of a cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Waited {
    /// Waits.
    pub count: u64,
    /// Their sum.
    pub ms: f64,
    /// Segments sent again.
    pub segments: u64,
}

/// Figures of a service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Served {
    /// Bursts of which it received at least a part.
    pub bursts: u64,
    /// Bytes of bursts for it.
    pub bytes: u64,
    /// Waits of its connections.
    pub waits: u64,
    /// Their sum.
    pub wait_ms: f64,
}

/// Services that are counted; further ones count as [`OTHERS`], so that pods that come and go need no more memory.
const SERVICES: usize = 256;
const OTHERS: &str = "other services";

/// Figures of a time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Bursts.
    pub bursts: u64,
    /// Their bytes, packets, marked packets and segments sent again.
    pub bytes: u64,
    /// Packets.
    pub packets: u64,
    /// Marked packets.
    pub marks: u64,
    /// Segments sent again.
    pub resent: u64,
    /// Sum of their durations.
    pub burst_ms: f64,
    /// Sum of their connections.
    pub connections: u64,
    /// Their connections.
    pub fan_in: Powers,
    /// Their durations in 2^-20 s, so that bounds are powers of two of a second.
    pub duration: Powers,
    /// Waits of connections that send.
    pub waits: BTreeMap<Cause, Waited>,
    /// Bins and waits for which the kernel's buffers had no space.
    #[serde(default)]
    pub lost: u64,
    /// Files that could not be written.
    #[serde(default)]
    pub unwritten: u64,
    /// By service.
    #[serde(default)]
    pub services: BTreeMap<String, Served>,
}

impl Figures {
    /// Counts a burst.
    pub fn burst(&mut self, row: &BurstRow) {
        self.bursts += 1;
        self.bytes += row.burst.bytes;
        self.packets += row.burst.packets;
        self.marks += row.burst.marks;
        self.resent += row.burst.resent;
        self.burst_ms += row.duration_ms;
        self.fan_in.add(row.burst.fan_in);
        self.connections += row.burst.fan_in;
        self.duration.add((row.duration_ms / 1e3 * PER_SECOND as f64).ceil() as u64);
        for receiver in &row.receivers {
            let served = self.service(&receiver.service);
            served.bursts += 1;
            served.bytes += receiver.bytes;
        }
    }

    fn service(&mut self, name: &str) -> &mut Served {
        let is_counted = self.services.len() < SERVICES || self.services.contains_key(name);
        self.services.entry(if is_counted { name } else { OTHERS }.to_string()).or_default()
    }

    /// Counts a wait.
    pub fn wait(&mut self, row: &WaitRow) {
        let waited = self.waits.entry(row.cause).or_default();
        waited.count += 1;
        waited.ms += row.duration_ms;
        if let Some(name) = &row.service {
            let served = self.service(name);
            served.waits += 1;
            served.wait_ms += row.duration_ms;
        }
    }

    /// Counts segments sent again.
    pub fn segments(&mut self, segments: [u64; 3]) {
        for (cause, more) in Cause::ALL.into_iter().zip(segments).filter(|(_, more)| *more > 0) {
            self.waits.entry(cause).or_default().segments += more;
        }
    }

    /// Adds those of another time or host.
    pub fn join(&mut self, other: &Figures) {
        self.bursts += other.bursts;
        self.bytes += other.bytes;
        self.packets += other.packets;
        self.marks += other.marks;
        self.resent += other.resent;
        self.burst_ms += other.burst_ms;
        self.fan_in.join(&other.fan_in);
        self.connections += other.connections;
        self.lost += other.lost;
        self.unwritten += other.unwritten;
        self.duration.join(&other.duration);
        for (cause, other) in &other.waits {
            let waited = self.waits.entry(*cause).or_default();
            waited.count += other.count;
            waited.ms += other.ms;
            waited.segments += other.segments;
        }
        for (name, other) in &other.services {
            let served = self.service(name);
            served.bursts += other.bursts;
            served.bytes += other.bytes;
            served.waits += other.waits;
            served.wait_ms += other.wait_ms;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_end_at_powers_of_two() {
        let mut powers = Powers::default();
        assert_eq!(powers.quantile(0.5), 0);
        [0, 1, 2, 3, 4, 5, 1 << 20, u64::MAX >> 1].into_iter().for_each(|value| powers.add(value));
        let found: Vec<_> = powers.buckets().filter(|(_, count)| *count > 0).collect();
        assert_eq!(found, [(1, 2), (2, 1), (4, 2), (8, 1), (1 << 20, 2)]);
        assert_eq!([0.0, 0.5, 0.75, 1.0].map(|share| powers.quantile(share)), [1, 4, 8, 1 << 20]);
    }

    #[test]
    fn joined_figures_are_those_of_both_times() {
        let wait = |cause: Cause, duration_ms| WaitRow {
            end_s: 0.0,
            duration_ms,
            cause,
            own: String::new(),
            peer: String::new(),
            service: Some(cause.word().into()),
        };
        let (mut one, mut other, mut both) = (Figures::default(), Figures::default(), Figures::default());
        for (figures, cause, ms) in [(&mut one, Cause::Timeout, 200.0), (&mut other, Cause::LossProbe, 8.0)] {
            figures.wait(&wait(cause, ms));
            figures.fan_in.add(ms as u64);
            both.wait(&wait(cause, ms));
            both.fan_in.add(ms as u64);
        }
        one.join(&other);
        assert_eq!(one, both);
        assert_eq!(one.services["timeout"], Served { waits: 1, wait_ms: 200.0, ..Served::default() });
    }

    #[test]
    fn services_beyond_the_limit_count_as_others() {
        let mut figures = Figures::default();
        (0..SERVICES + 2).for_each(|number| figures.service(&number.to_string()).bursts += 1);
        figures.service("0").bursts += 1;
        assert_eq!((figures.services.len(), figures.services["0"].bursts), (SERVICES + 1, 2));
        assert_eq!(figures.services[OTHERS].bursts, 2);
    }
}
