//! RFC 6937: proportional rate reduction.
//!
//! The example has ten segments outstanding and the first one lost. ssthresh = 5,000, RecoverFS = 10,000.

use crate::common::{Script, window_of};
use fanin_tcp::Params;

fn ten_out(more: u32) -> Script {
    let mut script = format!("20 write {}\n", 10_000 + more);
    for i in 0..10 {
        script.push_str(&format!("20 > . {}:{} ack 1\n", 1 + i * 1000, 1001 + i * 1000));
    }
    Script::client(Params { sack: true, ..window_of(10) }).run(&script)
}

#[test]
fn quota_is_proportional_to_delivered_bytes() {
    // Section 3.1: sndcnt = ceil(prr_delivered * ssthresh / RecoverFS) - prr_out while pipe > ssthresh, in bytes; less than
    // a segment waits. Twenty segments outstanding, the first is lost; ssthresh = 10, RecoverFS = 20. Entry at the 3rd
    // duplicate: delivered 1, the first is resent; pipe = 20 - 3 SACKed - 1 lost + 1 = 17. Then
    //   delivered  2   3    4   5    6   7    8   9
    //   pipe      16  15   14  14   13  13   12  12   before sending
    //   allowed    1  1.5   2  2.5   3  3.5   4  4.5
    //   out        1   1    1   2    2   3    3   4
    //   sent       -   -    1   -    1   -    1   -
    let mut script = String::from("20 write 100000\n");
    for i in 0..20 {
        script.push_str(&format!("20 > . {}:{} ack 1\n", 1 + i * 1000, 1001 + i * 1000));
    }
    Script::client(Params { sack: true, ..window_of(20) }).run(&script).run(
        "30 < . 1:1 ack 1 sack 1001:2001
         30 < . 1:1 ack 1 sack 1001:3001
         30 < . 1:1 ack 1 sack 1001:4001
         30 > . 1:1001 ack 1
         31 < . 1:1 ack 1 sack 1001:5001
         32 < . 1:1 ack 1 sack 1001:6001
         33 < . 1:1 ack 1 sack 1001:7001
         33 > . 20001:21001 ack 1
         34 < . 1:1 ack 1 sack 1001:8001
         35 < . 1:1 ack 1 sack 1001:9001
         35 > . 21001:22001 ack 1
         36 < . 1:1 ack 1 sack 1001:10001
         37 < . 1:1 ack 1 sack 1001:11001
         37 > . 22001:23001 ack 1
         38 < . 1:1 ack 1 sack 1001:12001",
    );
}

#[test]
fn sends_one_per_delivered_at_ssthresh() {
    // Ten outstanding, the first lost. Entry: pipe = 10 - 3 - 1 + 1 = 7. Two duplicates reduce it to ssthresh; from there the
    // slow-start bound keeps it: min(ssthresh - pipe, ...) = 1 on each.
    ten_out(100_000).run(
        "30 < . 1:1 ack 1 sack 1001:2001
         30 < . 1:1 ack 1 sack 1001:3001
         30 < . 1:1 ack 1 sack 1001:4001
         30 > . 1:1001 ack 1
         31 < . 1:1 ack 1 sack 1001:5001
         32 < . 1:1 ack 1 sack 1001:6001
         33 < . 1:1 ack 1 sack 1001:7001
         33 > . 10001:11001 ack 1
         34 < . 1:1 ack 1 sack 1001:8001
         34 > . 11001:12001 ack 1
         35 < . 1:1 ack 1 sack 1001:9001
         35 > . 12001:13001 ack 1
         36 < . 1:1 ack 1 sack 1001:10001
         36 > . 13001:14001 ack 1
         # The first arrives: recovery is over, four are out and the window is five.
         40 < . 1:1 ack 10001
         40 cwnd 5000
         40 > . 14001:15001 ack 1",
    );
}

#[test]
fn quota_excludes_earlier_deliveries() {
    // Section 3.1: DeliveredData is what "the current ACK indicates"; limited transmit has used the two before. Ten
    // outstanding and two by limited transmit: RecoverFS = 12, ssthresh = 5. Entry: 1 delivered, only the first is sent.
    let params = Params { sack: true, limited_transmit: true, ..window_of(10) };
    let mut script = String::from("20 write 100000\n");
    for i in 0..10 {
        script.push_str(&format!("20 > . {}:{} ack 1\n", 1 + i * 1000, 1001 + i * 1000));
    }
    Script::client(params).run(&script).run(
        "30 < . 1:1 ack 1 sack 1001:2001
         30 > . 10001:11001 ack 1
         30 < . 1:1 ack 1 sack 1001:3001
         30 > . 11001:12001 ack 1
         30 < . 1:1 ack 1 sack 1001:4001
         30 > . 1:1001 ack 1
         30 ssthresh 5000
         # Delivered 2, 3, 4: 4 * 5 / 12 = 1.67 segments, less the one sent. Counting all that was SACKed (4, 5, 6) would
         # let one out at the second already. The fifth brings the pipe to 5 = ssthresh, the sixth below it.
         31 < . 1:1 ack 1 sack 1001:5001
         32 < . 1:1 ack 1 sack 1001:6001
         33 < . 1:1 ack 1 sack 1001:7001
         34 < . 1:1 ack 1 sack 1001:8001
         35 < . 1:1 ack 1 sack 1001:9001
         35 > . 12001:13001 ack 1",
    );
}

#[test]
fn refills_pipe_by_slow_start() {
    // Section 3.1, PRR-SSRB. Seven of ten are lost: 1 to 7. At the third duplicate, 3,000 bytes above show it. Pipe = 10 - 3 -
    // 7 + 1 resent = 1. Limit = max(delivered - out, DeliveredData) + 1 = max(1 - 1, 1) + 1 = 2; ssthresh - pipe = 4.
    ten_out(0).run(
        "30 < . 1:1 ack 1 sack 7001:8001
         30 < . 1:1 ack 1 sack 9001:10001 7001:8001
         30 < . 1:1 ack 1 sack 7001:10001
         30 > . 1:1001 ack 1
         30 > . 1001:2001 ack 1
         30 > . 2001:3001 ack 1
         # The first arrives. Pipe = 9 - 3 - 6 + 2 = 2; limit = max(2 - 3, 1) + 1 = 2.
         40 < . 1:1 ack 1001 sack 7001:10001
         40 > . 3001:4001 ack 1
         40 > . 4001:5001 ack 1
         # The second. Pipe = 8 - 3 - 5 + 3 = 3; limit 2, ssthresh - pipe = 2.
         41 < . 1:1 ack 2001 sack 7001:10001
         41 > . 5001:6001 ack 1
         41 > . 6001:7001 ack 1",
    );
}

#[test]
fn recovery_ends_at_the_algorithms_ssthresh() {
    // Section 3: "cwnd = ssthresh" at the end.
    ten_out(0).run(
        "30 < . 1:1 ack 1 sack 3001:6001
         30 > . 1:1001 ack 1
         31 < . 1:1 ack 1 sack 3001:10001
         31 > . 1001:2001 ack 1
         31 > . 2001:3001 ack 1
         40 < . 1:1 ack 10001
         40 cwnd 5000
         40 ssthresh 5000",
    );
}
