//! A cut that turns out to have been needless is taken back: RFC 2883 and 3708, RFC 3522 and 4015, as Linux 6.1 has them. The round
//! trip is 10 ms, segments carry 1,000 B.

use crate::common::{Script, plain, window_of};
use fanin_tcp::Params;

fn undoing() -> Params {
    Params { sack: true, rack: true, undo: true, ..window_of(10) }
}

/// Five segments at 20; the first is held up on its way, the others' ACKs bring its retransmission.
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
fn what_comes_twice_is_told_of_in_front_of_what_is_out_of_order() {
    // RFC 2883, section 4: under the acknowledgement (4.1.1); within a run beyond a hole, which then follows (4.1.2).
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
    // To those whom it does not help it is not told.
    let once = "20 < . 1:1001 ack 1
        20 > . 1:1 ack 1001
        21 < . 1:1001 ack 1
        21 > . 1:1 ack 1001";
    for params in [Params { undo: false, ..params }, Params { rack: false, ..params }] {
        Script::server(params).run(once);
    }
}

#[test]
fn as_all_that_was_sent_again_came_twice_the_window_is_what_it_was() {
    // RFC 3708: the only retransmission since the cut. ssthresh was without bound.
    Script::client(undoing()).run(HELD_UP).run(
        "42 < . 1:1 ack 5001 sack 1:1001
         42 cwnd 10000
         42 ssthresh 4294967295",
    );
    // Without the setting nothing is given back.
    Script::client(Params { undo: false, ..undoing() }).run(HELD_UP).run(
        "42 < . 1:1 ack 5001 sack 1:1001
         42 cwnd 2500",
    );
}

#[test]
fn a_duplicate_of_what_was_sent_before_the_cut_tells_nothing_of_it() {
    Script::client(undoing()).run(
        "12 write 1000
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
         35 < . 1:1 ack 6001
         45 < . 1:1 ack 6001 sack 1:1001
         45 ssthresh 2500
         46 < . 1:1 ack 6001 sack 1001:2001
         46 ssthresh 4294967295",
    );
}

#[test]
fn an_ack_of_the_first_transmission_takes_the_cut_back_at_once() {
    // RFC 3522, section 3: the echo is older than the first retransmission. The segments went out at 20, the retransmission at 32. The
    // ACK makes the window of ten segments grow by one, as any other does.
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
fn a_timeout_whose_segment_was_only_late_is_taken_back() {
    // RFC 4015: the window of ten segments that a timeout had taken to one; the ACK makes it grow.
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
fn in_linux_a_timeout_in_a_recovery_leaves_ssthresh_as_the_recovery_has_cut_it() {
    // tcp_enter_loss(): half of ten segments, and not half of those five as the retransmission is lost too.
    let lost = HELD_UP.split("32 ssthresh").next().unwrap();
    for (cut_window, once, twice) in [(true, 5_000, 5_000), (false, 2_500, 2_000)] {
        Script::client(Params { cut_window, ..undoing() }).run(lost).run(&format!(
            "32 ssthresh {once}
             232 > . 1:1001 ack 1
             232 ssthresh {twice}"
        ));
    }
}
