//! RFC 9293, section 3.8.3, and RFC 1122, section 4.2.3.5: retransmissions before a connection is given up.

use crate::common::{Script, window_of};
use fanin_tcp::Params;

fn twice() -> Params {
    Params { max_retransmissions: Some(2), ..window_of(1) }
}

#[test]
fn resets_after_the_last_retransmission() {
    Script::client(twice()).run(
        "20 write 1000
         20 > . 1:1001 ack 1
         220 > . 1:1001 ack 1
         620 > . 1:1001 ack 1
         620 broken no
         1420 > R. 1001:1001 ack 1
         1420 broken yes
         1420 timeouts 3
         1420 deadline never
         # What comes later finds nobody.
         1500 < . 1:1 ack 1001
         1500 > R 1001:1001
         1500 write 1000
         1500 close",
    );
}

#[test]
fn acknowledgement_resets_the_retry_count() {
    Script::client(twice()).run(
        "20 write 2000
         20 > . 1:1001 ack 1
         220 > . 1:1001 ack 1
         620 > . 1:1001 ack 1
         630 < . 1:1 ack 1001
         630 > . 1001:2001 ack 1
         830 > . 1001:2001 ack 1
         1230 > . 1001:2001 ack 1
         1230 broken no
         2030 > R. 2001:2001 ack 1
         2030 broken yes",
    );
}

#[test]
fn gives_up_unanswered_and_reset_syns() {
    Script::new(twice()).run(
        "0 connect
         0 > S 0:0
         1000 > S 0:0
         3000 > S 0:0
         7000 broken yes
         7000 deadline never",
    );
    Script::new(twice()).run(
        "0 < S 0:0
         0 > S. 0:0 ack 1
         1000 > S. 0:0 ack 1
         3000 > S. 0:0 ack 1
         7000 > R. 1:1 ack 1
         7000 broken yes",
    );
}

#[test]
fn handshake_retries_do_not_count_for_data() {
    Script::new(twice()).run(
        "0 connect
         0 > S 0:0
         1000 > S 0:0
         3000 > S 0:0
         3010 < S. 0:0 ack 1
         3010 > . 1:1 ack 1
         3020 write 1000
         3020 > . 1:1001 ack 1
         4020 > . 1:1001 ack 1
         6020 > . 1:1001 ack 1
         6020 broken no",
    );
}

#[test]
fn rack_counts_timeouts_but_not_probes() {
    let params = Params { sack: true, rack: true, tail_loss_probe: true, max_retransmissions: Some(1), ..window_of(1) };
    Script::client(params).run(
        "20 write 1000
         20 > . 1:1001 ack 1
         80 > . 1:1001 ack 1
         80 probes 1
         280 > . 1:1001 ack 1
         280 timeouts 1
         680 > R. 1001:1001 ack 1
         680 broken yes",
    );
}

#[test]
fn retries_forever_without_a_limit() {
    let script = Script::client(window_of(1)).run("20 write 1000\n20 > . 1:1001 ack 1\n220 > . 1:1001 ack 1");
    (0..4).fold((script, 220, 400), |(script, at, wait), _| {
        (script.run(&format!("{} > . 1:1001 ack 1\n{0} broken no", at + wait)), at + wait, 2 * wait)
    });
}
