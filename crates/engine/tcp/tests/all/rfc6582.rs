//! RFC 6582: NewReno's fast recovery, and the variant that counts a pipe.

use crate::common::{Script, window_of};
use fanin_tcp::{NewReno, Params};

/// Ten segments are outstanding at 20 and more data is unsent; after three duplicate ACKs the first was resent at 32.
fn in_recovery(params: Params) -> Script {
    let mut script = String::from("20 write 100000\n");
    for i in 0..10 {
        script.push_str(&format!("20 > . {}:{} ack 1\n", 1 + i * 1000, 1001 + i * 1000));
    }
    script.push_str("30 < . 1:1 ack 1\n31 < . 1:1 ack 1\n32 < . 1:1 ack 1\n32 > . 1:1001 ack 1");
    Script::client(params).run(&script)
}

#[test]
fn recovery_halves_flight_and_adds_three() {
    // Section 3.2, step 2: ssthresh = 10,000 / 2, cwnd = 5,000 + 3 * 1,000.
    in_recovery(window_of(10)).run(
        "32 ssthresh 5000
         32 cwnd 8000
         32 fast 1",
    );
}

#[test]
fn each_further_duplicate_inflates_the_window() {
    // Step 3 and 4: with the third further duplicate the window of 8,000 extends past the ten outstanding segments.
    in_recovery(window_of(10)).run(
        "33 < . 1:1 ack 1
         33 cwnd 9000
         34 < . 1:1 ack 1
         34 cwnd 10000
         35 < . 1:1 ack 1
         35 cwnd 11000
         35 > . 10001:11001 ack 1",
    );
}

#[test]
fn partial_ack_resends_and_deflates() {
    // Step 5, partial: cwnd = 8,000 - 3,000 acknowledged + 1,000, since at least one SMSS is acknowledged.
    in_recovery(window_of(10)).run(
        "42 < . 1:1 ack 3001
         42 > . 3001:4001 ack 1
         42 cwnd 6000
         42 fast 1
         42 resent 2",
    );
}

#[test]
fn partial_ack_sends_new_data() {
    // Five more duplicates inflate to 13,000 and release three new segments (up to 13,001). The partial ACK of one segment
    // takes 1,000 off and adds it back: 1,001 + 13,000 releases one more.
    in_recovery(window_of(10)).run(
        "33 < . 1:1 ack 1
         33 < . 1:1 ack 1
         33 < . 1:1 ack 1
         33 > . 10001:11001 ack 1
         33 < . 1:1 ack 1
         33 > . 11001:12001 ack 1
         33 < . 1:1 ack 1
         33 > . 12001:13001 ack 1
         33 cwnd 13000
         42 < . 1:1 ack 1001
         42 cwnd 13000
         42 > . 1001:2001 ack 1
         42 > . 13001:14001 ack 1",
    );
}

#[test]
fn only_the_first_partial_ack_restarts_the_timer() {
    // Step 5: "for the first partial ACK ... also reset the retransmit timer". The timeout is 200 ms throughout.
    in_recovery(window_of(10)).run(
        "32 deadline 220
         42 < . 1:1 ack 1001
         42 > . 1001:2001 ack 1
         42 deadline 242
         52 < . 1:1 ack 2001
         52 > . 2001:3001 ack 1
         52 deadline 242",
    );
}

#[test]
fn full_ack_ends_recovery() {
    // Step 5, full, choice 1: min(5,000, max(0, 1,000) + 1,000) = 2,000: nothing is outstanding after a full acknowledgement.
    in_recovery(window_of(10)).run(
        "42 < . 1:1 ack 10001
         42 cwnd 2000
         42 > . 10001:11001 ack 1
         42 > . 11001:12001 ack 1
         # Congestion avoidance does not start before the window reaches ssthresh again.
         52 < . 1:1 ack 11001
         52 cwnd 3000
         52 > . 12001:13001 ack 1
         52 > . 13001:14001 ack 1",
    );
}

#[test]
fn old_duplicates_start_no_recovery() {
    // Section 3.2, step 2: recover. After a timeout, duplicates of the old flight have no effect.
    in_recovery(window_of(10)).run(
        "220 > . 1:1001 ack 1
         220 cwnd 1000
         230 < . 1:1 ack 1001
         230 > . 1001:2001 ack 1
         230 > . 2001:3001 ack 1
         231 < . 1:1 ack 1001
         231 < . 1:1 ack 1001
         231 < . 1:1 ack 1001
         231 < . 1:1 ack 1001
         231 fast 1",
    );
}

#[test]
fn a_timeout_ends_recovery() {
    // Step 6, and RFC 5681: ssthresh is half of the flight of ten segments; the window is one.
    in_recovery(window_of(10)).run(
        "220 > . 1:1001 ack 1
         220 ssthresh 5000
         220 cwnd 1000
         220 timeouts 1",
    );
}

fn pipe() -> Params {
    Params { newreno: NewReno::Pipe, ..window_of(10) }
}

#[test]
fn pipe_variant_does_not_inflate() {
    // ssthresh = (10,000 - 1,000) / 2, and the window equals it.
    in_recovery(pipe()).run(
        "32 ssthresh 4500
         32 cwnd 4500",
    );
}

#[test]
fn pipe_variant_counts_duplicates_out() {
    // Ten outstanding, one removed at entry: 9,000. Each duplicate takes 1,000: after six, 3,000, and a fourth segment fits in 4,500.
    in_recovery(pipe()).run(
        "33 < . 1:1 ack 1
         33 < . 1:1 ack 1
         33 < . 1:1 ack 1
         33 < . 1:1 ack 1
         33 < . 1:1 ack 1
         33 cwnd 4500
         34 < . 1:1 ack 1
         34 > . 10001:11001 ack 1
         34 cwnd 4500",
    );
}

#[test]
fn pipe_variant_full_ack_keeps_ssthresh() {
    // Choice 2 of step 5, then congestion avoidance's 1,000 * 1,000 / 4,500 = 222 bytes.
    in_recovery(pipe()).run(
        "42 < . 1:1 ack 10001
         42 cwnd 4722
         42 > . 10001:11001 ack 1
         42 > . 11001:12001 ack 1
         42 > . 12001:13001 ack 1
         42 > . 13001:14001 ack 1",
    );
}

#[test]
fn pipe_variant_never_underflows() {
    // Ten outstanding, no unsent data, and twelve duplicates (some segments arrived twice): at most nine have left. Then partial
    // ACKs of one segment each leave nine, eight, seven: fewer than the nine.
    let mut script = String::from("20 write 10000\n");
    for i in 0..10 {
        script.push_str(&format!("20 > . {}:{} ack 1\n", 1 + i * 1000, 1001 + i * 1000));
    }
    script.push_str("30 < . 1:1 ack 1\n31 < . 1:1 ack 1\n32 < . 1:1 ack 1\n32 > . 1:1001 ack 1\n");
    script.push_str(&"33 < . 1:1 ack 1\n".repeat(9));
    script.push_str(
        "42 < . 1:1 ack 1001
         42 > . 1001:2001 ack 1
         42 < . 1:1 ack 2001
         42 > . 2001:3001 ack 1
         52 < . 1:1 ack 3001
         52 > . 3001:4001 ack 1",
    );
    Script::client(pipe()).run(&script);
}

#[test]
fn recovery_respects_the_peers_window() {
    // RFC 9293, section 3.8.6: the pipe shrinks, the peer's window of ten segments does not move.
    let mut script = String::from("20 < . 1:1 ack 1 win 10000\n20 write 100000\n");
    for i in 0..10 {
        script.push_str(&format!("20 > . {}:{} ack 1\n", 1 + i * 1000, 1001 + i * 1000));
    }
    script.push_str("30 < . 1:1 ack 1 win 10000\n31 < . 1:1 ack 1 win 10000\n");
    script.push_str("32 < . 1:1 ack 1 win 10000\n32 > . 1:1001 ack 1\n");
    script.push_str(&"33 < . 1:1 ack 1 win 10000\n".repeat(7));
    Script::client(pipe()).run(&script);
}
