//! RFC 8985: RACK-TLP, loss by time and a probe for a lost tail. The round trip is 10 ms throughout.

use crate::common::{Script, plain, window_of};
use fanin_tcp::{Params, RtoFloor};
use fanin_units::Time;

/// Both on.
fn both(segments: u32) -> Params {
    Params { sack: true, rack: true, tail_loss_probe: true, ..window_of(segments) }
}

fn rack(segments: u32) -> Params {
    Params { tail_loss_probe: false, ..both(segments) }
}

/// Send `segments` at 20; `more` bytes are unsent.
fn out(params: Params, segments: u32, more: u32) -> Script {
    let mut script = format!("20 write {}\n", segments * 1000 + more);
    for i in 0..segments {
        script.push_str(&format!("20 > . {}:{} ack 1\n", 1 + i * 1000, 1001 + i * 1000));
    }
    Script::client(params).run(&script)
}

#[test]
fn a_tail_is_probed_after_two_round_trips() {
    // 7.2 and 7.3: PTO = 2 SRTT; no data is unsent, so the last segment is resent, and the RTO restarts.
    out(both(10), 3, 0).run(
        "20 deadline 40
         40 > . 2001:3001 ack 1
         40 probes 1
         40 timeouts 0
         40 cwnd 10000
         40 deadline 240",
    );
}

#[test]
fn one_segment_waits_for_a_delayed_ack_too() {
    // 7.2: FlightSize is one segment: PTO += TLP.max_ack_delay.
    out(both(10), 1, 0).run(
        "20 deadline 80
         80 > . 1:1001 ack 1
         80 probes 1",
    );
}

#[test]
fn probe_comes_no_later_than_the_timeout() {
    // 7.2: PTO is at most the remaining RTO; the probe replaces it, and a timeout follows one RTO later.
    out(Params { max_ack_delay: Time::from_millis(500), ..both(10) }, 1, 0).run(
        "20 deadline 220
         220 > . 1:1001 ack 1
         220 probes 1
         220 timeouts 0
         220 cwnd 10000
         420 > . 1:1001 ack 1
         420 timeouts 1
         420 probes 1
         420 cwnd 1000",
    );
}

#[test]
fn probe_prefers_new_data() {
    // 7.3.
    out(both(2), 2, 3000).run(
        "40 > . 2001:3001 ack 1
         40 cwnd 2000
         40 resent 0
         50 < . 1:1 ack 3001
         50 > . 3001:4001 ack 1
         50 > . 4001:5001 ack 1
         50 ssthresh 4294967295",
    );
}

#[test]
fn new_data_restarts_the_probe_timer() {
    // 7.2.
    out(both(10), 3, 0).run(
        "25 write 1000
         25 > . 3001:4001 ack 1
         25 deadline 45
         30 < . 1:1 ack 1001
         30 deadline 50
         35 < . 1:1 ack 4001
         35 deadline never",
    );
}

#[test]
fn a_tail_is_probed_once() {
    // 7.3: no probe while one is outstanding; then the RTO.
    out(both(10), 3, 0).run(
        "40 > . 2001:3001 ack 1
         240 > . 1:1001 ack 1
         240 probes 1
         240 timeouts 1",
    );
}

#[test]
fn repaired_loss_reduces_window_once() {
    // 7.4.1, case 3: no duplicate arrived, and an ACK covers more than the probe's retransmission. It grows the window of two by half
    // a segment, as any other (tcp_process_tlp_ack, tcp_cong_control).
    out(both(10), 3, 0).run(
        "30 < . 1:1 ack 1001
         50 > . 2001:3001 ack 1
         60 < . 1:1 ack 3001
         60 ssthresh 4294967295
         70 write 4000
         70 > . 3001:4001 ack 1
         70 > . 4001:5001 ack 1
         70 > . 5001:6001 ack 1
         70 > . 6001:7001 ack 1
         80 < . 1:1 ack 4001
         80 ssthresh 2000
         80 cwnd 2500
         81 < . 1:1 ack 5001
         81 ssthresh 2000",
    );
}

#[test]
fn duplicate_marks_probe_as_unnecessary() {
    // 7.4.1, case 4: both copies arrived.
    out(both(10), 3, 0).run(
        "40 > . 2001:3001 ack 1
         45 < . 1:1 ack 3001
         50 < . 1:1 ack 3001
         60 write 1000
         60 > . 3001:4001 ack 1
         70 < . 1:1 ack 4001
         70 ssthresh 4294967295
         70 cwnd 12000",
    );
}

#[test]
fn probe_reveals_losses_without_timeout() {
    // 7.4.2: all three are lost, and the probe is SACKed: everything sent before it is lost.
    out(both(10), 3, 0).run(
        "40 > . 2001:3001 ack 1
         50 < . 1:1 ack 1 sack 2001:3001
         50 > . 1:1001 ack 1
         50 fast 1
         50 ssthresh 2000
         60 < . 1:1 ack 1001 sack 2001:3001
         60 > . 1001:2001 ack 1
         70 < . 1:1 ack 3001
         70 cwnd 2000
         70 timeouts 0",
    );
}

#[test]
fn marks_loss_after_reordering_window() {
    // 6.2, steps 4 and 5, and the reordering timer of 6.3: RACK.rtt + min_RTT / 4 after sending, with a single SACK.
    out(rack(10), 4, 0).run(
        "30 < . 1:1 ack 1 sack 1001:2001
         30 fast 0
         30 deadline 32.5
         32.5 > . 1:1001 ack 1
         32.5 fast 1
         32.5 timeouts 0",
    );
}

#[test]
fn three_segments_beyond_end_the_reordering_window() {
    // 6.2, step 4: RACK.segs_sacked >= DupThresh, and no reordering was seen.
    out(rack(10), 5, 0).run(
        "30 < . 1:1 ack 1 sack 1001:4001
         30 > . 1:1001 ack 1
         30 fast 1",
    );
}

#[test]
fn seen_reordering_keeps_the_reordering_window() {
    // 6.2, steps 3 and 4: 1:1001 was sent once and arrived after 1001:2001.
    out(rack(10), 6, 0).run(
        "30 < . 1:1 ack 1 sack 1001:2001
         31 < . 1:1 ack 2001
         31 fast 0
         32 < . 1:1 ack 2001 sack 3001:6001
         32 fast 0
         32 deadline 34.5
         34.5 > . 2001:3001 ack 1
         34.5 fast 1",
    );
}

#[test]
fn detects_lost_retransmissions() {
    // 6.2, step 5: losses by time include retransmissions; the window is not reduced again.
    out(rack(10), 10, 10_000).run(
        "30 < . 1:1 ack 1 sack 1001:4001
         30 > . 1:1001 ack 1
         31 < . 1:1 ack 1 sack 1001:6001
         32 < . 1:1 ack 1 sack 1001:8001
         32 > . 10001:11001 ack 1
         32 > . 11001:12001 ack 1
         41 < . 1:1 ack 1 sack 1001:8001 10001:11001
         41 > . 1:1001 ack 1
         41 > . 8001:9001 ack 1
         41 > . 9001:10001 ack 1
         41 > . 12001:13001 ack 1
         41 fast 1
         41 resent 4
         41 ssthresh 5000
         41 timeouts 0",
    );
}

#[test]
fn early_ack_belongs_to_first_transmission() {
    // 6.2, step 2: a round trip under min_RTT. The retransmission before 2001:3001 is not lost by it.
    out(rack(10), 6, 0).run(
        "30 < . 1:1 ack 1 sack 1001:2001 3001:6001
         30 > . 1:1001 ack 1
         30 > . 2001:3001 ack 1
         31 < . 1:1 ack 1 sack 1001:6001
         31 resent 2
         41 < . 1:1 ack 6001
         41 resent 2",
    );
}

#[test]
fn timeout_marks_first_and_overdue_segments() {
    // 6.3: a segment sent 5 ms ago is not.
    out(rack(10), 1, 0).run(
        "30 < . 1:1 ack 1001
         40 write 1000
         40 > . 1001:2001 ack 1
         235 write 1000
         235 > . 2001:3001 ack 1
         240 > . 1001:2001 ack 1
         240 timeouts 1
         240 cwnd 2000
         250 < . 1:1 ack 3001
         250 resent 1",
    );
}

#[test]
fn margin_extends_reordering_and_probe_timers() {
    let margin = Params { timer_margin: Time::from_millis(8), ..both(10) };
    out(margin, 3, 0).run(
        "20 deadline 48
         30 < . 1:1 ack 1 sack 1001:2001
         30 deadline 40.5
         40.5 > . 1:1001 ack 1",
    );
}

#[test]
fn rack_timers_round_up_to_ticks() {
    // Two round trips of 10 ms are three ticks of 7 ms; the reordering window of 2.5 ms and the rest of the round trip, 0.5 ms, one.
    let ticks = Params { tick: Time::from_millis(7), ..both(10) };
    out(ticks, 3, 0).run(
        "20 deadline 41
         30 < . 1:1 ack 1 sack 1001:2001
         30 deadline 37
         37 > . 1:1001 ack 1",
    );
}

#[test]
fn probe_without_rack_counts_losses() {
    // RFC 6675, section 4: more than two segments' bytes beyond.
    out(Params { rack: false, ..both(10) }, 6, 0).run(
        "30 < . 1:1 ack 1 sack 1001:3001
         30 fast 0
         31 < . 1:1 ack 1 sack 1001:4001
         31 > . 1:1001 ack 1
         31 fast 1",
    );
}

#[test]
fn without_sack_losses_are_counted() {
    // RFC 8985, section 4: SACK is required. No probe at 40, and three duplicate ACKs mean loss (RFC 5681, section 3.2).
    out(Params { sack: false, ..both(10) }, 4, 0).run(
        "20 deadline 220
         50 < . 1:1 ack 1
         50 < . 1:1 ack 1
         50 fast 0
         50 < . 1:1 ack 1
         50 > . 1:1001 ack 1
         50 fast 1
         50 probes 0",
    );
}

#[test]
fn with_both_off_a_tail_waits_for_the_timeout() {
    out(Params { sack: true, ..window_of(10) }, 3, 0).run(
        "20 deadline 220
         220 > . 1:1001 ack 1
         220 timeouts 1
         220 probes 0",
    );
}

#[test]
fn linux_bounds_the_variance_and_not_the_timeout() {
    // RFC 6298, 2.4 bounds the timeout: 200 ms. Bounding the variance's term gives SRTT more.
    Script::client(plain()).run("10 rto 200");
    Script::client(Params { rto_floor: RtoFloor::Variance, ..plain() }).run("10 rto 210");
}

#[test]
fn quick_acks_serve_a_starting_sender() {
    // Linux's quick ACKs: the first segments of a connection, and again after repeated data or a pause.
    let params = Params { delayed_ack: 2, quick_acks: 2, ..plain() };
    Script::server(params).run(
        "20 < . 1:1001 ack 1
         20 > . 1:1 ack 1001
         21 < . 1001:2001 ack 1
         21 > . 1:1 ack 2001
         22 < . 2001:3001 ack 1
         23 < . 3001:4001 ack 1
         23 > . 1:1 ack 4001
         24 < . 3001:4001 ack 1
         24 > . 1:1 ack 4001
         25 < . 4001:5001 ack 1
         25 > . 1:1 ack 5001
         26 < . 5001:6001 ack 1
         26 > . 1:1 ack 6001
         27 < . 6001:7001 ack 1
         67 > . 1:1 ack 7001
         400 < . 7001:8001 ack 1
         400 > . 1:1 ack 8001",
    );
}

#[test]
fn rack_rtt_is_that_of_last_delivery() {
    // Three segments at 20, of which two are lost; the first's ACK is delayed, and arrives at 50 with the SACK of a fourth, sent at 38. By
    // the fourth's round trip of 12 ms and 2.5 ms of reordering (a quarter of the least round trip) they were lost at 34.5. By the
    // first's of 30 ms they are lost at 52.5, by a timer that releases one: SACKs come first, as in Linux (tcp_ack); the RFC has no order.
    Script::client(rack(10)).run(
        "20 write 3000
        20 > . 1:1001 ack 1
        20 > . 1001:2001 ack 1
        20 > . 2001:3001 ack 1
        38 write 1000
        38 > . 3001:4001 ack 1
        50 < . 1:1 ack 1001 sack 3001:4001
        52.5 > . 1001:2001 ack 1",
    );
}

#[test]
fn linux_takes_a_round_trip_of_zero_for_a_tick() {
    // tcp_update_rtt_min: a handshake of half a microsecond counts as 4 ms, so that the minimum is that of data, 60 us. The ACK of the probe
    // comes sooner, as if the first transmission had arrived (6.2, step 2), and marks nothing.
    let after = |connect: &str| {
        let ticks = Params { tick: Time::from_millis(4), ..both(10) };
        Script::new(ticks).run(&format!(
            "0 connect
             0 > S 0:0
             {connect} < S. 0:0 ack 1
             {connect} > . 1:1 ack 1
             20 write 4000
             20 > . 1:1001 ack 1
             20 > . 1001:2001 ack 1
             20 > . 2001:3001 ack 1
             20 > . 3001:4001 ack 1
             20.06 < . 1:1 ack 2001
             24.06 > . 3001:4001 ack 1
             24.07 < . 1:1 ack 2001 sack 3001:4001"
        ))
    };
    after("0.0005").run("24.07 resent 1");
    after("0.002").run("24.07 > . 2001:3001 ack 1");
}
