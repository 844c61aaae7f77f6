//! RFC 6298: the round-trip estimator and the retransmission timer.

use crate::common::{Script, newreno, plain, window_of};
use fanin_laws::sender::Law;
use fanin_laws::sender::gentle_slow_start::{self, GentleSlowStart};
use fanin_tcp::{Params, RttVariance};
use fanin_units::Time;

/// Timeouts small enough to show the estimator.
fn sharp() -> Params {
    Params { rto_min: Time::from_millis(1), ..window_of(10) }
}

/// Linux's variance, used with loss detection by time.
fn linux() -> Params {
    Params { rtt_variance: RttVariance::Linux, sack: true, rack: true, ..sharp() }
}

#[test]
fn timeout_starts_at_the_initial_value() {
    // 2.1.
    Script::new(plain()).run(
        "0 connect
         0 > S 0:0
         0 rto 1000",
    );
}

#[test]
fn first_sample_sets_srtt_and_variance() {
    // 2.2: SRTT = R, RTTVAR = R / 2, RTO = R + 4 R / 2 = 3 R. The handshake took 10 ms.
    Script::client(sharp()).run(
        "10 srtt 10
         10 rto 30",
    );
}

#[test]
fn later_samples_smooth_srtt_and_variance() {
    // 2.3, from SRTT = 10, RTTVAR = 5, with R' = 18:
    // RTTVAR = 3/4 * 5 + 1/4 * |10 - 18| = 5.75; SRTT = 7/8 * 10 + 1/8 * 18 = 11; RTO = 11 + 23 = 34.
    // Then R' = 11: RTTVAR = 4.3125, SRTT = 11, RTO = 28.25.
    Script::client(sharp()).run(
        "20 write 1000
         20 > . 1:1001 ack 1
         38 < . 1:1 ack 1001
         38 srtt 11
         38 rto 34
         40 write 1000
         40 > . 1001:2001 ack 1
         51 < . 1:1 ack 2001
         51 srtt 11
         51 rto 28.25",
    );
}

#[test]
fn linux_variance_is_largest_recent_deviation() {
    // tcp_rtt_estimator(). From SRTT = 10 and a deviation of 5 (the handshake took 10 ms): a sample of 18 makes the deviation
    // 5 + (8 - 5) / 4 = 5.75, the largest of the round trip that ends, and RTO = 11 + 4 * 5.75. The next round trip starts from none.
    // Then three ACKs of one round trip with samples of 11 have no error. The first makes the deviation 5.75 * 3/4 = 4.313 and
    // ends the previous round trip: RTTVAR = 5.75 - (5.75 - 4.313) / 4 = 5.391, RTO = 11 + 4 * 5.391. The others leave it
    // unchanged, while RFC 6298 would reach 3.235 and 2.426.
    Script::client(linux()).run(
        "20 write 1000
         20 > . 1:1001 ack 1
         38 < . 1:1 ack 1001
         38 rto 34
         40 write 3000
         40 > . 1001:2001 ack 1
         40 > . 2001:3001 ack 1
         40 > . 3001:4001 ack 1
         51 < . 1:1 ack 2001
         51 rto 32.564
         51 < . 1:1 ack 3001
         51 < . 1:1 ack 4001
         51 rto 32.564",
    );
}

#[test]
fn linux_damps_deviation_below_the_mean() {
    // SRTT = 10, a deviation of 5; a sample of 1 is off by 9: 5 + 4 / 32 = 5.125, but 6 in RFC 6298. SRTT = 8.875.
    Script::client(linux()).run(
        "20 write 1000
         20 > . 1:1001 ack 1
         21 < . 1:1 ack 1001
         21 rto 29.375",
    );
}

#[test]
fn the_clocks_granularity_is_the_least_variance() {
    // 2.3: RTO = SRTT + max(G, 4 RTTVAR) with G = 100 ms: 10 + 100.
    let params = Params { rto_clock: Time::from_millis(100), ..sharp() };
    Script::client(params).run("10 rto 110");
}

#[test]
fn timeout_rounds_up_to_ticks() {
    // A first sample of 10 ms makes 10 + 4 * 5 = 30 ms: eight ticks of 4 ms. Of a minimum of 33 ms, nine.
    let ticks = Params { tick: Time::from_millis(4), ..sharp() };
    Script::client(ticks).run("10 rto 32");
    Script::client(Params { rto_min: Time::from_millis(33), ..ticks }).run("10 rto 36");
    Script::client(Params { rto_max: Time::from_millis(25), ..ticks }).run("10 rto 25");
}

#[test]
fn the_timeout_is_never_under_the_minimum() {
    // 2.4.
    Script::client(plain()).run("10 rto 200");
}

#[test]
fn the_timeout_is_never_over_the_maximum() {
    // 2.5.
    let params = Params { rto_max: Time::from_millis(25), ..sharp() };
    Script::client(params).run("10 rto 25");
}

#[test]
fn timer_starts_with_the_first_segment() {
    // 5.1.
    Script::client(sharp()).run(
        "20 write 1000
         20 > . 1:1001 ack 1
         20 deadline 50
         30 write 1000
         30 > . 1001:2001 ack 1
         30 deadline 50",
    );
}

#[test]
fn the_timer_stops_when_everything_is_acknowledged() {
    // 5.2.
    Script::client(sharp()).run(
        "20 write 1000
         20 > . 1:1001 ack 1
         30 < . 1:1 ack 1001
         30 deadline never",
    );
}

#[test]
fn ack_of_new_data_restarts_the_timer() {
    // 5.3. The minimum of 200 ms applies.
    Script::client(plain()).run(
        "20 write 2000
         20 > . 1:1001 ack 1
         20 > . 1001:2001 ack 1
         30 < . 1:1 ack 1001
         30 deadline 230",
    );
}

#[test]
fn a_duplicate_ack_leaves_the_timer() {
    Script::client(plain()).run(
        "20 write 2000
         20 > . 1:1001 ack 1
         20 > . 1001:2001 ack 1
         30 < . 1:1 ack 1
         30 deadline 220",
    );
}

#[test]
fn timeouts_retransmit_and_back_off() {
    // 5.4, 5.5, 5.6.
    Script::client(plain()).run(
        "20 write 2000
         20 > . 1:1001 ack 1
         20 > . 1001:2001 ack 1
         220 > . 1:1001 ack 1
         220 deadline 620
         620 > . 1:1001 ack 1
         620 deadline 1420
         1420 > . 1:1001 ack 1
         1420 deadline 3020
         1420 timeouts 3",
    );
}

#[test]
fn the_doubled_timeout_ends_at_the_maximum() {
    // 5.5: "The maximum value discussed in (2.5) above may be used".
    Script::client(Params { rto_max: Time::from_millis(500), ..plain() }).run(
        "20 write 1000
         20 > . 1:1001 ack 1
         220 > . 1:1001 ack 1
         620 > . 1:1001 ack 1
         1120 > . 1:1001 ack 1
         1620 > . 1:1001 ack 1",
    );
}

#[test]
fn retransmissions_give_no_sample() {
    // Section 3, Karn's algorithm: SRTT stays 10, whichever transmission the ACK is for.
    Script::client(plain()).run(
        "20 write 1000
         20 > . 1:1001 ack 1
         220 > . 1:1001 ack 1
         225 < . 1:1 ack 1001
         225 srtt 10",
    );
}

#[test]
fn acks_covering_retransmissions_give_no_sample() {
    // The third segment was timed and never sent again, but its ACK waited for the first.
    Script::client(window_of(4)).run(
        "20 write 4000
         20 > . 1:1001 ack 1
         20 > . 1001:2001 ack 1
         20 > . 2001:3001 ack 1
         20 > . 3001:4001 ack 1
         30 < . 1:1 ack 1
         30 < . 1:1 ack 1
         30 < . 1:1 ack 1
         30 > . 1:1001 ack 1
         80 < . 1:1 ack 4001
         80 srtt 10",
    );
}

/// One timeout at 220; its repair at 230 releases new data.
const BACKED_OFF: &str = "20 write 3000
     20 > . 1:1001 ack 1
     220 > . 1:1001 ack 1
     230 < . 1:1 ack 1001
     230 > . 1001:2001 ack 1
     230 > . 2001:3001 ack 1";

#[test]
fn karn_backoff_lasts_until_a_clean_sample() {
    // Section 3 and 5.5 to 5.7: the ACK of the retransmission gives no sample, so the timeout stays 400 ms; the
    // next segments' ACK gives one.
    Script::client(Params { karn_backoff: true, ..window_of(1) }).run(BACKED_OFF).run(
        "230 rto 400
         230 deadline 630
         240 < . 1:1 ack 3001
         240 rto 200",
    );
}

#[test]
fn new_ack_clears_backoff_without_karn() {
    // As deployed stacks do.
    Script::client(Params { karn_backoff: false, ..window_of(1) }).run(BACKED_OFF).run(
        "230 rto 200
         230 deadline 430",
    );
}

#[test]
fn retransmitted_syn_gives_no_sample() {
    Script::new(plain()).run(
        "0 connect
         0 > S 0:0
         1000 > S 0:0
         1010 < S. 0:0 ack 1
         1010 > . 1:1 ack 1
         1010 srtt 0
         1010 rto 1000",
    );
}

#[test]
fn passes_round_trips_in_picoseconds() {
    // One picosecond over the handshake's is the longest so far: all of the range between the two.
    let counts = gentle_slow_start::Params { handshake: true, ..Default::default() };
    let law = Law { slow_start: Some(GentleSlowStart::start(&counts)), ..newreno() };
    let script = Script::client_with_law(plain(), law).run(
        "20 write 1000
         20 > . 1:1001 ack 1
         30.000000001 < . 1:1 ack 1001",
    );
    assert_eq!(script.endpoint().law().slow_start.map(|gss| gss.alpha_q16()), Some(65_536));
}
