//! Probability that at least one of many flows loses its whole window, so that all wait for its timeout.
//! Sources: Memon, Huang and Saajid, "Gentle Slow Start" (2019), section 2.3 and 3.1, equations 1 to 6.
//! Model:   a packet is lost with probability p, independently; a flow times out when it loses all w packets of its window;
//!          incast means that at least one of n does.
//! Forms:   p = 1 - B / (n w), or 0 where n w packets fit in B                         (equation 1, corrected)
//!          P_TO = p^w; P = 1 - (1 - P_TO)^n                                           (equations 2 and 3)
//!          W = (C RTT + B) / MSS fill pipe and queue, and each flow has w = W / n     (equations 4 and 5)
//!          with GSS a window then grows by one: p = 1 / (w + 1); P = 1 - (1 - p^w)^n  (equation 6, corrected)
//!          without GSS it doubles: p = 1/2; P = 1 - (1 - (1/2)^w)^n
//! Units:   packets; n and w may be fractions, since they are averages.
//! Departs: equation 1 prints p = 1 - n w / B, which is negative after overflow; the lost n w - B of n w packets are
//!          1 - B / (n w). Equation 6 prints the share delivered in place of the share lost: that form is also implemented, to show
//!          its result, P >= 0.9999 from 20 flows on.
//! Checked: P(65 flows, 1 Gbit/s) = 0.986 and P(78, 10 Gbit/s) = 0.984, where the paper's figure 3 shows 1: by hand, in its
//!          tests.

use crate::Bottleneck;

/// Growth of the window in the round trip after pipe and queue are full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// Doubles: slow start.
    Doubles,
    /// Grows by one packet: gentle slow start at its gentlest.
    ByOne,
}

/// Corrected equation 1: the share of `flows` windows of `window` packets that exceeds `capacity` packets.
pub fn loss_rate(flows: f64, window: f64, capacity: f64) -> f64 {
    let sent = flows * window;
    if sent <= capacity { 0.0 } else { 1.0 - capacity / sent }
}

/// Equations 2 and 3 with the corrected equation 1: `flows` windows of `window` packets arrive at once.
pub fn incast_at(flows: f64, window: f64, capacity: f64) -> f64 {
    incast(loss_rate(flows, window, capacity), window, flows)
}

/// Corrected equations 4 to 6: pipe and queue are full, each flow has an equal share, and every window grows.
pub fn incast_when_full(flows: f64, growth: Growth, bottleneck: &Bottleneck) -> f64 {
    let capacity = bottleneck.capacity_packets();
    let window = capacity / flows;
    let grown = match growth {
        Growth::Doubles => 2.0 * window,
        Growth::ByOne => window + 1.0,
    };
    incast(loss_rate(flows, grown, capacity), window, flows)
}

/// Equation 6 as the paper prints it.
pub fn incast_as_printed(flows: f64, bottleneck: &Bottleneck) -> f64 {
    let capacity = bottleneck.capacity_packets();
    let window = capacity / flows;
    let sent = flows * (window + 1.0);
    incast(1.0 - (sent - capacity) / sent, window, flows)
}

fn incast(loss: f64, window: f64, flows: f64) -> f64 {
    1.0 - libm::pow(1.0 - libm::pow(loss, window), flows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanin_units::{Bytes, QueueSize, Rate, Time};
    use proptest::prelude::*;

    fn paper(rate: u64) -> Bottleneck {
        Bottleneck {
            rate: Rate(rate),
            buffer: QueueSize::Packets(250),
            rtt: Time::from_micros(100),
            packet: Bytes(1500),
        }
    }

    #[test]
    fn corrected_form_matches_figure_3() {
        // 1 Gbit/s: 258.33 packets, w = 3.974, P_TO = 0.5^3.974 = 0.0636, P = 1 - 0.9364^65 = 0.986.
        assert!((incast_when_full(65.0, Growth::Doubles, &paper(1_000_000_000)) - 0.986).abs() < 5e-4);
        // 10 Gbit/s: 333.33 packets, w = 4.274, P_TO = 0.0517, P = 1 - 0.9483^78 = 0.984.
        assert!((incast_when_full(78.0, Growth::Doubles, &paper(10_000_000_000)) - 0.984).abs() < 5e-4);
    }

    #[test]
    fn printed_form_predicts_incast_from_20_flows() {
        assert!(incast_as_printed(20.0, &paper(1_000_000_000)) >= 0.9999);
    }

    #[test]
    fn fitting_windows_lose_nothing() {
        assert_eq!(loss_rate(25.0, 10.0, 250.0), 0.0);
        assert_eq!(incast_at(25.0, 10.0, 250.0), 0.0);
        assert_eq!(loss_rate(25.0, 20.0, 250.0), 0.5);
    }

    proptest! {
        #![proptest_config(fanin_testing::cases(256))]

        #[test]
        fn probabilities_stay_between_none_and_all(n in 1.0..1000.0f64, w in 0.1..1000.0f64, b in 1.0..10_000.0f64) {
            let p = incast_at(n, w, b);
            prop_assert!((0.0..=1.0).contains(&p), "{p}");
        }

        #[test]
        fn gentle_growth_reduces_incast_probability(n in 1.0..300.0f64) {
            // Doubling is gentler if an equal share is below one packet.
            let bottleneck = paper(10_000_000_000);
            prop_assume!(bottleneck.capacity_packets() / n >= 1.0);
            let [gentle, doubled] = [Growth::ByOne, Growth::Doubles].map(|g| incast_when_full(n, g, &bottleneck));
            prop_assert!(gentle <= doubled + 1e-12, "{gentle} {doubled}");
        }
    }
}
