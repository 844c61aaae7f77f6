//! Undo of unnecessary window reductions: RFC 2883 and 3708, RFC 3522 and 4015, as in Linux. The round trip is 10 ms,
//! segments carry 1,000 B.

use crate::common::{Script, plain, window_of};
use fanin_tcp::Params;

fn undoing() -> Params {
    Params { sack: true, rack: true, undo: true, ..window_of(10) }
}

/// Five segments at 20; the first is delayed in the network, and the others' ACKs trigger its retransmission.
const HELD_UP: &str = "20 write 5000
    20 > . 1:1001 ack 1
    20 > . 1001:2001 ack 1
    20 > . 2001:3001 ack 1
    20 > . 3001:4001 ack 1
    20 > . 4001:5001 ack 1
    30 < . 1:1 ack 1 sack 1001:2001
    31 < . 1:1 ack 1 sack 1001:3001
    32 < . 1:1 ack 1 sack 1001:4001
    32 > . 1:1001 ack 1
    32 ssthresh 2500
    33 < . 1:1 ack 5001
    33 cwnd 2500";

#[test]
fn reports_duplicates_before_other_blocks() {
    // RFC 2883, section 4: below the acknowledgement (4.1.1); within a run beyond a hole, which then follows (4.1.2).
    let params = Params { undo: true, sack: true, rack: true, ..plain() };
    let twice = "20 < . 1:1001 ack 1
        20 > . 1:1 ack 1001
        21 < . 1:1001 ack 1
        21 > . 1:1 ack 1001 sack 1:1001
        22 < . 2001:3001 ack 1
        22 > . 1:1 ack 1001 sack 2001:3001
        23 < . 2001:3001 ack 1
        23 > . 1:1 ack 1001 sack 2001:3001 2001:3001
        24 < . 501:1501 ack 1
        24 > . 1:1 ack 1501 sack 501:1001 2001:3001";
    Script::server(params).run(twice);
    // No report to senders that cannot use it.
    let once = "20 < . 1:1001 ack 1
        20 > . 1:1 ack 1001
        21 < . 1:1001 ack 1
        21 > . 1:1 ack 1001";
    for params in [Params { undo: false, ..params }, Params { rack: false, ..params }] {
        Script::server(params).run(once);
    }
}

#[test]
fn restores_window_after_duplicate_reports() {
    // RFC 3708: the only retransmission since the reduction. ssthresh was unlimited.
    Script::client(undoing()).run(HELD_UP).run(
        "42 < . 1:1 ack 5001 sack 1:1001
         42 cwnd 10000
         42 ssthresh 4294967295",
    );
    // Without the setting nothing is undone.
    Script::client(Params { undo: false, ..undoing() }).run(HELD_UP).run(
        "42 < . 1:1 ack 5001 sack 1:1001
         42 cwnd 2500",
    );
}

#[test]
fn ignores_duplicates_from_before_the_reduction() {
    let before = "12 write 1000
         12 > . 1:1001 ack 1
         22 < . 1:1 ack 1001
         22 write 5000
         22 > . 1001:2001 ack 1
         22 > . 2001:3001 ack 1
         22 > . 3001:4001 ack 1
         22 > . 4001:5001 ack 1
         22 > . 5001:6001 ack 1
         32 < . 1:1 ack 1001 sack 2001:3001
         33 < . 1:1 ack 1001 sack 2001:4001
         34 < . 1:1 ack 1001 sack 2001:5001
         34 > . 1001:2001 ack 1
         35 < . 1:1 ack 6001\n";
    // One retransmission explains one duplicate: a second report is not believed (tcp_dsack_seen).
    Script::client(undoing()).run(before).run(
        "45 < . 1:1 ack 6001 sack 1:1001
         45 ssthresh 2500
         46 < . 1:1 ack 6001 sack 1001:2001
         46 ssthresh 2500",
    );
    Script::client(undoing()).run(before).run(
        "46 < . 1:1 ack 6001 sack 1001:2001
         46 ssthresh 4294967295",
    );
}

#[test]
fn undoes_reduction_on_ack_of_original() {
    // RFC 3522, section 3: the echo is older than the first retransmission. The segments were sent at 20, the retransmission at 32. The
    // ACK grows the window of ten segments by one, as any other does.
    let stamped = Params { timestamps: true, ..undoing() };
    let held_up = |ecr: u32| {
        HELD_UP
            .replace("33 cwnd 2500", "")
            .replace("< . 1:1 ack 1 ", "< . 1:1 ack 1 ecr 20 ")
            .replace("ack 5001", &format!("ack 5001 ecr {ecr}"))
    };
    Script::client(stamped).run(&held_up(20)).run(
        "33 cwnd 11000
         33 ssthresh 4294967295",
    );
    Script::client(stamped).run(&held_up(32)).run("33 cwnd 2500");
}

#[test]
fn undoes_spurious_timeout() {
    // RFC 4015: the window of ten segments that a timeout reduced to one; the ACK grows it.
    let stamped = Params { timestamps: true, ..undoing() };
    let late = "20 write 1000
        20 > . 1:1001 ack 1
        220 > . 1:1001 ack 1
        220 cwnd 1000";
    Script::client(stamped).run(late).run(
        "225 < . 1:1 ack 1001 ecr 20
         225 cwnd 11000
         225 ssthresh 4294967295",
    );
    Script::client(stamped).run(late).run(
        "235 < . 1:1 ack 1001 ecr 220
         235 ssthresh 2000",
    );
}

#[test]
fn linux_timeout_in_recovery_keeps_ssthresh() {
    // tcp_enter_loss(): half of ten segments, not half of those five when the retransmission is lost too.
    let lost = HELD_UP.split("32 ssthresh").next().unwrap();
    for (cut_window, once, twice) in [(true, 5_000, 5_000), (false, 2_500, 2_000)] {
        Script::client(Params { cut_window, ..undoing() }).run(lost).run(&format!(
            "32 ssthresh {once}
             232 > . 1:1001 ack 1
             232 ssthresh {twice}"
        ));
    }
}
