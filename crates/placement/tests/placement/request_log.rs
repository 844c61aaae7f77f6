//! What a log of requests keeps, and what it lets go of.

use crate::support::objects;
use fanin_placement::{Object, RequestLog};
use fanin_units::Time;

/// Queries a millisecond apart for two objects each: its number modulo 10, and 10.
fn log(queries: u32, limit: usize) -> RequestLog {
    let mut log = RequestLog::new(11, limit);
    for number in 0..queries {
        log.add(Time::from_millis(number.into()), objects(&[number % 10, 10]));
    }
    log
}

#[test]
fn an_object_counts_once_a_query() {
    let mut log = RequestLog::new(4, 100);
    log.add(Time::ZERO, objects(&[3, 1, 3]));
    log.add(Time::from_millis(1), objects(&[]));
    log.add(Time::from_millis(2), objects(&[1]));
    assert_eq!((0..4).map(|object| log.frequency(Object(object))).collect::<Vec<_>>(), [0, 2, 0, 1]);
    assert_eq!((log.query(0), log.query(1), log.query(2)), (&objects(&[1, 3])[..], &[][..], &objects(&[1])[..]));
}

#[test]
fn the_next_query_follows_if_it_is_soon_enough() {
    let mut log = RequestLog::new(1, 100);
    for ms in [0, 5, 16] {
        log.add(Time::from_millis(ms), objects(&[0]));
    }
    let within = Time::from_millis(10);
    assert_eq!([0, 1, 2].map(|query| log.follows(query, within)), [false, true, false]);
}

#[test]
fn beyond_its_limit_runs_of_queries_are_let_go_of_and_frequencies_stay_exact() {
    // 1,000 queries of 2 objects are 15 runs of 64 and one of 40: a limit of 600 requests, 300 queries, holds no more than 4 runs.
    let log = log(1_000, 600);
    assert_eq!((log.seen(), log.kept()), (1_000, 256));
    assert_eq!((log.frequency(Object(10)), log.frequency(Object(3))), (1_000, 100));
    // One run in four: what follows, follows but at the three seams.
    let follows = (0..256).filter(|query| log.follows(*query, Time::from_millis(1))).count();
    assert_eq!(follows, 256 - 4);
    // Its second run is that of the queries 256 to 319.
    assert_eq!((log.query(64), log.query(255)), (&objects(&[6, 10])[..], &objects(&[(3 * 256 + 63) % 10, 10])[..]));
}

#[test]
fn a_limit_below_a_run_keeps_its_first_queries() {
    let log = log(1_000, 21);
    assert_eq!((log.kept(), log.frequency(Object(10))), (10, 1_000));
}

#[test]
fn memory_is_bounded_by_the_limit_whatever_comes() {
    let mut log = RequestLog::new(1_000, 5_000);
    for number in 0..20_000 {
        log.add(Time::ZERO, (0..number % 37).map(|place| Object((number * 31 + place) % 1_000)));
        assert!((0..log.kept()).map(|query| log.query(query).len()).sum::<usize>() <= 5_000, "at query {number}");
    }
    assert!(log.kept() >= 130, "{} of some 270 that fit", log.kept());
}

#[test]
#[should_panic(expected = "index out of bounds")]
fn an_object_that_there_is_not_is_refused() {
    RequestLog::new(4, 100).add(Time::ZERO, objects(&[4]));
}
