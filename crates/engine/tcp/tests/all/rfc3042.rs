//! RFC 3042: limited transmit.

use crate::common::{Script, window_of};
use fanin_tcp::Params;

fn four_out(params: Params) -> Script {
    Script::client(params).run(
        "20 write 100000
         20 > . 1:1001 ack 1
         20 > . 1001:2001 ack 1
         20 > . 2001:3001 ack 1
         20 > . 3001:4001 ack 1",
    )
}

#[test]
fn first_two_duplicates_send_new_segments() {
    // Section 2: the window itself does not change.
    four_out(Params { limited_transmit: true, ..window_of(4) }).run(
        "30 < . 1:1 ack 1
         30 > . 4001:5001 ack 1
         31 < . 1:1 ack 1
         31 > . 5001:6001 ack 1
         31 cwnd 4000
         32 < . 1:1 ack 1
         32 > . 1:1001 ack 1
         32 fast 1",
    );
}

#[test]
fn ssthresh_excludes_limited_transmit() {
    // RFC 5681, section 3.2, step 2: "additional data sent in limited transmit MUST NOT be included". Four segments out,
    // two more by limited transmit: ssthresh = max(4,000 / 2, 2,000), not 6,000 / 2.
    four_out(Params { limited_transmit: true, ..window_of(4) }).run(
        "30 < . 1:1 ack 1
         30 > . 4001:5001 ack 1
         31 < . 1:1 ack 1
         31 > . 5001:6001 ack 1
         32 < . 1:1 ack 1
         32 > . 1:1001 ack 1
         32 ssthresh 2000
         32 cwnd 5000",
    );
}

#[test]
fn the_peers_window_bounds_limited_transmit() {
    // Section 2: "the receiver's advertised window allows the transmission of the segment".
    four_out(Params { limited_transmit: true, ..window_of(4) }).run(
        "30 < . 1:1 ack 1 win 5000
         30 > . 4001:5001 ack 1
         31 < . 1:1 ack 1 win 5000",
    );
}

#[test]
fn first_two_duplicates_send_nothing_when_off() {
    // The third inflates the window to 2,000 + 3 * 1,000, which one new segment fits.
    four_out(window_of(4)).run(
        "30 < . 1:1 ack 1
         31 < . 1:1 ack 1
         32 < . 1:1 ack 1
         32 > . 1:1001 ack 1
         32 > . 4001:5001 ack 1",
    );
}

#[test]
fn limited_transmit_never_sends_old_data() {
    // Everything is sent: there is no new data to send.
    Script::client(Params { limited_transmit: true, ..window_of(4) }).run(
        "20 write 4000
         20 > . 1:1001 ack 1
         20 > . 1001:2001 ack 1
         20 > . 2001:3001 ack 1
         20 > . 3001:4001 ack 1
         30 < . 1:1 ack 1
         31 < . 1:1 ack 1
         32 < . 1:1 ack 1
         32 > . 1:1001 ack 1",
    );
}
