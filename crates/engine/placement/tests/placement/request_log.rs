//! Sampling of request logs.

use crate::support::objects;
use fanin_placement::{Object, RequestLog};
use fanin_units::Time;

/// Queries a millisecond apart for two objects each: its index modulo 10, and 10.
fn log(queries: u32, limit: usize) -> RequestLog {
    let mut log = RequestLog::new(11, limit);
    for number in 0..queries {
        log.add(Time::from_millis(number.into()), objects(&[number % 10, 10]));
    }
    log
}

#[test]
fn counts_object_once_per_query() {
    let mut log = RequestLog::new(4, 100);
    log.add(Time::ZERO, objects(&[3, 1, 3]));
    log.add(Time::from_millis(1), objects(&[]));
    log.add(Time::from_millis(2), objects(&[1]));
    assert_eq!((0..4).map(|object| log.frequency(Object(object))).collect::<Vec<_>>(), [0, 2, 0, 1]);
    assert_eq!((log.query(0), log.query(1), log.query(2)), (&objects(&[1, 3])[..], &[][..], &objects(&[1])[..]));
}

#[test]
fn next_query_follows_within_slot() {
    let mut log = RequestLog::new(1, 100);
    for ms in [0, 5, 16] {
        log.add(Time::from_millis(ms), objects(&[0]));
    }
    let within = Time::from_millis(10);
    assert_eq!([0, 1, 2].map(|query| log.follows(query, within)), [false, true, false]);
}

#[test]
fn drops_runs_but_keeps_frequencies() {
    // 1,000 queries of 2 objects are 15 runs of 64 and one of 40: a limit of 600 requests, 300 queries, holds at most 4 runs.
    let log = log(1_000, 600);
    assert_eq!((log.seen(), log.kept()), (1_000, 256));
    assert_eq!((log.frequency(Object(10)), log.frequency(Object(3))), (1_000, 100));
    // One run in four: each query follows the one before except at the three seams.
    let follows = (0..256).filter(|query| log.follows(*query, Time::from_millis(1))).count();
    assert_eq!(follows, 256 - 4);
    // Its second run has the queries 256 to 319.
    assert_eq!((log.query(64), log.query(255)), (&objects(&[6, 10])[..], &objects(&[(3 * 256 + 63) % 10, 10])[..]));
}

#[test]
fn limit_below_run_keeps_first_queries() {
    let log = log(1_000, 21);
    assert_eq!((log.kept(), log.frequency(Object(10))), (10, 1_000));
}

#[test]
fn limit_bounds_memory() {
    let mut log = RequestLog::new(1_000, 5_000);
    for number in 0..20_000 {
        log.add(Time::ZERO, (0..number % 37).map(|place| Object((number * 31 + place) % 1_000)));
        assert!((0..log.kept()).map(|query| log.query(query).len()).sum::<usize>() <= 5_000, "at query {number}");
    }
    assert!(log.kept() >= 130, "{} of some 270 that fit", log.kept());
}

#[test]
#[should_panic(expected = "index out of bounds")]
fn refuses_unknown_object() {
    RequestLog::new(4, 100).add(Time::ZERO, objects(&[4]));
}
