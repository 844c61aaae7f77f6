//! Window validation (RFC 7661's idea, RFC 2861's rule) as in Linux. The round trip is 10 ms, the window ten segments of 1,000 B.

use crate::common::{Script, plain};
use fanin_tcp::Params;

fn validated() -> Params {
    Params { window_validation: true, idle_restart: true, sack: true, rack: true, ..plain() }
}

/// Six segments of a window of ten, acknowledged one by one.
const SIX: &str = "20 write 6000
    20 > . 1:1001 ack 1
    20 > . 1001:2001 ack 1
    20 > . 2001:3001 ack 1
    20 > . 3001:4001 ack 1
    20 > . 4001:5001 ack 1
    20 > . 5001:6001 ack 1
    30 < . 1:1 ack 1001
    30 cwnd 11000
    30 < . 1:1 ack 2001
    30 cwnd 12000
    30 < . 1:1 ack 3001
    30 cwnd 12000
    30 < . 1:1 ack 6001
    30 cwnd 12000";

#[test]
fn slow_start_grows_to_twice_the_flight() {
    let params = validated();
    Script::client(params).run(SIX);
}

#[test]
fn underused_window_does_not_grow() {
    let params = validated();
    Script::client(params).run(
        "20 write 2000
         20 > . 1:1001 ack 1
         20 > . 1001:2001 ack 1
         30 < . 1:1 ack 1001
         30 < . 1:1 ack 2001
         30 cwnd 10000",
    );
}

#[test]
fn limiting_window_grows_by_acked_bytes() {
    let params = validated();
    let mut script = "20 write 12000\n".to_string();
    (0..10).for_each(|i| script.push_str(&format!("20 > . {}:{} ack 1\n", 1 + i * 1000, 1001 + i * 1000)));
    Script::client(params).run(&script).run(
        "30 < . 1:1 ack 1001
         30 cwnd 11000
         30 > . 10001:11001 ack 1
         30 > . 11001:12001 ack 1
         31 < . 1:1 ack 2001
         31 cwnd 12000
         32 < . 1:1 ack 10001
         32 cwnd 13000",
    );
}

#[test]
fn unfilled_window_decays_halfway() {
    // The timeout is 200 ms. The window of 12 was last filled at 20; at most the initial ten are used.
    let params = validated();
    Script::client(params).run(SIX).run(
        "150 write 2000
         150 > . 6001:7001 ack 1
         150 > . 7001:8001 ack 1
         150 cwnd 12000
         160 < . 1:1 ack 8001
         230 write 2000
         230 > . 8001:9001 ack 1
         230 > . 9001:10001 ack 1
         230 cwnd 11000",
    );
}

#[test]
fn window_halves_for_each_idle_timeout() {
    // RFC 2861, section 3. The window of eight was filled and last used at 40; the timeout is 200 ms.
    let grown = "20 write 2000
         20 > . 1:1001 ack 1
         20 > . 1001:2001 ack 1
         30 < . 1:1 ack 1001
         30 < . 1:1 ack 2001
         40 write 4000
         40 > . 2001:3001 ack 1
         40 > . 3001:4001 ack 1
         40 > . 4001:5001 ack 1
         40 > . 5001:6001 ack 1
         50 < . 1:1 ack 3001
         50 < . 1:1 ack 4001
         50 < . 1:1 ack 5001
         50 < . 1:1 ack 6001
         50 cwnd 8000";
    // At 240 the time is not over; but the window has been unfilled for a timeout, so it moves halfway to its use.
    for (at, cwnd) in [(239, 8000), (240, 5000), (241, 4000), (440, 4000), (441, 2000), (5000, 2000)] {
        Script::client(Params { initial_cwnd: 2000, ..validated() })
            .run(grown)
            .run(&format!("{at} write 1000\n{at} > . 6001:7001 ack 1\n{at} cwnd {cwnd}"));
    }
}

#[test]
fn unfilled_window_stays_without_idle_restart() {
    let params = validated();
    Script::client(Params { idle_restart: false, ..params }).run(SIX).run(
        "150 write 2000
         150 > . 6001:7001 ack 1
         150 > . 7001:8001 ack 1
         160 < . 1:1 ack 8001
         230 write 2000
         230 > . 8001:9001 ack 1
         230 > . 9001:10001 ack 1
         230 cwnd 12000",
    );
}
