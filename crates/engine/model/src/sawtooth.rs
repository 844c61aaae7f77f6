//! DCTCP's sawtooth in steady state: N synchronised long flows of one round trip.
//! Sources: Alizadeh et al., SIGCOMM 2010, sections 3.3 (equations 4 to 11) and 3.4 (13 to 15).
//! Forms:   W* = (C RTT + K) / N, the window at which the queue reaches K
//!          alpha^2 (1 - alpha / 4) = (2 W* + 1) / (W* + 1)^2
//!          Q_max = K + N; A = N (W* + 1) alpha / 2; Q_min = Q_max - A; T_C = A / N round trips
//!          K > C RTT / 7, so that the queue never runs empty; g < 1.386 / sqrt(2 (C RTT + K)), so that alpha averages over
//!          more than a period of one flow
//! Units:   packets, round trips.
//! Departs: nowhere; alpha is computed exactly, where the paper approximates it by sqrt(2 / W*).
//! Checked: figure 12's settings, by hand in its tests; the simulator, in crates/scenario/simulate/tests/all/sawtooth.rs.

/// N flows over one bottleneck that marks above K.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sawtooth {
    /// C RTT: packets in flight without a queue.
    pub pipe: f64,
    /// K, in packets.
    pub threshold: f64,
    /// N.
    pub flows: f64,
}

impl Sawtooth {
    /// W*: each flow's window when the queue reaches K.
    pub fn critical_window(&self) -> f64 {
        (self.pipe + self.threshold) / self.flows
    }

    /// Share of marked packets, by bisection: the left side rises from 0 to 3/4 between 0 and 1, and alpha is at most one.
    pub fn alpha(&self) -> f64 {
        let window = self.critical_window();
        let marked = (2.0 * window + 1.0) / ((window + 1.0) * (window + 1.0));
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if middle * middle * (1.0 - middle / 4.0) < marked { low = middle } else { high = middle }
        }
        high
    }

    /// The longest queue.
    pub fn queue_max(&self) -> f64 {
        self.threshold + self.flows
    }

    /// Difference between the longest and the shortest queue.
    pub fn amplitude(&self) -> f64 {
        self.flows * (self.critical_window() + 1.0) * self.alpha() / 2.0
    }

    /// The shortest queue; negative if it would run empty.
    pub fn queue_min(&self) -> f64 {
        self.queue_max() - self.amplitude()
    }

    /// Round trips between two window reductions.
    pub fn period(&self) -> f64 {
        self.amplitude() / self.flows
    }
}

/// K above which the queue never runs empty, for any number of flows.
pub fn least_threshold(pipe: f64) -> f64 {
    pipe / 7.0
}

/// g below which alpha averages over more than one period of a single flow.
pub fn most_gain(pipe: f64, threshold: f64) -> f64 {
    1.386 / (2.0 * (pipe + threshold)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figure_12_matches_hand_computation() {
        // 10 Gbit/s, 100 us and packets of 1,500 B: 83.3 of them; K = 40.
        for (flows, alpha, most, amplitude, period) in
            [(2.0, 0.18, 42.0, 11.4, 5.7), (10.0, 0.40, 50.0, 26.7, 2.7), (40.0, 0.72, 80.0, 59.2, 1.5)]
        {
            let of = Sawtooth { pipe: 10e9 * 100e-6 / 12_000.0, threshold: 40.0, flows };
            assert!((of.alpha() - alpha).abs() < 0.005, "{}", of.alpha());
            assert_eq!(of.queue_max(), most);
            assert!((of.amplitude() - amplitude).abs() < 0.05, "{}", of.amplitude());
            assert!((of.period() - period).abs() < 0.05, "{}", of.period());
            assert!((of.queue_min() - (most - amplitude)).abs() < 0.05, "{}", of.queue_min());
        }
    }

    #[test]
    fn bounds_on_k_and_g_match_hand_computation() {
        assert!((least_threshold(10e9 * 100e-6 / 12_000.0) - 11.9).abs() < 0.05);
        assert!((most_gain(1e9 * 100e-6 / 12_000.0, 20.0) - 0.184).abs() < 0.001);
        assert!((most_gain(10e9 * 250e-6 / 12_000.0, 65.0) - 0.059).abs() < 0.001);
    }
}
