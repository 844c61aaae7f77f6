//! TCP of real operating systems, for `tcp.profile`.

use crate::declare::words;
use crate::literal::Literal;

words! {
    /// TCP of an operating system.
    Stack, "\"linux\" or \"linux-6.1\"" {
    /// Linux with its defaults, version 6.12, with ticks of 4 ms as in Debian (net/ipv4 of that kernel).
        Linux = "linux" | "linux-6.12",
    /// Linux 6.1 with its defaults, which has fewer timer rules (docs/validation.md).
        Linux61 = "linux-6.1",
    }
}

impl Stack {
    /// The keys that it sets: those of `[tcp]`, of algorithms with variants, and of hosts.
    pub fn sets(self) -> Vec<(&'static str, Literal)> {
        let mut keys = linux();
        keys.extend(self.timers());
        keys
    }

    /// The kernel that it stands for.
    pub fn kernel(self) -> &'static str {
        match self {
            Stack::Linux => "Linux 6.12",
            Stack::Linux61 => "Linux 6.1",
        }
    }

    /// Factor within which that kernel's goodput was past the collapse, at nine of ten recorded points (`make linux-instant-judge`);
    /// `None` if no such points were recorded.
    pub fn factor_past_collapse(self) -> Option<f64> {
        match self {
            Stack::Linux => Some(6.0),
            Stack::Linux61 => None,
        }
    }

    /// Changes since an older kernel.
    pub fn changes_since(self) -> Option<&'static str> {
        match self {
            Stack::Linux => None,
            Stack::Linux61 => Some(
                "Linux 6.12 adds 2 ms instead of 8 ms to a probe's and a reordering timer, and they end on ticks of 4 ms",
            ),
        }
    }

    /// Keys of its timers.
    fn timers(self) -> Vec<(&'static str, Literal)> {
        match self {
            Stack::Linux => vec![
                // TCP_TIMEOUT_MIN_US (tcp_schedule_loss_probe, tcp_rack_mark_lost); usecs_to_jiffies rounds up, and timers fire on ticks.
                ("tcp.timer_margin", text("2 ms")),
                ("tcp.tick", text("4 ms")),             // HZ = 250
                ("tcp.max_ack_delay", text("rto_min")), // tcp_rto_min_us beside two round trips
            ],
            Stack::Linux61 => vec![
                ("tcp.timer_margin", text("8 ms")),    // TCP_TIMEOUT_MIN, two ticks
                ("tcp.max_ack_delay", text("200 ms")), // TCP_RTO_MIN
            ],
        }
    }
}

fn text(text: &str) -> Literal {
    Literal::Text(text.into())
}

/// Keys common to all versions.
fn linux() -> Vec<(&'static str, Literal)> {
    vec![
        ("tcp.mss", text("1448 B")), // 1,500 B less 40 B of headers and 12 B of timestamps
        ("tcp.initial_window", Literal::Integer(10)), // TCP_INIT_CWND
        ("tcp.timestamps", Literal::Bool(true)), // tcp_timestamps
        ("tcp.sack", Literal::Bool(true)), // tcp_sack
        ("tcp.rack", Literal::Bool(true)), // tcp_recovery
        ("tcp.tail_loss_probe", Literal::Bool(true)), // tcp_early_retrans
        ("tcp.limited_transmit", Literal::Bool(true)),
        ("tcp.rto_min", text("200 ms")),     // TCP_RTO_MIN
        ("tcp.rto_max", text("120 s")),      // TCP_RTO_MAX
        ("tcp.rto_initial", text("1 s")),    // TCP_TIMEOUT_INIT
        ("tcp.rto_floor", text("variance")), // tcp_rtt_estimator
        ("tcp.rto_clock", text("1 ms")),
        ("tcp.delayed_ack", Literal::Integer(2)),
        ("tcp.delayed_ack_timeout", text("40 ms")),     // TCP_DELACK_MIN
        ("tcp.quick_acks", Literal::Integer(16)),       // TCP_MAX_QUICKACKS
        ("tcp.idle_restart", Literal::Bool(true)),      // tcp_slow_start_after_idle
        ("tcp.byte_counting", Literal::Bool(true)),     // tcp_slow_start, tcp_cong_avoid_ai
        ("tcp.cut_window", Literal::Bool(true)),        // tcp_reno_ssthresh, cubictcp_recalc_ssthresh
        ("tcp.window_validation", Literal::Bool(true)), // tcp_is_cwnd_limited
        ("tcp.packet_window", Literal::Bool(true)),     // tcp_packets_in_flight, tcp_cwnd_test
        ("tcp.undo", Literal::Bool(true)),              // tcp_dsack, tcp_try_undo_dsack, tcp_try_undo_loss
        ("tcp.frto", Literal::Bool(true)),              // tcp_process_loss
        ("tcp.rtt_variance", text("linux")),            // tcp_rtt_estimator
        ("tcp.pingpong", Literal::Bool(true)),          // tcp_event_data_sent, tcp_cleanup_rbuf
        ("tcp.ack_compression", Literal::Bool(true)),   // tcp_comp_sack_nr
        ("tcp.hystart", Literal::Bool(true)),           // tcp_cubic.c: hystart_update
        ("newreno.variant", text("linux")),             // tcp_reno_cong_avoid
        ("cubic.variant", text("linux")),               // tcp_cubic.c
        ("host.packet_jitter", text("0.3 of a transmission")), // by recorded points (docs/decisions/real-tcp.md)
    ]
}
