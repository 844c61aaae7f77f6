//! RFC 3168: explicit congestion notification; RFC 8257: DCTCP's exact echo.

use crate::common::{Script, plain, window_of};
use fanin_tcp::{Echo, Ect, Params};

fn data() -> Params {
    Params { ect: Some(Ect::Data), ..window_of(8) }
}

/// Eight segments with ECT are outstanding, sent at 20; `more` bytes are unsent.
fn eight_out(params: Params, more: u32) -> Script {
    let mut script = format!("20 write {}\n", 8000 + more);
    for i in 0..8 {
        script.push_str(&format!("20 > . {}:{} ack 1 ect\n", 1 + i * 1000, 1001 + i * 1000));
    }
    Script::client(params).run(&script)
}

#[test]
fn the_syn_offers_ecn_and_the_syn_ack_accepts_it() {
    // Section 6.1.1: ECE and CWR on the SYN, ECE alone on the SYN-ACK; neither is ECN-capable itself.
    Script::new(data()).run(
        "0 connect
         0 > SEW 0:0
         10 < S.E 0:0 ack 1
         10 > . 1:1 ack 1
         20 write 100
         20 > . 1:101 ack 1 ect",
    );
    Script::new(data()).run(
        "0 < SEW 0:0
         0 > S.E 0:0 ack 1",
    );
}

#[test]
fn a_peer_that_does_not_accept_gets_no_ecn() {
    Script::new(data()).run(
        "0 connect
         0 > SEW 0:0
         10 < S. 0:0 ack 1
         10 > . 1:1 ack 1
         20 write 100
         20 > . 1:101 ack 1
         30 < .E 1:1 ack 101
         30 cwnd 8100",
    );
}

#[test]
fn declines_ecn_when_off() {
    Script::new(plain()).run(
        "0 < SEW 0:0
         0 > S. 0:0 ack 1",
    );
}

#[test]
fn new_data_is_ecn_capable_and_pure_acks_are_not() {
    // Section 6.1.4.
    Script::client(data()).run(
        "20 write 1000
         20 > . 1:1001 ack 1 ect
         30 < . 1:501 ack 1
         30 > . 1001:1001 ack 501",
    );
}

#[test]
fn with_ect_on_all_every_packet_is_capable() {
    // RFC 8257, section 3.1 mentions it; a setting.
    Script::client(Params { ect: Some(Ect::All), ..window_of(8) }).run(
        "20 write 1000
         20 > . 1:1001 ack 1 ect
         25 < . 1:501 ack 1
         25 > . 1001:1001 ack 501 ect
         220 > . 1:1001 ack 501 ect",
    );
}

#[test]
fn ect_agreed_excludes_the_first_syn() {
    // ns-2's DCTCP: the sender of the SYN does not know yet, the sender of the SYN-ACK does.
    Script::new(Params { ect: Some(Ect::Agreed), ..plain() }).run(
        "0 connect
         0 > SEW 0:0
         10 < S.E 0:0 ack 1
         10 > . 1:1 ack 1 ect
         20 write 1000
         20 > . 1:1001 ack 1 ect
         220 > . 1:1001 ack 1 ect",
    );
    Script::new(Params { ect: Some(Ect::Agreed), ..plain() }).run(
        "0 < SEW 0:0
         0 > S.E 0:0 ack 1 ect",
    );
}

#[test]
fn a_retransmission_is_not_ecn_capable() {
    // Section 6.1.5.
    Script::client(data()).run(
        "20 write 1000
         20 > . 1:1001 ack 1 ect
         220 > . 1:1001 ack 1",
    );
}

#[test]
fn echoes_mark_until_cwr() {
    // Section 6.1.3.
    Script::server(data()).run(
        "20 < . 1:1001 ack 1 ce
         20 > .E 1:1 ack 1001
         21 < . 1001:2001 ack 1 ect
         21 > .E 1:1 ack 2001
         22 < .W 2001:3001 ack 1 ect
         22 > . 1:1 ack 3001
         23 < . 3001:4001 ack 1 ect
         23 > . 1:1 ack 4001",
    );
}

#[test]
fn a_mark_on_the_segment_with_cwr_is_echoed_again() {
    Script::server(data()).run(
        "20 < . 1:1001 ack 1 ce
         20 > .E 1:1 ack 1001
         21 < .W 1001:2001 ack 1 ce
         21 > .E 1:1 ack 2001",
    );
}

#[test]
fn data_carries_the_echo_too() {
    Script::server(data()).run(
        "20 < . 1:1001 ack 1 ce
         20 > .E 1:1 ack 1001
         21 write 100
         21 > .E 1:101 ack 1001 ect",
    );
}

#[test]
fn echo_halves_the_window_once() {
    // Section 6.1.2. Eight outstanding: ssthresh = max(flight / 2, 2 SMSS); the ACK leaves 7,000: 3,500.
    eight_out(data(), 100_000).run(
        "30 < .E 1:1 ack 1001
         30 ssthresh 3500
         30 cwnd 3500
         31 < .E 1:1 ack 2001
         32 < .E 1:1 ack 3001
         32 cwnd 3500
         # Up to 8,001 it is the same window; its last ACK lets new data out, with CWR, and the next echo counts.
         33 < .E 1:1 ack 8001
         33 cwnd 3500
         33 > .W 8001:9001 ack 1 ect
         33 > . 9001:10001 ack 1 ect
         33 > . 10001:11001 ack 1 ect
         43 < .E 1:1 ack 9001
         43 ssthresh 2000",
    );
}

#[test]
fn the_window_does_not_grow_on_an_ack_with_an_echo() {
    eight_out(data(), 0).run(
        "30 < .E 1:1 ack 1001
         31 < . 1:1 ack 2001
         31 cwnd 3500",
    );
}

#[test]
fn echo_without_new_ack_reduces_nothing() {
    eight_out(data(), 0).run(
        "30 < .E 1:1 ack 1
         30 cwnd 8000",
    );
}

#[test]
fn cwr_is_set_on_new_data_only() {
    // Section 6.1.2: "the first new data packet sent after the window reduction".
    eight_out(data(), 100_000).run(
        "30 < .E 1:1 ack 1001
         230 > . 1001:2001 ack 1
         240 < . 1:1 ack 8001
         240 > .W 8001:9001 ack 1 ect
         240 > . 9001:10001 ack 1 ect",
    );
}

#[test]
fn fast_retransmit_sets_cwr() {
    // Section 6.1.2: the window is reduced "for any reason (because of a retransmit timeout, a Fast Retransmit, or in
    // response to an ECN Notification)".
    eight_out(data(), 100_000).run(
        "30 < . 1:1 ack 1
         30 < . 1:1 ack 1
         30 < . 1:1 ack 1
         30 > . 1:1001 ack 1
         40 < . 1:1 ack 8001
         40 > .W 8001:9001 ack 1 ect
         40 > . 9001:10001 ack 1 ect",
    );
}

#[test]
fn timeout_sets_cwr() {
    eight_out(data(), 100_000).run(
        "220 > . 1:1001 ack 1
         230 < . 1:1 ack 8001
         230 > .W 8001:9001 ack 1 ect
         230 > . 9001:10001 ack 1 ect",
    );
}

#[test]
fn loss_after_mark_reduces_no_further() {
    // Section 6.1.2: once a window, whether marked or lost.
    eight_out(data(), 0).run(
        "30 < .E 1:1 ack 1001
         30 ssthresh 3500
         31 < .E 1:1 ack 1001
         31 < .E 1:1 ack 1001
         31 < .E 1:1 ack 1001
         31 > . 1001:2001 ack 1
         31 ssthresh 3500",
    );
}

#[test]
fn with_sack_marks_reduce_gradually() {
    // Proportional rate reduction, as in deployed stacks. The ACK leaves 7: ssthresh 3.5, RecoverFS 7: one segment per two
    // arrivals. Allowed after 1, 2, 3, 4 arrivals: 0.5, 1, 1.5, 2.
    eight_out(Params { sack: true, ..data() }, 100_000).run(
        "30 < .E 1:1 ack 1001
         30 ssthresh 3500
         31 < .E 1:1 ack 2001
         31 > .W 8001:9001 ack 1 ect
         32 < .E 1:1 ack 3001
         33 < .E 1:1 ack 4001
         33 > . 9001:10001 ack 1 ect
         # An ACK above what was out at the mark ends the reduction at ssthresh: three segments, and one is out.
         40 < . 1:1 ack 9001
         40 cwnd 3785
         40 > . 10001:11001 ack 1 ect
         40 > . 11001:12001 ack 1 ect",
    );
}

fn exact(delayed_ack: u32) -> Params {
    Params { ect: Some(Ect::All), echo: Echo::Exact, delayed_ack, ..plain() }
}

#[test]
fn exact_echo_matches_the_marks() {
    // RFC 8257, section 3.2.
    Script::server(exact(1)).run(
        "20 < . 1:1001 ack 1 ce
         20 > .E 1:1 ack 1001 ect
         21 < . 1001:2001 ack 1 ect
         21 > . 1:1 ack 2001 ect
         22 < . 2001:3001 ack 1 ce
         22 > .E 1:1 ack 3001 ect",
    );
}

#[test]
fn mark_change_acks_pending_data_at_once() {
    // RFC 8257, figure 1: an ACK with the old state, up to the segment before the change. Then the new state delays.
    Script::server(exact(2)).run(
        "20 < . 1:1001 ack 1 ect
         21 < . 1001:2001 ack 1 ce
         21 > . 1:1 ack 1001 ect
         22 < . 2001:3001 ack 1 ce
         22 > .E 1:1 ack 3001 ect
         23 < . 3001:4001 ack 1 ce
         24 < . 4001:5001 ack 1 ect
         24 > .E 1:1 ack 4001 ect
         64 > . 1:1 ack 5001 ect",
    );
}

#[test]
fn unchanged_state_keeps_acks_delayed() {
    Script::server(exact(2)).run(
        "20 < . 1:1001 ack 1 ce
         21 < . 1001:2001 ack 1 ce
         21 > .E 1:1 ack 2001 ect
         22 < . 2001:3001 ack 1 ce
         23 < . 3001:4001 ack 1 ce
         23 > .E 1:1 ack 4001 ect",
    );
}

#[test]
fn ack_cwr_acknowledges_at_once() {
    let script = |ack_cwr| Script::server(Params { ack_cwr, ..exact(2) });
    script(true).run(
        "20 < .W 1:1001 ack 1 ect
         20 > . 1:1 ack 1001 ect
         21 < . 1001:2001 ack 1 ect
         61 > . 1:1 ack 2001 ect",
    );
    script(false).run(
        "20 < .W 1:1001 ack 1 ect
         60 > . 1:1 ack 1001 ect",
    );
}

#[test]
fn cwr_does_not_end_the_exact_echo() {
    Script::server(exact(1)).run(
        "20 < . 1:1001 ack 1 ce
         20 > .E 1:1 ack 1001 ect
         21 < .W 1001:2001 ack 1 ce
         21 > .E 1:1 ack 2001 ect",
    );
}
