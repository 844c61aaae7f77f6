//! Linux's window growth, reductions and acknowledgements where they differ from the RFCs. The round trip is 10 ms, segments
//! carry 1,000 B.

use crate::common::{Script, window_of};
use fanin_tcp::Params;

fn counted(segments: u32) -> Params {
    Params { byte_counting: true, ..window_of(segments) }
}

/// Send `segments` of 1,000 B at 20.
fn sends(segments: u32) -> String {
    let lines = (0..segments).map(|i| format!("20 > . {}:{} ack 1\n", 1 + i * 1000, 1001 + i * 1000));
    format!("20 write {}\n{}", segments * 1000, lines.collect::<String>())
}

#[test]
fn slow_start_grows_by_acknowledged_bytes() {
    // RFC 3465 with unlimited L, replacing RFC 5681's one segment per ACK.
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
fn grows_linearly_despite_delayed_acks() {
    // A timeout with four segments outstanding leaves ssthresh at two, and a window of one. Of the four segments acknowledged together,
    // the first grows it to two in slow start, the others by MSS^2/cwnd each: 500, 400 and 344.
    Script::client(counted(4)).run(&sends(4)).run(
        "220 > . 1:1001 ack 1
         230 < . 1:1 ack 4001
         230 cwnd 3244",
    );
}

#[test]
fn cut_window_reduces_the_whole_window() {
    // Four segments of a window of ten are outstanding. Half of the window is five segments, half of the flight two.
    let lost = "30 < . 1:1 ack 1 sack 1001:2001
        31 < . 1:1 ack 1 sack 1001:3001
        32 < . 1:1 ack 1 sack 1001:4001
        32 > . 1:1001 ack 1";
    for (cut_window, ssthresh) in [(true, 5_000), (false, 2_000)] {
        let params = Params { sack: true, cut_window, ..window_of(10) };
        Script::client(params).run(&sends(4)).run(lost).run(&format!("32 ssthresh {ssthresh}"));
    }
}

fn packets(segments: u32) -> Params {
    Params { packet_window: true, sack: true, rack: true, cut_window: true, ..counted(segments) }
}

/// Writes of 100 B at 20, each sent at once.
fn small_writes(count: u32) -> String {
    let one = |i: u32| format!("20 write 100\n20 > . {}:{} ack 1\n", 1 + i * 100, 101 + i * 100);
    (0..count).map(one).collect()
}

#[test]
fn packet_window_counts_small_segments_whole() {
    // Three small segments fill a window of three; what is written meanwhile leaves as one segment, and their ACK grows the window
    // by three.
    let three = small_writes(3);
    Script::client(packets(3)).run(&three).run(
        "20 write 100
         20 write 100
         30 < . 1:1 ack 301
         30 cwnd 6000
         30 > . 301:501 ack 1",
    );
    // Counted in bytes, the window has room for a fourth, and grows by what was acknowledged.
    Script::client(Params { packet_window: false, ..packets(3) }).run(&three).run(
        "20 write 100
         20 > . 301:401 ack 1
         30 < . 1:1 ack 401
         30 cwnd 3400",
    );
}

#[test]
fn packet_window_reduces_in_whole_packets() {
    // tcp_cwnd_reduction: of a window of ten, ssthresh is five; one packet is sent per two delivered, rounded up.
    Script::client(packets(10)).run(&small_writes(10)).run(
        "21 write 5000
         30 < . 1:1 ack 1 sack 101:401
         30 ssthresh 5000
         30 > . 1:101 ack 1
         30 > . 1001:2001 ack 1
         31 < . 1:1 ack 1 sack 101:501
         32 < . 1:1 ack 1 sack 101:601
         32 > . 2001:3001 ack 1",
    );
}

#[test]
fn acks_in_order_data_when_read() {
    // __tcp_ack_snd_check: more than a full segment is acknowledged at once if the window moves, which it does when the application reads.
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
    // At the latest after the maximum ACK delay; out of order at once.
    Script::server(params).run(
        "20 reads no
         20 < . 1:1001 ack 1
         20 < . 1001:2001 ack 1
         60 > . 1:1 ack 2001
         70 < . 3001:4001 ack 1
         70 > . 1:1 ack 2001",
    );
    // Less than a full segment too, if it is acknowledged when read.
    Script::server(Params { pingpong: true, ..params }).run(
        "20 reads no
         20 < . 1:501 ack 1
         25 reads yes
         25 > . 1:1 ack 501",
    );
    // Otherwise a busy application delays nothing.
    Script::server(Params { delayed_ack: 2, ..window_of(10) }).run(
        "20 reads no
         20 < . 1:1001 ack 1
         20 < . 1001:2001 ack 1
         20 > . 1:1 ack 2001",
    );
}

#[test]
fn responses_carry_acknowledgements() {
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
    // An ACK that had to wait for its full delay ends the mode, as does repeated data; data sent much later is not a response.
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
    // Quick ACKs wait as well.
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
    let data = "12 < . 1:1001 ack 1\n12 < . 1001:2001 ack 1\n12 > . 1:1 ack 2001";
    Script::server(params).run(data).run(
        "20 < F. 2001:2001 ack 1
         25 close
         25 > F. 1:1 ack 2002",
    );
    // At the latest after the maximum ACK delay; at once before any data, and together with a pending full segment.
    Script::server(params).run(data).run(
        "20 < F. 2001:2001 ack 1
         60 > . 1:1 ack 2002",
    );
    Script::server(params).run(
        "20 < F. 1:1 ack 1
         20 > . 1:1 ack 2",
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
    // If hosts acknowledge every segment, a FIN is acknowledged at once, too.
    Script::server(Params { delayed_ack: 1, ..params }).run(
        "20 < F. 1:1 ack 1
         20 > . 1:1 ack 2",
    );
}

#[test]
fn compresses_acks_from_the_fourth_on() {
    // __tcp_ack_snd_check(): three duplicates are sent at once; then one a twentieth of the round trip of 10 ms after the first that
    // waits. A segment that fills a hole, or is out of order at another place, is acknowledged at once.
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
    // Duplicates are reported at once.
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
