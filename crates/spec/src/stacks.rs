//! Real hosts' TCP in one word: what `tcp.profile` sets.

use crate::declare::words;
use crate::literal::Literal;
use crate::setting::Setting;

words! {
    /// A TCP that hosts run.
    Stack, "\"linux\" or \"linux-6.1\"" {
        /// Linux with its defaults, as of the kernel that was measured last: 6.1 (docs/validation.md).
        Linux = "linux",
        /// Linux 6.1 with its defaults, ticks of 4 ms as Debian has them (net/ipv4 of that kernel).
        Linux61 = "linux-6.1",
    }
}

impl Stack {
    /// The keys of `[tcp]` that it sets.
    pub fn sets(self) -> Vec<(&'static str, Literal)> {
        let text = |text: &str| Literal::Text(text.into());
        match self {
            Stack::Linux | Stack::Linux61 => vec![
                ("mss", text("1448 B")),                  // 1,500 B less 40 B of headers and 12 B of timestamps
                ("initial_window", Literal::Integer(10)), // TCP_INIT_CWND
                ("timestamps", Literal::Bool(true)),      // tcp_timestamps
                ("sack", Literal::Bool(true)),            // tcp_sack
                ("rack", Literal::Bool(true)),            // tcp_recovery
                ("tail_loss_probe", Literal::Bool(true)), // tcp_early_retrans
                ("limited_transmit", Literal::Bool(true)),
                ("rto_min", text("200 ms")),     // TCP_RTO_MIN
                ("rto_max", text("120 s")),      // TCP_RTO_MAX
                ("rto_initial", text("1 s")),    // TCP_TIMEOUT_INIT
                ("rto_floor", text("variance")), // tcp_rtt_estimator
                ("rto_clock", text("1 ms")),
                ("max_ack_delay", text("200 ms")), // a probe of one segment waits TCP_RTO_MIN beside two round trips
                ("timer_margin", text("8 ms")),    // TCP_TIMEOUT_MIN, two ticks
                ("delayed_ack", Literal::Integer(2)),
                ("delayed_ack_timeout", text("40 ms")),     // TCP_DELACK_MIN
                ("quick_acks", Literal::Integer(16)),       // TCP_MAX_QUICKACKS
                ("idle_restart", Literal::Bool(true)),      // tcp_slow_start_after_idle
                ("window_validation", Literal::Bool(true)), // tcp_is_cwnd_limited
            ],
        }
    }
}
