//! Round-trip variance as estimated by Linux, replacing RFC 6298's RTTVAR.
//! Sources: Linux 6.1, tcp_rtt_estimator().
//! Rule:    it is the largest mean deviation of a round trip, and falls by a quarter per round trip.

use fanin_units::Time;

/// The estimate; times in whole microseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variance {
    rttvar: u32,
    /// The mean deviation, and its largest in this round trip.
    deviation: u32,
    largest: u32,
    /// The round trip ends when more than this is acknowledged; 0 before the first sample.
    until: u64,
}

/// A round-trip sample with the sender's state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub rtt: Time,
    /// The mean before it; zero for the first sample.
    pub srtt: Time,
    pub una: u64,
    pub nxt: u64,
    /// Four times the minimum deviation.
    pub floor: Time,
}

impl Variance {
    /// State before the first sample.
    pub fn new() -> Variance {
        Variance { rttvar: 0, deviation: 0, largest: 0, until: 0 }
    }

    /// Take a sample; return the estimate.
    pub fn note(&mut self, sample: &Sample) -> Time {
        let least = micros(sample.floor) / 4;
        if sample.srtt == Time::ZERO {
            self.begin(sample.rtt, least, sample.nxt);
        } else {
            if self.until == 0 {
                // The mean is the handshake's round trip, which ended before the first byte.
                self.begin(sample.srtt, least, 1);
            }
            self.update(sample, least);
        }
        Time::from_micros(self.rttvar.into())
    }

    fn begin(&mut self, rtt: Time, least: u32, until: u64) {
        self.deviation = micros(rtt) / 2;
        self.rttvar = self.deviation.max(least);
        (self.largest, self.until) = (self.rttvar, until);
    }

    /// Move the deviation by a quarter of the sample's error, or by a 32nd if a sample below the mean would raise it.
    fn update(&mut self, sample: &Sample, least: u32) {
        let off = micros(Time(sample.srtt.0.abs_diff(sample.rtt.0)));
        self.deviation = match off.checked_sub(self.deviation) {
            Some(above) => self.deviation + above / if sample.rtt < sample.srtt { 32 } else { 4 },
            None => self.deviation - (self.deviation - off) / 4,
        };
        self.largest = self.largest.max(self.deviation);
        self.rttvar = self.rttvar.max(self.largest);
        if sample.una > self.until {
            self.rttvar -= (self.rttvar - self.largest) / 4;
            (self.until, self.largest) = (sample.nxt, least);
        }
    }
}

fn micros(time: Time) -> u32 {
    u32::try_from(time.0 / Time::from_micros(1).0).unwrap_or(u32::MAX)
}
