//! M21's window option: written by switches, echoed by the receiver, applied by the sender (section III-C).

use crate::common::{MSS, Script, newreno, window_of};
use fanin_laws::sender::Law;
use fanin_laws::sender::max_cwnd::MaxCwnd;
use fanin_tcp::Params;

fn m21() -> Params {
    Params { mcw_option: true, ..window_of(8) }
}

/// NewReno with M21's cap; the segments carry the option's eight bytes.
fn capped() -> Law {
    Law { cap: Some(MaxCwnd::new(8)), ..newreno() }
}

#[test]
fn the_option_takes_eight_bytes_of_every_segment() {
    // RFC 6994's form: kind, length, two bytes of identifier, four of value. The SYN has 8 more of its own.
    Script::new(m21()).run(
        "0 connect
         0 > S 0:0 hdr 56 offer 4294967295 echo 4294967295
         10 < S. 0:0 ack 1
         10 > . 1:1 ack 1 hdr 48
         20 write 100
         20 > . 1:101 ack 1 hdr 48",
    );
}

#[test]
fn sender_writes_the_largest_window() {
    Script::client(m21()).run(
        "20 write 100
         20 > . 1:101 ack 1 offer 4294967295",
    );
}

#[test]
fn the_receiver_echoes_the_latest_window_that_arrived() {
    // Item 2: "the MCW value in the latest received packet is used in the ACK".
    Script::server(Params { delayed_ack: 2, ..m21() }).run(
        "20 < . 1:1001 ack 1 offer 9000
         21 < . 1001:2001 ack 1 offer 7000
         21 > . 1:1 ack 2001 echo 7000 offer 4294967295
         22 < . 2001:3001 ack 1 offer 8000
         23 < . 3001:4001 ack 1 offer 8500
         23 > . 1:1 ack 4001 echo 8500",
    );
}

#[test]
fn a_switch_that_writes_nothing_leaves_the_echo() {
    Script::server(m21()).run(
        "20 < . 1:1001 ack 1 offer 9000
         20 > . 1:1 ack 1001 echo 9000
         21 < . 1001:2001 ack 1
         21 > . 1:1 ack 2001 echo 9000",
    );
}

#[test]
fn handshake_window_limits_first_data() {
    // SYN and SYN-ACK carry it: 3,008 less the option's own 8 bytes holds three segments.
    Script::with_law(m21(), capped()).run(
        "0 connect
         0 > S 0:0
         10 < S. 0:0 ack 1 echo 3008
         10 > . 1:1 ack 1
         20 write 10000
         20 > . 1:1001 ack 1
         20 > . 1001:2001 ack 1
         20 > . 2001:3001 ack 1",
    );
}

#[test]
fn a_syns_offer_is_echoed_on_the_syn_ack() {
    Script::new(m21()).run(
        "0 < S 0:0 offer 5000
         0 > S. 0:0 ack 1 echo 5000",
    );
}

#[test]
fn sender_follows_the_assigned_window() {
    Script::client_with_law(m21(), capped()).run(
        "20 write 20000
         20 > . 1:1001 ack 1
         20 > . 1001:2001 ack 1
         20 > . 2001:3001 ack 1
         20 > . 3001:4001 ack 1
         20 > . 4001:5001 ack 1
         20 > . 5001:6001 ack 1
         20 > . 6001:7001 ack 1
         20 > . 7001:8001 ack 1
         30 < . 1:1 ack 6001 echo 2008
         30 cwnd 2000
         31 < . 1:1 ack 7001 echo 2008
         31 > . 8001:9001 ack 1
         # 4,508 holds four whole segments; the window grows by a segment an ACK.
         32 < . 1:1 ack 8001 echo 4508
         32 cwnd 3000
         32 > . 9001:10001 ack 1
         32 > . 10001:11001 ack 1",
    );
}

#[test]
fn a_window_under_one_segment_sends_short_segments() {
    // 308 - 8 = 300 bytes at a time.
    Script::with_law(m21(), capped()).run(
        "0 connect
         0 > S 0:0
         10 < S. 0:0 ack 1 echo 308
         10 > . 1:1 ack 1
         20 write 1000
         20 > . 1:301 ack 1
         30 < . 1:1 ack 301 echo 308
         30 > . 301:601 ack 1
         40 < . 1:1 ack 601 echo 1008
         40 > . 601:1001 ack 1",
    );
}

#[test]
fn zero_window_still_sends_sixty_four_bytes() {
    // Departure from the paper: an idle sender would never learn a new window.
    Script::with_law(m21(), capped()).run(
        "0 connect
         0 > S 0:0
         10 < S. 0:0 ack 1 echo 0
         10 > . 1:1 ack 1
         20 write 1000
         20 > . 1:65 ack 1
         30 < . 1:1 ack 65 echo 0
         30 > . 65:129 ack 1",
    );
}

#[test]
fn a_sender_without_the_law_ignores_the_echo() {
    Script::client(window_of(2)).run(&format!(
        "20 write 2000
         20 > . 1:1001 ack 1
         20 > . 1001:2001 ack 1
         30 < . 1:1 ack 1001 echo 100
         30 cwnd {}",
        3 * MSS
    ));
}
