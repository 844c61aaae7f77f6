//! RFC 5681: the congestion window, fast retransmit, idle restart, and acknowledgement times.

use crate::common::{Script, plain, window_of};
use fanin_tcp::Params;

/// Sends `count` segments from sequence number 1 on, at 20.
fn sent(count: u32) -> String {
    let lines: Vec<String> = (0..count).map(|i| format!("20 > . {}:{} ack 1", 1 + i * 1000, 1001 + i * 1000)).collect();
    lines.join("\n")
}

#[test]
fn slow_start_adds_one_segment_per_ack() {
    // Section 3.1, equation 2.
    Script::client(window_of(2)).run(
        "20 write 100000
         20 > . 1:1001 ack 1
         20 > . 1001:2001 ack 1
         30 < . 1:1 ack 1001
         30 cwnd 3000
         30 > . 2001:3001 ack 1
         30 > . 3001:4001 ack 1
         30 < . 1:1 ack 2001
         30 cwnd 4000
         30 > . 4001:5001 ack 1
         30 > . 5001:6001 ack 1",
    );
}

#[test]
fn slow_start_counts_acks_not_segments() {
    // Section 3.1: cwnd += min(N, SMSS), here N = 2,000.
    Script::client(window_of(2)).run(
        "20 write 2000
         20 > . 1:1001 ack 1
         20 > . 1001:2001 ack 1
         30 < . 1:1 ack 2001
         30 cwnd 3000",
    );
}

#[test]
fn slow_start_adds_at_most_acked_bytes() {
    Script::client(window_of(2)).run(
        "20 write 300
         20 > . 1:301 ack 1
         30 < . 1:1 ack 301
         30 cwnd 2300",
    );
}

#[test]
fn congestion_avoidance_adds_one_segment_a_window() {
    // A timeout with four segments out leaves ssthresh at 2,000 (half the flight). The window grows 1,000 to 2,000 by slow
    // start, then by SMSS * SMSS / cwnd (equation 3): 2,000 + 500 = 2,500, then 2,500 + 400 = 2,900.
    Script::client(window_of(4)).run(
        "20 write 10000
         20 > . 1:1001 ack 1
         20 > . 1001:2001 ack 1
         20 > . 2001:3001 ack 1
         20 > . 3001:4001 ack 1
         220 > . 1:1001 ack 1
         220 cwnd 1000
         220 ssthresh 2000
         230 < . 1:1 ack 1001
         230 cwnd 2000
         230 > . 1001:2001 ack 1
         230 > . 2001:3001 ack 1
         240 < . 1:1 ack 2001
         240 cwnd 2500
         240 > . 3001:4001 ack 1
         240 < . 1:1 ack 3001
         240 cwnd 2900
         240 > . 4001:5001 ack 1",
    );
}

#[test]
fn retransmits_after_three_duplicate_acks() {
    // Section 3.2, steps 2 to 4: ssthresh = 8,000 / 2, cwnd = ssthresh + 3 SMSS.
    Script::client(window_of(8)).run(&format!(
        "20 write 8000
         {}
         30 < . 1:1 ack 1
         31 < . 1:1 ack 1
         31 cwnd 8000
         31 fast 0
         32 < . 1:1 ack 1
         32 > . 1:1001 ack 1
         32 ssthresh 4000
         32 cwnd 7000
         32 fast 1
         32 resent 1",
        sent(8)
    ));
}

#[test]
fn half_of_a_small_flight_is_still_two_segments() {
    // Equation 4: max(FlightSize / 2, 2 SMSS), and section 3.1: the loss window is one segment.
    Script::client(window_of(2)).run(
        "20 write 2000
         20 > . 1:1001 ack 1
         20 > . 1001:2001 ack 1
         220 > . 1:1001 ack 1
         220 ssthresh 2000
         220 cwnd 1000
         220 timeouts 1",
    );
}

#[test]
fn an_ack_with_data_is_no_duplicate() {
    // Section 2, condition (b).
    Script::client(window_of(8)).run(&format!(
        "20 write 8000
         {}
         30 < . 1:101 ack 1
         30 > . 8001:8001 ack 101
         31 < . 101:201 ack 1
         31 > . 8001:8001 ack 201
         32 < . 201:301 ack 1
         32 > . 8001:8001 ack 301
         33 < . 301:401 ack 1
         33 > . 8001:8001 ack 401
         33 fast 0",
        sent(8)
    ));
}

#[test]
fn an_ack_while_nothing_is_outstanding_is_no_duplicate() {
    // Section 2, condition (a).
    Script::client(plain()).run(
        "20 < . 1:1 ack 1
         20 < . 1:1 ack 1
         20 < . 1:1 ack 1
         20 fast 0
         20 cwnd 10000",
    );
}

#[test]
fn repeated_timeouts_reduce_ssthresh_once() {
    // Section 3.1, after equation 4: FlightSize at the second timeout is that after the first one.
    Script::client(window_of(8)).run(&format!(
        "20 write 8000
         {}
         220 > . 1:1001 ack 1
         220 ssthresh 4000
         620 > . 1:1001 ack 1
         620 ssthresh 4000
         620 cwnd 1000
         620 timeouts 2",
        sent(8)
    ));
}

#[test]
fn timeout_of_a_later_segment_reduces_again() {
    // The repair of the first loss advances; then the flight of two segments is lost in turn: max(2,000 / 2, 2,000).
    Script::client(window_of(8)).run(&format!(
        "20 write 8000
         {}
         220 > . 1:1001 ack 1
         220 ssthresh 4000
         230 < . 1:1 ack 1001
         230 > . 1001:2001 ack 1
         230 > . 2001:3001 ack 1
         430 > . 1001:2001 ack 1
         430 ssthresh 2000
         430 cwnd 1000",
        sent(8)
    ));
}

#[test]
fn after_a_lost_syn_the_window_is_one_segment() {
    // Section 3.1: "If the SYN or SYN/ACK is lost, the initial window ... MUST be one segment".
    Script::new(plain()).run(
        "0 connect
         0 > S 0:0
         1000 > S 0:0
         1010 < S. 0:0 ack 1
         1010 > . 1:1 ack 1
         1010 cwnd 1000
         1020 write 3000
         1020 > . 1:1001 ack 1",
    );
}

#[test]
fn after_a_lost_syn_ack_the_window_is_one_segment() {
    Script::new(plain()).run(
        "0 < S 0:0
         0 > S. 0:0 ack 1
         1000 > S. 0:0 ack 1
         1010 < . 1:1 ack 1
         1010 cwnd 1000",
    );
}

/// The window grows to 12 segments, then the sender is idle for 500 ms, longer than the timeout of 200 ms.
const IDLE: &str = "20 write 2000
    20 > . 1:1001 ack 1
    20 > . 1001:2001 ack 1
    30 < . 1:1 ack 1001
    30 < . 1:1 ack 2001
    30 cwnd 12000
    530 write 1000
    530 > . 2001:3001 ack 1";

#[test]
fn window_restarts_after_idle_timeout() {
    // Section 4.1: RW = min(IW, cwnd).
    let script = Script::client(Params { idle_restart: true, ..plain() }).run(IDLE);
    script.run("530 cwnd 10000");
}

#[test]
fn idle_restart_never_raises_the_window() {
    // The timeout leaves a window of one segment, which one ACK doubles: min(10,000, 2,000).
    Script::client(Params { idle_restart: true, ..plain() }).run(
        "20 write 1000
         20 > . 1:1001 ack 1
         220 > . 1:1001 ack 1
         230 < . 1:1 ack 1001
         230 cwnd 2000
         3000 write 1000
         3000 > . 1001:2001 ack 1
         3000 cwnd 2000",
    );
}

#[test]
fn a_shorter_idle_time_leaves_the_window() {
    Script::client(Params { idle_restart: true, ..plain() }).run(
        "20 write 2000
         20 > . 1:1001 ack 1
         20 > . 1001:2001 ack 1
         30 < . 1:1 ack 1001
         30 < . 1:1 ack 2001
         219 write 1000
         219 > . 2001:3001 ack 1
         219 cwnd 12000",
    );
}

#[test]
fn idle_restart_can_be_disabled() {
    Script::client(plain()).run(IDLE).run("530 cwnd 12000");
}

fn delayed() -> Params {
    Params { delayed_ack: 2, ..plain() }
}

#[test]
fn every_second_segment_is_acknowledged_at_once() {
    // Section 4.2.
    Script::server(delayed()).run(
        "20 < . 1:1001 ack 1
         21 < . 1001:2001 ack 1
         21 > . 1:1 ack 2001
         22 < . 2001:3001 ack 1
         23 < . 3001:4001 ack 1
         23 > . 1:1 ack 4001
         23 deadline never",
    );
}

#[test]
fn delayed_ack_timer_acks_single_segment() {
    // Section 4.2: within 500 ms; here 40 ms.
    Script::server(delayed()).run(
        "20 < . 1:1001 ack 1
         20 deadline 60
         60 > . 1:1 ack 1001
         60 timeouts 0
         60 deadline never",
    );
}

#[test]
fn delay_counts_from_the_first_unacknowledged_segment() {
    Script::server(Params { delayed_ack: 3, ..plain() }).run(
        "20 < . 1:1001 ack 1
         50 < . 1001:2001 ack 1
         60 > . 1:1 ack 2001",
    );
}

#[test]
fn data_in_return_carries_the_delayed_ack() {
    Script::server(delayed()).run(
        "20 < . 1:1001 ack 1
         25 write 500
         25 > . 1:501 ack 1001
         25 deadline 225",
    );
}

#[test]
fn a_segment_out_of_order_is_acknowledged_at_once() {
    // Section 4.2: "out-of-order data segments SHOULD be acknowledged immediately".
    Script::server(delayed()).run(
        "20 < . 1001:2001 ack 1
         20 > . 1:1 ack 1
         21 < . 2001:3001 ack 1
         21 > . 1:1 ack 1",
    );
}

#[test]
fn acks_gap_filling_segment_at_once() {
    // Section 4.2: "when it receives a data segment that fills in all or part of a gap".
    Script::server(delayed()).run(
        "20 < . 3001:4001 ack 1
         20 > . 1:1 ack 1
         21 < . 1:1001 ack 1
         21 > . 1:1 ack 1001
         22 < . 1001:3001 ack 1
         22 > . 1:1 ack 4001",
    );
}

#[test]
fn a_fin_is_acknowledged_at_once() {
    Script::server(delayed()).run(
        "20 < F. 1:1001 ack 1
         20 > . 1:1 ack 1002",
    );
}
