//! HyStart as in Linux, through the endpoint. The round trip is 10 ms, segments carry 1,000 B.

use crate::common::{MSS, Script, window_of};
use fanin_laws::Settings;
use fanin_laws::sender::cubic::Variant;
use fanin_laws::sender::{Kind, Law};
use fanin_tcp::{Params, RttVariance};

fn searching() -> Params {
    Params {
        sack: true,
        rack: true,
        rtt_variance: RttVariance::Linux,
        byte_counting: true,
        timestamps: true,
        hystart: true,
        ..window_of(16)
    }
}

fn cubic() -> Law {
    let mut set = Settings::default();
    set.senders.cubic.variant = Variant::Linux;
    Law { mss: MSS, base: Kind::Cubic.start(&set.senders), slow_start: None, cap: None }
}

/// Forty segments to send, of which 16 leave at 20.
fn starts(params: Params, law: Law) -> Script {
    let sent = (0..16).map(|i| format!("20 > . {}:{} ack 1\n", 1 + i * 1000, 1001 + i * 1000)).collect::<String>();
    Script::client_with_law(params, law).run(&format!("20 write 40000\n{sent}"))
}

/// ACKs of one segment each at most 2 ms apart, the first after 10 ms; each makes a segment of window.
const TRAIN: &str = "30 < . 1:1 ack 1001 ecr 20
    30 > . 16001:17001 ack 1
    30 > . 17001:18001 ack 1
    32 < . 1:1 ack 2001 ecr 20
    32 > . 18001:19001 ack 1
    32 > . 19001:20001 ack 1
    34 < . 1:1 ack 3001 ecr 20
    34 > . 20001:21001 ack 1
    34 > . 21001:22001 ack 1
    34 cwnd 19000
    34 ssthresh 4294967295";

#[test]
fn ends_slow_start_after_a_train_of_acks() {
    // More than half of 10 ms and of 1 ms, the most that bursts count, is over at 36.
    starts(searching(), cubic()).run(TRAIN).run(
        "36 < . 1:1 ack 4001 ecr 20
         36 > . 22001:23001 ack 1
         36 cwnd 19000
         36 ssthresh 19000",
    );
}

#[test]
fn goes_on_without_the_setting() {
    starts(Params { hystart: false, ..searching() }, cubic()).run(TRAIN).run(
        "36 < . 1:1 ack 4001 ecr 20
         36 > . 22001:23001 ack 1
         36 > . 23001:24001 ack 1
         36 cwnd 20000
         36 ssthresh 4294967295",
    );
}

#[test]
fn counts_acks_that_do_not_grow_the_window() {
    // Sixteen segments in a window of 40 leave it as it is, but their ACKs come one by one.
    let sent = (0..16).map(|i| format!("20 > . {}:{} ack 1\n", 1 + i * 1000, 1001 + i * 1000)).collect::<String>();
    let params = Params { initial_cwnd: 40 * MSS, window_validation: true, ..searching() };
    Script::client_with_law(params, cubic()).run(&format!("20 write 16000\n{sent}")).run(
        "30 < . 1:1 ack 1001 ecr 20
         32 < . 1:1 ack 2001 ecr 20
         34 < . 1:1 ack 3001 ecr 20
         34 ssthresh 4294967295
         36 < . 1:1 ack 4001 ecr 20
         36 cwnd 40000
         36 ssthresh 40000",
    );
}
