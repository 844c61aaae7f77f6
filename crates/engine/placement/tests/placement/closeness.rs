//! Closeness: by hand, against a count of all pairs, and over several periods.

use std::collections::BTreeMap;

use fanin_placement::closeness::{Edge, UNIT, closeness};
use fanin_placement::picc::Params;
use fanin_placement::{Object, RequestLog};
use fanin_units::{Share, Time};

use crate::generate::Draws;
use crate::support::{self, objects};

/// Weight 1/2 for a query, 1/4 for the next, all edges.
fn all() -> Params {
    Params {
        alpha: Share::of(1, 2),
        beta: Share::of(1, 4),
        w: 1,
        strongest: 1_000,
        least: Share::of(0, 1),
        ..Params::default()
    }
}

fn log(count: usize, queries: &[&[u32]]) -> RequestLog {
    support::log(count, queries.iter().map(|query| objects(query)))
}

/// Closeness by pair, lower index first.
fn pairs(edges: &[Edge]) -> BTreeMap<(u32, u32), u32> {
    let pair = |edge: &Edge| {
        let [one, other] = edge.ends.map(|end| end.0);
        ((one.min(other), one.max(other)), edge.closeness)
    };
    let pairs: BTreeMap<_, _> = edges.iter().map(pair).collect();
    assert_eq!(pairs.len(), edges.len(), "a pair has two edges");
    pairs
}

/// Equation 1 with P and Q counted pair by pair, in units, without history.
fn pair_by_pair(log: &RequestLog, settings: &Params) -> BTreeMap<(u32, u32), u32> {
    let (alpha, beta) = (settings.alpha.in_q(8), settings.beta.in_q(8));
    let mut sums = BTreeMap::new();
    let mut add = |one: Object, other: Object, weight| {
        if one != other {
            *sums.entry((one.0.min(other.0), one.0.max(other.0))).or_default() += weight;
        }
    };
    for query in 0..log.kept() {
        for (place, one) in log.query(query).iter().enumerate() {
            log.query(query)[place + 1..].iter().for_each(|other| add(*one, *other, alpha));
            if log.follows(query, settings.slot) {
                log.query(query - 1).iter().for_each(|other| add(*one, *other, beta));
            }
        }
    }
    sums.values_mut().for_each(|sum| *sum = *sum * UNIT / (alpha + beta));
    sums
}

fn random_log(draws: &mut Draws, count: u32, queries: u64) -> RequestLog {
    let mut log = RequestLog::new(count as usize, 1 << 20);
    let mut at = Time::ZERO;
    for _ in 0..queries {
        at = at.saturating_add(Time::from_secs(u64::from(draws.below(12))));
        // Lower objects are more frequent.
        let asked: Vec<Object> =
            (0..draws.below(9)).map(|_| Object(draws.below(count).min(draws.below(count)))).collect();
        log.add(at, asked);
    }
    log
}

#[test]
fn joint_and_successive_requests_are_close() {
    // 0 and 1: twice in a query, 2/2, and from the first query to the second in both orders, 2/4. 2 follows both: 1/4.
    // Without history S / (α + β): 3/2 and 1/4 become 2 and 1/3.
    let edges = closeness(&log(3, &[&[0, 1], &[0, 1], &[2]]), None, &all());
    assert_eq!(pairs(&edges), BTreeMap::from([((0, 1), 2 * UNIT), ((0, 2), UNIT / 3), ((1, 2), UNIT / 3)]));
    // With an empty history they follow equation 1.
    let edges = closeness(&log(3, &[&[0, 1], &[0, 1], &[2]]), Some(&[]), &all());
    assert_eq!(pairs(&edges), BTreeMap::from([((0, 1), UNIT * 3 / 2), ((0, 2), UNIT / 4), ((1, 2), UNIT / 4)]));
}

#[test]
fn later_query_is_no_successor() {
    let settings = Params { slot: Time::from_millis(999), ..all() };
    assert_eq!(closeness(&log(2, &[&[0], &[1]]), Some(&[]), &settings), []);
}

#[test]
fn history_decays_and_requests_add() {
    let history = [
        Edge { ends: [Object(1), Object(0)], closeness: 1_000 },
        Edge { ends: [Object(2), Object(3)], closeness: 999 },
    ];
    // A quarter remains of each: 250, and 249 rounded down; plus one common query.
    let edges = closeness(&log(4, &[&[0, 1]]), Some(&history), &all());
    assert_eq!(pairs(&edges), BTreeMap::from([((0, 1), 250 + UNIT / 2), ((2, 3), 249)]));
    // Until nothing remains.
    let mut edges = edges;
    for _ in 0..8 {
        edges = closeness(&log(4, &[]), Some(&edges), &all());
    }
    assert_eq!(edges, []);
}

#[test]
fn closeness_equals_count_of_pairs() {
    for seed in 0..100 {
        let log = random_log(&mut Draws(seed), 30, 60);
        let settings = Params { w: 1, ..all() };
        let mut expected = pair_by_pair(&log, &settings);
        expected.retain(|_, closeness| *closeness > 0);
        assert_eq!(pairs(&closeness(&log, None, &settings)), expected, "seed {seed}");
    }
}

#[test]
fn keeps_strongest_edges_only() {
    let mut kept = 0;
    for seed in 0..100 {
        let log = random_log(&mut Draws(seed), 30, 80);
        let settings = Params { w: 2, strongest: 3, least: Share::of(1, 5), ..all() };
        let rank = |object: u32| (std::cmp::Reverse(log.frequency(Object(object))), object);
        let mut rows: BTreeMap<u32, Vec<(u32, u32)>> = BTreeMap::new();
        for ((one, other), closeness) in pair_by_pair(&log, &settings) {
            let (hot, rare) = if rank(one) < rank(other) { (one, other) } else { (other, one) };
            // At least three edges above 2/3 are needed to exceed 2; and a fifth of the more frequent object's requests must be common.
            if closeness > 2 * UNIT / 3 && closeness >= log.frequency(Object(hot)) * UNIT / 5 {
                rows.entry(rare).or_default().push((closeness, hot));
            }
        }
        let mut expected = BTreeMap::new();
        for (rare, mut row) in rows {
            row.sort_by_key(|(closeness, hot)| (std::cmp::Reverse(*closeness), rank(*hot)));
            row.truncate(3);
            expected.extend(row.into_iter().map(|(closeness, hot)| ((hot.min(rare), hot.max(rare)), closeness)));
        }
        kept += expected.len();
        assert_eq!(pairs(&closeness(&log, None, &settings)), expected, "seed {seed}");
    }
    assert!(kept > 1_000, "but {kept} edges are left");
}

#[test]
fn same_log_again_changes_no_closeness() {
    for seed in 0..30 {
        let log = random_log(&mut Draws(seed), 30, 80);
        let third = Share::of(1, 3);
        let settings = Params { alpha: third, beta: third, strongest: 4, least: Share::of(1, 8), ..all() };
        let first = closeness(&log, None, &settings);
        assert_eq!(pairs(&closeness(&log, Some(&first), &settings)), pairs(&first), "seed {seed}");
    }
}

#[test]
fn scales_sampled_log() {
    let mut log = RequestLog::new(2, 130);
    for number in 0..1_280 {
        log.add(Time::from_secs(100 * number), objects(&[0, 1]));
    }
    assert_eq!((log.seen(), log.kept()), (1_280, 64));
    assert_eq!(pairs(&closeness(&log, Some(&[]), &all())), BTreeMap::from([((0, 1), 1_280 * UNIT / 2)]));
}
