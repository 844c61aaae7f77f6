//! RFC 3168: explicit congestion notification; RFC 8257: DCTCP's exact echo.

use crate::common::{Script, plain, window_of};
use fanin_tcp::{Echo, Ect, Params};

fn data() -> Params {
    Params { ect: Some(Ect::Data), ..window_of(8) }
}

/// Eight segments with ECT are out, sent at 20; `more` bytes wait.
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
fn who_does_not_speak_ecn_does_not_accept_it() {
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
    // RFC 8257, section 3.1 notes it; a setting.
    Script::client(Params { ect: Some(Ect::All), ..window_of(8) }).run(
        "20 write 1000
         20 > . 1:1001 ack 1 ect
         25 < . 1:501 ack 1
         25 > . 1001:1001 ack 501 ect
         220 > . 1:1001 ack 501 ect",
    );
}

#[test]
fn with_ect_on_agreed_every_packet_but_the_first_syn_is_capable() {
    // ns-2's DCTCP: who has sent the SYN does not know yet, who answers it does.
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
fn a_mark_is_echoed_until_the_sender_says_cwr() {
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
fn an_echo_halves_the_window_at_once_and_only_once_a_window() {
    // Section 6.1.2. Eight out: ssthresh = max(flight / 2, 2 SMSS): the ACK leaves 7,000 out: 3,500.
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
fn a_pure_ack_with_an_echo_and_no_news_cuts_nothing() {
    eight_out(data(), 0).run(
        "30 < .E 1:1 ack 1
         30 cwnd 8000",
    );
}

#[test]
fn cwr_stands_on_the_first_new_data_and_not_on_a_retransmission() {
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
fn after_a_fast_retransmit_the_sender_says_cwr() {
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
fn after_a_timeout_the_sender_says_cwr() {
    eight_out(data(), 100_000).run(
        "220 > . 1:1001 ack 1
         230 < . 1:1 ack 8001
         230 > .W 8001:9001 ack 1 ect
         230 > . 9001:10001 ack 1 ect",
    );
}

#[test]
fn a_loss_in_the_window_of_a_mark_cuts_no_further() {
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
fn with_sack_a_mark_brings_the_window_down_over_a_round_trip() {
    // Proportional rate reduction, as deployed stacks do. The ACK leaves 7 out: ssthresh 3.5, RecoverFS 7: one segment for
    // two that arrive. Allowed after 1, 2, 3, 4 arrivals: 0.5, 1, 1.5, 2.
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
fn the_exact_echo_marks_just_what_was_marked() {
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
fn a_change_of_state_acknowledges_at_once_what_waits() {
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
fn without_a_change_of_state_acks_are_delayed_as_ever() {
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
fn a_segment_that_says_cwr_is_acknowledged_at_once_where_that_is_asked_for() {
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
