//! How Linux grows and cuts a window, and when it acknowledges, where the RFCs do otherwise. The round trip is 10 ms, segments carry
//! 1,000 B.

use crate::common::{Script, window_of};
use fanin_tcp::Params;

fn counted(segments: u32) -> Params {
    Params { byte_counting: true, ..window_of(segments) }
}

/// So many segments of 1,000 B at 20.
fn sends(segments: u32) -> String {
    let lines = (0..segments).map(|i| format!("20 > . {}:{} ack 1\n", 1 + i * 1000, 1001 + i * 1000));
    format!("20 write {}\n{}", segments * 1000, lines.collect::<String>())
}

#[test]
fn in_slow_start_a_window_grows_by_all_that_an_ack_is_of() {
    // RFC 3465 with L without bound, in place of RFC 5681's one segment an ACK.
    Script::client(counted(4)).run(&sends(4)).run(
        "30 < . 1:1 ack 2001
         30 cwnd 6000
         30 < . 1:1 ack 4001
         30 cwnd 8000",
    );
    Script::client(window_of(4)).run(&sends(4)).run(
        "30 < . 1:1 ack 2001
         30 cwnd 5000",
    );
}

#[test]
fn above_ssthresh_a_window_grows_by_a_segment_a_round_trip_whatever_acks_are_delayed() {
    // A timeout with four segments out leaves ssthresh at two, and a window of one. Of the four that are acknowledged at once the first
    // takes it to two in slow start, the others by MSS^2/cwnd each: 500, 400 and 344.
    Script::client(counted(4)).run(&sends(4)).run(
        "220 > . 1:1001 ack 1
         230 < . 1:1 ack 4001
         230 cwnd 3244",
    );
}

#[test]
fn a_loss_cuts_the_window_as_it_stood_where_the_setting_says_so() {
    // Of a window of ten segments four are out. Half of the one is five segments, of the other two.
    let lost = "30 < . 1:1 ack 1 sack 1001:2001
        31 < . 1:1 ack 1 sack 1001:3001
        32 < . 1:1 ack 1 sack 1001:4001
        32 > . 1:1001 ack 1";
    for (cut_window, ssthresh) in [(true, 5_000), (false, 2_000)] {
        let params = Params { sack: true, cut_window, ..window_of(10) };
        Script::client(params).run(&sends(4)).run(lost).run(&format!("32 ssthresh {ssthresh}"));
    }
}

#[test]
fn what_came_in_order_is_acknowledged_as_the_application_reads_it() {
    // __tcp_ack_snd_check: more than a full segment is acknowledged at once where the window moves, which it does as the application reads.
    let params = Params { delayed_ack: 2, acks_wait_for_reader: true, ..window_of(10) };
    Script::server(params).run(
        "20 reads no
         20 < . 1:1001 ack 1
         20 < . 1001:2001 ack 1
         20 < . 2001:3001 ack 1
         25 reads yes
         25 > . 1:1 ack 3001
         26 < . 3001:4001 ack 1
         26 < . 4001:5001 ack 1
         26 > . 1:1 ack 5001",
    );
    // At the latest after the longest wait of an ACK; out of order at once.
    Script::server(params).run(
        "20 reads no
         20 < . 1:1001 ack 1
         20 < . 1001:2001 ack 1
         60 > . 1:1 ack 2001
         70 < . 3001:4001 ack 1
         70 > . 1:1 ack 2001",
    );
    // What is shorter than a full segment, too, where it is acknowledged as it is read.
    Script::server(Params { pingpong: true, ..params }).run(
        "20 reads no
         20 < . 1:501 ack 1
         25 reads yes
         25 > . 1:1 ack 501",
    );
    // Elsewhere an application that is busy holds nothing up.
    Script::server(Params { delayed_ack: 2, ..window_of(10) }).run(
        "20 reads no
         20 < . 1:1001 ack 1
         20 < . 1001:2001 ack 1
         20 > . 1:1 ack 2001",
    );
}

#[test]
fn an_end_that_answers_acknowledges_with_its_answers() {
    // Linux 6.1: tcp_event_data_sent() enters pingpong mode; tcp_cleanup_rbuf() acknowledges a short segment at once outside it.
    let params = Params { delayed_ack: 2, pingpong: true, ..window_of(10) };
    Script::server(params).run(
        "20 < . 1:501 ack 1
         20 > . 1:1 ack 501
         21 < . 501:1501 ack 1
         25 write 1000
         25 > . 1:1001 ack 1501
         35 < . 1501:2001 ack 1001
         75 > . 1001:1001 ack 2001",
    );
    // An ACK that had to wait for its whole time ends it, as does data that comes again; what is sent long after is no answer.
    Script::server(params).run(
        "20 < . 1:1001 ack 1
         25 write 1000
         25 > . 1:1001 ack 1001
         35 < . 1001:2001 ack 1001
         75 > . 1001:1001 ack 2001
         80 < . 2001:2501 ack 1001
         80 > . 1001:1001 ack 2501
         130 write 1000
         130 > . 1001:2001 ack 2501
         140 < . 2501:3001 ack 2001
         140 > . 2001:2001 ack 3001",
    );
    Script::server(params).run(
        "20 < . 1:1001 ack 1
         25 write 1000
         25 > . 1:1001 ack 1001
         35 < . 1:1001 ack 1001
         35 > . 1001:1001 ack 1001
         36 < . 1001:1501 ack 1001
         36 > . 1001:1001 ack 1501",
    );
    // Its quick ACKs wait as well.
    Script::server(Params { quick_acks: 3, ..params }).run(
        "20 < . 1:1001 ack 1
         20 > . 1:1 ack 1001
         21 write 1000
         21 > . 1:1001 ack 1001
         31 < . 1001:2001 ack 1001
         32 < . 2001:3001 ack 1001
         32 > . 1001:1001 ack 3001",
    );
}

#[test]
fn the_ack_of_a_fin_waits_for_this_ends_own_fin() {
    // Linux 6.12: tcp_fin() enters pingpong mode in CLOSE_WAIT; in FIN_WAIT_1 and 2 it acknowledges at once.
    let params = Params { delayed_ack: 2, pingpong: true, ..window_of(10) };
    Script::server(params).run(
        "20 < F. 1:1 ack 1
         25 close
         25 > F. 1:1 ack 2",
    );
    // At the latest after the longest wait of an ACK; with a full segment that waits, at once.
    Script::server(params).run(
        "20 < F. 1:1 ack 1
         60 > . 1:1 ack 2",
    );
    Script::server(params).run(
        "20 < . 1:1001 ack 1
         21 < F. 1001:1001 ack 1
         21 > . 1:1 ack 1002",
    );
    Script::server(params).run(
        "20 close
         20 > F. 1:1 ack 1
         30 < F. 1:1 ack 2
         30 > . 2:2 ack 2",
    );
    // Where hosts acknowledge every segment, a FIN is acknowledged at once, too.
    Script::server(Params { delayed_ack: 1, ..params }).run(
        "20 < F. 1:1 ack 1
         20 > . 1:1 ack 2",
    );
}

#[test]
fn from_the_fourth_on_acks_out_of_order_wait_for_more() {
    // __tcp_ack_snd_check(): three duplicates leave at once; then one leaves a twentieth of the round trip of 10 ms after the first that
    // waits. What fills a hole is acknowledged at once, and so is what comes out of order in another place.
    let params = Params { sack: true, ack_compression: true, ..window_of(10) };
    Script::server(params).run(
        "20 < . 1001:2001 ack 1
         20 > . 1:1 ack 1 sack 1001:2001
         20 < . 2001:3001 ack 1
         20 > . 1:1 ack 1 sack 1001:3001
         20 < . 3001:4001 ack 1
         20 > . 1:1 ack 1 sack 1001:4001
         20 < . 4001:5001 ack 1
         20.2 < . 5001:6001 ack 1
         20.5 > . 1:1 ack 1 sack 1001:6001
         21 < . 6001:7001 ack 1
         21.1 < . 1:1001 ack 1
         21.1 > . 1:1 ack 7001
         22 < . 8001:9001 ack 1
         22 > . 1:1 ack 7001 sack 8001:9001",
    );
    // What came twice is told of at once.
    Script::server(Params { undo: true, rack: true, ..params }).run(
        "20 < . 1001:5001 ack 1
         20 > . 1:1 ack 1 sack 1001:5001
         20 < . 1001:2001 ack 1
         20 > . 1:1 ack 1 sack 1001:2001 1001:5001
         20 < . 1001:2001 ack 1
         20 > . 1:1 ack 1 sack 1001:2001 1001:5001
         20 < . 1001:2001 ack 1
         20 > . 1:1 ack 1 sack 1001:2001 1001:5001",
    );
}
