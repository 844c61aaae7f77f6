//! RFC 7323: timestamps. And the sizes of headers on the wire.

use crate::common::{Script, plain, window_of};
use fanin_tcp::Params;
use fanin_units::Time;

fn stamped() -> Params {
    Params { timestamps: true, rto_min: Time::from_millis(1), ..window_of(4) }
}

#[test]
fn segments_carry_their_timestamp_and_echo_the_peers() {
    // Section 3.2.
    Script::new(stamped()).run(
        "5 connect
         5 > S 0:0 ts 5
         15 < S. 0:0 ack 1 ts 1000 ecr 5
         15 > . 1:1 ack 1 ts 15 ecr 1000
         20 write 500
         20 > . 1:501 ack 1 ts 20 ecr 1000",
    );
}

#[test]
fn a_passive_opener_echoes_the_syns_time() {
    Script::new(stamped()).run(
        "5 < S 0:0 ts 1000
         5 > S. 0:0 ack 1 ts 5 ecr 1000",
    );
}

#[test]
fn timestamps_give_samples_of_retransmissions() {
    // Section 4 (RTTM): no ambiguity, so Karn does not apply. The first transmission took 45 ms: from SRTT = 10,
    // RTTVAR = 5, R' = 45: SRTT = 70/8 + 45/8 = 14.375.
    Script::client(stamped()).run(
        "20 write 1000
         20 > . 1:1001 ack 1 ts 20
         50 > . 1:1001 ack 1 ts 50
         65 < . 1:1 ack 1001 ecr 20
         65 srtt 14.375",
    );
}

#[test]
fn data_in_order_is_echoed_at_once() {
    Script::server(Params { timestamps: true, ..plain() }).run(
        "20 < . 1:1001 ack 1 ts 500
         20 > . 1:1 ack 1001 ecr 500
         21 < . 1001:2001 ack 1 ts 501
         21 > . 1:1 ack 2001 ecr 501",
    );
}

#[test]
fn delayed_acks_echo_the_earliest_segment() {
    // Section 4.2, (A), and 4.3, rule 2: SEG.SEQ <= Last.ACK.sent, so that the sample includes the delay.
    Script::server(Params { timestamps: true, delayed_ack: 2, ..plain() }).run(
        "20 < . 1:1001 ack 1 ts 500
         25 < . 1001:2001 ack 1 ts 505
         25 > . 1:1 ack 2001 ecr 500
         30 < . 2001:3001 ack 1 ts 510
         35 < . 3001:4001 ack 1 ts 515
         35 > . 1:1 ack 4001 ecr 510",
    );
}

#[test]
fn a_segment_beyond_a_hole_is_not_echoed() {
    // Section 4.2, (B): the last segment that advanced the left edge.
    Script::server(Params { timestamps: true, ..plain() }).run(
        "20 < . 1:1001 ack 1 ts 500
         20 > . 1:1 ack 1001 ecr 500
         21 < . 2001:3001 ack 1 ts 501
         21 > . 1:1 ack 1001 ecr 500",
    );
}

#[test]
fn a_segment_that_fills_a_hole_is_echoed() {
    // Section 4.2, (C).
    Script::server(Params { timestamps: true, ..plain() }).run(
        "20 < . 1001:2001 ack 1 ts 500
         20 > . 1:1 ack 1
         25 < . 1:1001 ack 1 ts 505
         25 > . 1:1 ack 2001 ecr 505",
    );
}

#[test]
fn echoes_pure_acks_time_at_left_edge() {
    // Section 4.3, rule 2: SEG.SEQ <= Last.ACK.sent, of every segment.
    Script::client(stamped()).run(
        "20 write 1000
         20 > . 1:1001 ack 1 ts 20
         30 < . 1:1 ack 1001 ts 700 ecr 20
         40 write 1000
         40 > . 1001:2001 ack 1 ts 40 ecr 700
         50 < . 101:101 ack 2001 ts 710 ecr 40
         60 write 1000
         60 > . 2001:3001 ack 1 ts 60 ecr 700",
    );
}

#[test]
fn an_older_time_is_never_echoed() {
    // Section 4.3, rule 2: SEG.TSval >= TS.Recent. The repeated segment was overtaken in the network.
    Script::server(Params { timestamps: true, ..plain() }).run(
        "20 < . 1:1001 ack 1 ts 500
         20 > . 1:1 ack 1001 ecr 500
         25 < . 1:1001 ack 1 ts 400
         25 > . 1:1 ack 1001 ecr 500",
    );
}

#[test]
fn a_bare_header_is_forty_bytes() {
    Script::client(plain()).run(
        "20 write 100
         20 > . 1:101 ack 1 hdr 40
         20 < . 1:101 ack 1
         20 > . 101:101 ack 101 hdr 40",
    );
}

#[test]
fn timestamps_take_twelve_bytes() {
    // Ten, padded with two.
    Script::client(stamped()).run(
        "20 write 100
         20 > . 1:101 ack 1 hdr 52
         20 < . 1:101 ack 1
         20 > . 101:101 ack 101 hdr 52",
    );
}

#[test]
fn sack_blocks_are_padded_to_whole_words() {
    // One block: 2 + 8, padded to 12. Two: 2 + 16, padded to 20. Beside timestamps: 12 + 10, padded to 24.
    Script::server(Params { sack: true, ..plain() }).run(
        "20 < . 1001:2001 ack 1
         20 > . 1:1 ack 1 hdr 52 sack 1001:2001
         20 < . 3001:4001 ack 1
         20 > . 1:1 ack 1 hdr 60 sack 3001:4001 1001:2001",
    );
    Script::server(Params { sack: true, timestamps: true, ..plain() }).run(
        "20 < . 1001:2001 ack 1
         20 > . 1:1 ack 1 hdr 64 sack 1001:2001",
    );
}

#[test]
fn syn_has_its_exclusive_options() {
    // MSS 4 and window scale 3, padded: 8. SACK permitted 2, padded to 4 where no timestamps share its word.
    let sizes = [(false, false, 48), (true, false, 52), (false, true, 60), (true, true, 60)];
    for (sack, timestamps, header) in sizes {
        let params = Params { sack, timestamps, ..plain() };
        Script::new(params).run(&format!(
            "0 connect
             0 > S 0:0 hdr {header}"
        ));
        Script::new(params).run(&format!(
            "0 < S 0:0
             0 > S. 0:0 ack 1 hdr {header}"
        ));
    }
}
