//! RFC 9293: the connection's life.

use crate::common::{Script, plain, window_of};

#[test]
fn active_open_acknowledges_syn_ack() {
    // Section 3.5, figure 6.
    Script::new(plain()).run(
        "0 connect
         0 > S 0:0
         10 < S. 0:0 ack 1
         10 > . 1:1 ack 1
         10 deadline never",
    );
}

#[test]
fn passive_open_sends_syn_ack() {
    Script::new(plain()).run(
        "0 < S 0:0
         0 > S. 0:0 ack 1
         10 < . 1:1 ack 1
         10 deadline never
         10 write 1000
         10 > . 1:1001 ack 1",
    );
}

#[test]
fn early_data_follows_the_handshake() {
    Script::new(plain()).run(
        "0 connect
         0 > S 0:0
         0 write 500
         10 < S. 0:0 ack 1
         10 > . 1:1 ack 1
         10 > . 1:501 ack 1",
    );
}

#[test]
fn syn_retries_back_off() {
    // The SYN's timeout here is 1 s; RFC 6298, 5.5 doubles it.
    Script::new(plain()).run(
        "0 connect
         0 > S 0:0
         1000 > S 0:0
         3000 > S 0:0
         7000 > S 0:0
         7000 timeouts 3
         7010 < S. 0:0 ack 1
         7010 > . 1:1 ack 1",
    );
}

#[test]
fn retransmits_syn_ack_on_timer_and_syn() {
    Script::new(plain()).run(
        "0 < S 0:0
         0 > S. 0:0 ack 1
         1000 > S. 0:0 ack 1
         1500 < S 0:0
         1500 > S. 0:0 ack 1
         1510 < . 1:1 ack 1
         1510 deadline never",
    );
}

#[test]
fn data_repairs_a_lost_final_ack_of_the_handshake() {
    Script::new(plain()).run(
        "0 < S 0:0
         0 > S. 0:0 ack 1
         20 < . 1:501 ack 1
         20 > . 1:1 ack 501
         20 delivered 500",
    );
}

#[test]
fn a_repeated_syn_ack_is_acknowledged_again() {
    // Section 3.10.7.4: the peer's SYN-ACK was sent again because our ACK of it was lost.
    Script::client(plain()).run(
        "1010 < S. 0:0 ack 1
         1010 > . 1:1 ack 1",
    );
}

#[test]
fn data_is_cut_into_segments_of_one_mss_and_the_rest() {
    Script::client(plain()).run(
        "20 write 2500
         20 > . 1:1001 ack 1
         20 > . 1001:2001 ack 1
         20 > . 2001:2501 ack 1
         30 < . 1:1 ack 2501
         30 all-acked yes
         30 deadline never",
    );
}

#[test]
fn each_side_closes_with_a_fin() {
    // Section 3.6, figure 12: our FIN first.
    Script::client(plain()).run(
        "20 close
         20 > F. 1:1 ack 1
         30 < . 1:1 ack 2
         30 finished no
         30 < F. 1:1 ack 2
         30 > . 2:2 ack 2
         30 finished yes
         30 deadline never",
    );
}

#[test]
fn half_closed_side_may_send() {
    Script::client(plain()).run(
        "20 < F. 1:1 ack 1
         20 > . 1:1 ack 2
         30 write 1000
         30 > . 1:1001 ack 2
         30 close
         30 > F. 1001:1001 ack 2
         40 < . 2:2 ack 1002
         40 finished yes",
    );
}

#[test]
fn both_sides_may_close_at_once() {
    // Section 3.6, figure 13.
    Script::client(plain()).run(
        "20 close
         20 > F. 1:1 ack 1
         25 < F. 1:1 ack 1
         25 > . 2:2 ack 2
         25 finished no
         30 < . 2:2 ack 2
         30 finished yes",
    );
}

#[test]
fn fin_rides_on_the_last_data() {
    Script::client(window_of(1)).run(
        "20 write 1500
         20 > . 1:1001 ack 1
         20 close
         30 < . 1:1 ack 1001
         30 > F. 1001:1501 ack 1
         40 < . 1:1 ack 1502
         40 all-acked yes",
    );
}

#[test]
fn lost_fin_is_retransmitted() {
    Script::client(plain()).run(
        "20 close
         20 > F. 1:1 ack 1
         220 > F. 1:1 ack 1
         230 < . 1:1 ack 2
         230 all-acked yes
         230 deadline never",
    );
}

#[test]
fn fin_beyond_hole_waits_for_data() {
    Script::server(plain()).run(
        "20 < F. 1001:2001 ack 1
         20 > . 1:1 ack 1
         20 delivered 0
         30 < . 1:1001 ack 1
         30 > . 1:1 ack 2002
         30 delivered 2000",
    );
}

#[test]
fn a_repeated_fin_is_acknowledged_again() {
    Script::server(plain()).run(
        "20 < F. 1:1 ack 1
         20 > . 1:1 ack 2
         220 < F. 1:1 ack 1
         220 > . 1:1 ack 2
         220 delivered 0",
    );
}

#[test]
fn a_reset_ends_everything_at_once() {
    // Section 3.5.3: no response, no timer.
    Script::client(plain()).run(
        "20 write 5000
         20 > . 1:1001 ack 1
         20 > . 1001:2001 ack 1
         20 > . 2001:3001 ack 1
         20 > . 3001:4001 ack 1
         20 > . 4001:5001 ack 1
         25 < R 1:1
         25 broken yes
         25 finished no
         25 deadline never
         30 write 1000
         30 close
         5000 silent",
    );
}

#[test]
fn ignores_reset_without_connection() {
    // Section 3.10.7.1 and 3.10.7.2.
    Script::new(plain()).run("5 < R 0:0\n 5 broken no\n 6 < S 0:0\n 6 > S. 0:0 ack 1");
    Script::client(plain()).run("20 abort\n 25 < R 1:1\n 25 broken no\n 5000 silent");
}

#[test]
fn aborted_end_only_sends_resets() {
    // Section 3.10.7.1: a reset bears the acknowledgement's number, or acknowledges all received data.
    Script::client(plain()).run(
        "20 write 1000
         20 > . 1:1001 ack 1
         25 abort
         25 deadline never
         30 write 1000
         40 < . 1:501 ack 1001
         40 > R 1001:1001 ack 0
         50 < S 7:7
         50 > R. 0:0 ack 8
         60 < F. 501:501 ack 1001
         60 > R 1001:1001 ack 0
         60 broken no
         60 delivered 0
         5000 silent",
    );
}

#[test]
fn resets_ack_without_connection() {
    // Section 3.10.7.2.
    Script::new(plain()).run("5 < . 1:501 ack 9\n 5 > R 9:9 ack 0\n 6 < S 0:0\n 6 > S. 0:0 ack 1");
}

#[test]
fn reset_of_syn_ends_the_open() {
    // Section 3.10.7.3.
    Script::new(plain()).run(
        "0 connect
         0 > S 0:0
         10 < R. 0:0 ack 1
         10 broken yes
         9000 silent",
    );
}

#[test]
fn ignores_acks_of_unsent_data() {
    // Section 3.10.7.4.
    Script::client(plain()).run(
        "20 write 1000
         20 > . 1:1001 ack 1
         30 < . 1:1 ack 1002
         30 cwnd 10000
         30 all-acked no
         30 deadline 220
         31 < . 1:1 ack 1001
         31 all-acked yes",
    );
}

#[test]
fn an_old_ack_changes_nothing() {
    Script::client(plain()).run(
        "20 write 2000
         20 > . 1:1001 ack 1
         20 > . 1001:2001 ack 1
         30 < . 1:1 ack 2001
         30 cwnd 11000
         31 < . 1:1 ack 1001
         31 cwnd 11000
         31 all-acked yes",
    );
}

#[test]
fn respects_the_peers_window() {
    // Section 3.8.6: 2,500 bytes of window hold two whole segments; the rest waits (3.8.6.2.1).
    Script::client(plain()).run(
        "20 < . 1:1 ack 1 win 2500
         20 write 5000
         20 > . 1:1001 ack 1
         20 > . 1001:2001 ack 1
         30 < . 1:1 ack 1001 win 2500
         30 > . 2001:3001 ack 1
         40 < . 1:1 ack 3001 win 5000
         40 > . 3001:4001 ack 1
         40 > . 4001:5001 ack 1",
    );
}

#[test]
fn a_window_of_zero_stops_the_sender_until_it_opens() {
    Script::client(plain()).run(
        "20 < . 1:1 ack 1 win 0
         20 write 1000
         30 < . 1:1 ack 1 win 1000
         30 > . 1:1001 ack 1",
    );
}

#[test]
fn advertises_its_receive_window() {
    let params = fanin_tcp::Params { receive_window: 12_345, ..plain() };
    Script::new(params).run(
        "0 connect
         0 > S 0:0 win 12345",
    );
}

#[test]
fn acks_repeated_data_without_delivery() {
    // Section 3.10.7.4: an unacceptable segment brings an ACK.
    Script::server(plain()).run(
        "20 < . 1:1001 ack 1
         20 > . 1:1 ack 1001
         30 < . 1:1001 ack 1
         30 > . 1:1 ack 1001
         30 delivered 1000
         30 segments 1",
    );
}

#[test]
fn delivers_only_new_part_of_overlap() {
    Script::server(plain()).run(
        "20 < . 1:1001 ack 1
         20 > . 1:1 ack 1001
         30 < . 501:1501 ack 1
         30 > . 1:1 ack 1501
         30 delivered 1500",
    );
}

#[test]
fn delivers_out_of_order_data_later() {
    Script::server(plain()).run(
        "20 < . 1001:2001 ack 1
         20 > . 1:1 ack 1
         20 < . 3001:4001 ack 1
         20 > . 1:1 ack 1
         30 < . 1:1001 ack 1
         30 > . 1:1 ack 2001
         40 < . 2001:3001 ack 1
         40 > . 1:1 ack 4001
         40 delivered 4000",
    );
}
