//! RFC 2018 and RFC 6675: selective acknowledgements, and recovery by them.

use crate::common::{Script, plain, window_of};
use fanin_tcp::Params;

fn receiver() -> Script {
    Script::server(Params { sack: true, ..plain() })
}

#[test]
fn first_block_contains_the_segment() {
    // RFC 2018, section 4; the others follow by recency.
    receiver().run(
        "20 < . 1001:2001 ack 1
         20 > . 1:1 ack 1 sack 1001:2001
         21 < . 5001:6001 ack 1
         21 > . 1:1 ack 1 sack 5001:6001 1001:2001
         22 < . 3001:4001 ack 1
         22 > . 1:1 ack 1 sack 3001:4001 5001:6001 1001:2001
         23 < . 2001:3001 ack 1
         23 > . 1:1 ack 1 sack 1001:4001 5001:6001",
    );
}

#[test]
fn timestamps_leave_space_for_three_blocks() {
    // RFC 2018, section 3: 2 + 8 n bytes of 40. Four blocks: 34, padded to 36; three beside the 12 of timestamps: 26 + 12,
    // padded to 40.
    let five = "20 < . 1001:2001 ack 1
         20 > . 1:1 ack 1 sack 1001:2001
         20 < . 3001:4001 ack 1
         20 > . 1:1 ack 1 sack 3001:4001 1001:2001
         20 < . 5001:6001 ack 1
         20 > . 1:1 ack 1 sack 5001:6001 3001:4001 1001:2001
         20 < . 7001:8001 ack 1";
    receiver().run(five).run(
        "20 > . 1:1 ack 1 hdr 76 sack 7001:8001 5001:6001 3001:4001 1001:2001
         20 < . 9001:10001 ack 1
         20 > . 1:1 ack 1 hdr 76 sack 9001:10001 7001:8001 5001:6001 3001:4001",
    );
    Script::server(Params { sack: true, timestamps: true, ..plain() })
        .run(five)
        .run("20 > . 1:1 ack 1 hdr 80 sack 7001:8001 5001:6001 3001:4001");
}

#[test]
fn remaining_blocks_keep_their_order() {
    // Filling the hole at 1 delivers 1001:2001, which was reported last; 7001 was reported before 5001 and 3001.
    receiver().run(
        "20 < . 3001:4001 ack 1
         20 > . 1:1 ack 1 sack 3001:4001
         20 < . 5001:6001 ack 1
         20 > . 1:1 ack 1 sack 5001:6001 3001:4001
         20 < . 7001:8001 ack 1
         20 > . 1:1 ack 1 sack 7001:8001 5001:6001 3001:4001
         20 < . 1001:2001 ack 1
         20 > . 1:1 ack 1 sack 1001:2001 7001:8001 5001:6001 3001:4001
         21 < . 1:1001 ack 1
         21 > . 1:1 ack 2001 sack 7001:8001 5001:6001 3001:4001",
    );
}

#[test]
fn repeated_segment_moves_its_block_first() {
    // RFC 2018, section 4: the first block is the one with "the segment which triggered this ACK".
    receiver().run(
        "20 < . 1001:2001 ack 1
         20 > . 1:1 ack 1 sack 1001:2001
         20 < . 3001:4001 ack 1
         20 > . 1:1 ack 1 sack 3001:4001 1001:2001
         21 < . 1001:2001 ack 1
         21 > . 1:1 ack 1 sack 1001:2001 3001:4001
         21 segments 2",
    );
}

#[test]
fn without_sack_no_blocks_are_sent() {
    Script::server(plain()).run(
        "20 < . 1001:2001 ack 1
         20 > . 1:1 ack 1 hdr 40",
    );
}

/// Ten segments are outstanding, sent at 20, and `more` bytes are unsent.
fn ten_out(more: u32) -> Script {
    ten_out_with(Params { sack: true, ..window_of(10) }, more)
}

fn ten_out_with(params: Params, more: u32) -> Script {
    let mut script = format!("20 write {}\n", 10_000 + more);
    for i in 0..10 {
        script.push_str(&format!("20 > . {}:{} ack 1\n", 1 + i * 1000, 1001 + i * 1000));
    }
    Script::client(params).run(&script)
}

#[test]
fn three_acks_with_news_start_recovery() {
    // RFC 6675, section 5: DupAcks reaches DupThresh.
    ten_out(0).run(
        "30 < . 1:1 ack 1 sack 1001:2001
         31 < . 1:1 ack 1 sack 1001:3001
         31 fast 0
         32 < . 1:1 ack 1 sack 1001:4001
         32 > . 1:1001 ack 1
         32 fast 1
         32 ssthresh 5000",
    );
}

#[test]
fn ack_without_new_sack_is_no_duplicate() {
    // RFC 6675, section 2.
    ten_out(0).run(
        "30 < . 1:1 ack 1 sack 1001:2001
         31 < . 1:1 ack 1 sack 1001:2001
         32 < . 1:1 ack 1 sack 1001:2001
         33 < . 1:1 ack 1
         33 fast 0",
    );
}

#[test]
fn sacked_bytes_start_recovery_early() {
    // RFC 6675, section 4, IsLost(): more than (DupThresh - 1) * SMSS bytes above are SACKed (here 3,000, reported by one ACK:
    // the two before were lost). Section 5, step 2.
    ten_out(0).run(
        "30 < . 1:1 ack 1 sack 1001:4001
         30 > . 1:1001 ack 1
         30 fast 1",
    );
}

#[test]
fn three_runs_start_recovery_early() {
    // IsLost(): DupThresh discontiguous sequences above, reported by the second ACK. Segments 3, 5 and 7 are SACKed. Segments 1
    // and 2 are lost (three runs are above); two runs are above 4. Pipe = 10 - 3 - 2 + 1 resent = 8, over ssthresh 5: the quota is
    // 3 * 5 / 10 = 1.5 segments less the one sent.
    ten_out(0).run(
        "30 < . 1:1 ack 1 sack 2001:3001
         31 < . 1:1 ack 1 sack 6001:7001 4001:5001 2001:3001
         31 > . 1:1001 ack 1
         31 fast 1",
    );
}

#[test]
fn next_seg_sends_losses_before_new_data() {
    // RFC 6675, section 4, NextSeg() rules 1 and 2. Lost: 1 and 3.
    ten_out(100_000).run(
        "30 < . 1:1 ack 1 sack 1001:2001
         31 < . 1:1 ack 1 sack 3001:4001 1001:2001
         # Over 2,000 bytes lie above 1, not above 3. Pipe = 10 - 3 SACKed - 1 lost + 1 resent = 7; the quota's half a
         # segment went with the first.
         32 < . 1:1 ack 1 sack 3001:5001 1001:2001
         32 > . 1:1001 ack 1
         # 3,000 bytes above 3: lost. Pipe = 10 - 4 - 2 + 1 = 5 = ssthresh: nothing may go.
         33 < . 1:1 ack 1 sack 3001:6001 1001:2001
         # Pipe = 4: one may go, rule 1.
         34 < . 1:1 ack 1 sack 3001:7001 1001:2001
         34 > . 2001:3001 ack 1
         # Pipe = 10 - 6 - 2 + 2 = 4: one may go, rule 2; and so on.
         35 < . 1:1 ack 1 sack 3001:8001 1001:2001
         35 > . 10001:11001 ack 1
         36 < . 1:1 ack 1 sack 3001:9001 1001:2001
         36 > . 11001:12001 ack 1
         36 resent 2",
    );
}

#[test]
fn next_seg_falls_back_to_possible_losses() {
    // NextSeg() rule 3: nothing new to send, segment 6 is below the highest SACKed byte and not (yet) lost.
    ten_out(0).run(
        "30 < . 1:1 ack 1 sack 1001:5001
         30 > . 1:1001 ack 1
         # 4,000 delivered: 4 * 5 / 10 - 1 = 1 segment. Segment 6 (5,001) lies above every block: rule 4 comes only with
         # nothing else left, and it sends the last one.
         30 > . 9001:10001 ack 1
         # Pipe = 10 - 5 - 1 + 1 = 5 = ssthresh; then 4: one may go, segment 6, under the block 6,001:8,001.
         31 < . 1:1 ack 1 sack 6001:7001 1001:5001
         32 < . 1:1 ack 1 sack 6001:8001 1001:5001
         32 > . 5001:6001 ack 1",
    );
}

#[test]
fn the_rescue_leaves_high_rxt_alone() {
    // NextSeg() rule 4: "HighRxt MUST NOT be updated". The first segment is lost, and so are the last five. The
    // rescue sends the tenth; once it is SACKed, the four before it are ordinary holes and are repaired without a
    // timeout. ssthresh = 5,000.
    ten_out(0).run(
        "30 < . 1:1 ack 1 sack 1001:4001
         30 > . 1:1001 ack 1
         31 < . 1:1 ack 1 sack 1001:5001
         31 > . 9001:10001 ack 1
         # Everything up to 5,001 is there. Pipe: five out (the rescue is not counted); 5 <= ssthresh, so the slow-start
         # bound: ssthresh - pipe = 0.
         40 < . 1:1 ack 5001
         # The tenth arrives: pipe = 4, one segment may go: rule 3, segment 6, counted again: pipe 5.
         41 < . 1:1 ack 5001 sack 9001:10001
         41 > . 5001:6001 ack 1
         # It arrives: pipe = 3 and none resent; two segments may go (the bound is one and one more).
         51 < . 1:1 ack 6001 sack 9001:10001
         51 > . 6001:7001 ack 1
         51 > . 7001:8001 ack 1
         61 < . 1:1 ack 8001 sack 9001:10001
         61 > . 8001:9001 ack 1
         71 < . 1:1 ack 10001
         71 timeouts 0
         71 all-acked yes",
    );
}

#[test]
fn recovery_ends_at_ssthresh() {
    // RFC 6675, section 5, step A; RFC 6937: cwnd = ssthresh.
    ten_out(0).run(
        "30 < . 1:1 ack 1 sack 1001:4001
         30 > . 1:1001 ack 1
         40 < . 1:1 ack 10001
         40 cwnd 5000
         40 deadline never",
    );
}

#[test]
fn timeout_does_not_resend_sacked_data() {
    // RFC 6675, section 5.1. Segments 3 and 4 are SACKed: the loss window of one sends 1; its ACK releases 2 and, past the run, 5.
    ten_out(0).run(
        "30 < . 1:1 ack 1 sack 2001:3001
         31 < . 1:1 ack 1 sack 2001:4001
         220 > . 1:1001 ack 1
         220 cwnd 1000
         220 timeouts 1
         230 < . 1:1 ack 1001 sack 2001:4001
         230 cwnd 2000
         230 > . 1001:2001 ack 1
         230 > . 4001:5001 ack 1
         240 < . 1:1 ack 4001
         240 > . 5001:6001 ack 1
         240 > . 6001:7001 ack 1",
    );
}

/// After `ten_out`, segments 2 to `arrived` arrive, one a millisecond; 1 is resent and lost again. This releases data up to
/// segment `last`: one for two until pipe is ssthresh, five, then one for one (RFC 6937).
fn stuck_recovery(arrived: u32, last: u32) -> String {
    let mut script = String::from("30 < . 1:1 ack 1 sack 1001:4001\n30 > . 1:1001 ack 1\n30 ssthresh 5000\n");
    let mut sent = 10;
    for segment in 5..=arrived {
        script.push_str(&format!("{} < . 1:1 ack 1 sack 1001:{}\n", 30 + segment, segment * 1000 + 1));
        if ![6, 7].contains(&segment) && sent < last {
            script.push_str(&format!("{} > . {}:{} ack 1\n", 30 + segment, sent * 1000 + 1, (sent + 1) * 1000 + 1));
            sent += 1;
        }
    }
    script
}

#[test]
fn second_recovery_halves_the_window() {
    // RFC 5681, section 3.1: "no more than" half of the flight. The first recovery sends 11 to 16 beside its hole and
    // leaves a window of five. 11 is lost: six are outstanding, of which 12, 13 and 14 have arrived.
    let mut script = stuck_recovery(10, 14);
    script.push_str(
        "45 < . 1:1 ack 1 sack 11001:12001 1001:10001
         45 > . 14001:15001 ack 1
         46 < . 1:1 ack 1 sack 11001:13001 1001:10001
         46 > . 15001:16001 ack 1
         48 < . 1:1 ack 10001 sack 11001:13001
         48 cwnd 5000
         49 < . 1:1 ack 10001 sack 11001:14001
         49 > . 10001:11001 ack 1
         49 fast 2
         49 ssthresh 2500",
    );
    ten_out(20_000).run(&script);
}

#[test]
fn a_timeout_in_recovery_does_not_raise_ssthresh() {
    // RFC 5681, section 3.1: "no more than" half of the flight. The retransmission of 1 is lost too; every later ACK releases
    // new data, up to the twentieth segment. Half of those twenty would be 10,000, but recovery had 5,000.
    let mut script = stuck_recovery(20, 20);
    script.push_str("220 > . 1:1001 ack 1\n220 timeouts 1\n220 ssthresh 5000\n220 cwnd 1000");
    ten_out(10_000).run(&script);
}

#[test]
fn ignores_blocks_beyond_sent_data() {
    ten_out(0).run(
        "30 < . 1:1 ack 1 sack 5001:20001
         30 < . 1:1 ack 1 sack 5001:20002
         30 < . 1:1 ack 1 sack 5001:20003
         30 fast 0",
    );
}

#[test]
fn new_data_in_recovery_stays_within_the_peers_window() {
    // The peer's window is ten segments from 1 on: the quota allows no eleventh, and rule 4 resends the last.
    ten_out(100_000).run(
        "30 < . 1:1 ack 1 sack 1001:4001 win 10000
         30 > . 1:1001 ack 1
         31 < . 1:1 ack 1 sack 1001:5001 win 10000
         31 > . 9001:10001 ack 1",
    );
}
