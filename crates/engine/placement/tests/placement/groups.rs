//! Groups of servers.

use std::collections::BTreeSet;

use fanin_placement::groups::Params;
use fanin_placement::{Cluster, Cover, Object, Placement, Plan, PlanError, RequestLog, Resources, plan_groups};
use fanin_units::Bytes;

use crate::generate::{Draws, Zipfian, cluster, distinct, scattered};
use crate::pages::Pages;
use crate::support::log;

const OBJECTS: u32 = 3_000;
const ROOM: Resources = Resources { storage: 1 << 30, computing: 1 << 30, io: 1 << 30, bandwidth: 1 << 40 };

/// Queries for pages, the same pages every day.
fn pages(day: u64, queries: usize) -> RequestLog {
    let pages = Pages::new(OBJECTS, 150, 20, 2, &mut Draws(5));
    let mut draws = Draws(100 + day);
    log(OBJECTS as usize, (0..queries).map(|_| pages.query(&mut draws)))
}

fn sizes() -> Vec<u64> {
    (0..u64::from(OBJECTS)).map(|object| 20 + object * 7 % 1_000).collect()
}

fn planned(cluster: &Cluster, before: &Placement, log: &RequestLog, budget: Option<Bytes>) -> Plan {
    plan_groups(cluster, &sizes(), before, log, &Params::default(), budget).expect("there is room")
}

fn after(before: &Placement, plan: &Plan) -> Placement {
    let mut placement = before.clone();
    plan.moves.iter().for_each(|of| placement.apply(of));
    placement
}

/// Servers per query, and the busiest server's load over the mean.
fn judged(log: &RequestLog, placement: &Placement, servers: usize) -> (f64, f64) {
    let (mut cover, mut asked, mut sum) = (Cover::new(servers, 512), Vec::new(), 0);
    let mut loads = vec![0u64; servers];
    for query in 0..log.kept() {
        cover.ask(log.query(query), placement, &mut asked);
        asked.iter().for_each(|server| loads[server.0 as usize] += 1);
        sum += asked.iter().collect::<BTreeSet<_>>().len();
    }
    let busiest = *loads.iter().max().unwrap_or(&0) as f64 * servers as f64;
    (sum as f64 / log.kept() as f64, busiest / loads.iter().sum::<u64>() as f64)
}

#[test]
fn co_locates_pages_within_load_bound() {
    let cluster = cluster(5, 12, ROOM);
    let before = scattered(OBJECTS, 3, 5, 12, &mut Draws(1));
    let plan = planned(&cluster, &before, &pages(0, 3_000), None);
    let after = after(&before, &plan);
    let unseen = pages(1, 3_000);
    let ((were, _), (are, busiest)) = (judged(&unseen, &before, 60), judged(&unseen, &after, 60));
    assert!(are * 2.0 < were && busiest < 2.1, "{are} of {were}, {busiest}");
    for object in after.all() {
        let racks: BTreeSet<u32> = after.homes(object).iter().map(|home| cluster.rack(*home)).collect();
        assert_eq!(racks.len(), 3, "object {}", object.0);
    }
}

#[test]
fn moves_never_exceed_capacity() {
    let tight = Resources { storage: 100_000, ..ROOM };
    let cluster = cluster(5, 12, tight);
    let mut placement = scattered(OBJECTS, 3, 5, 12, &mut Draws(1));
    let plan = planned(&cluster, &placement, &pages(0, 3_000), None);
    assert!(plan.moves.len() > 1_000);
    let sizes = sizes();
    let held = |placement: &Placement| {
        let mut held = [0; 60];
        placement.all().for_each(|of| {
            placement.homes(of).iter().for_each(|home| held[home.0 as usize] += sizes[of.0 as usize]);
        });
        held.into_iter().max().unwrap_or(0)
    };
    assert!(held(&placement) <= tight.storage);
    for of in &plan.moves {
        let rack = cluster.rack(of.to);
        let others = placement.homes(of.object).iter().filter(|home| **home != of.from);
        assert!(others.into_iter().all(|home| cluster.rack(*home) != rack));
        placement.apply(of);
    }
    assert!(held(&placement) <= tight.storage);
}

#[test]
fn unrelated_objects_do_not_move() {
    let cluster = cluster(5, 12, ROOM);
    let before = scattered(OBJECTS, 3, 5, 12, &mut Draws(1));
    let popular = Zipfian::new(OBJECTS);
    for zipfian in [true, false] {
        let mut draws = Draws(9);
        let draw = |draws: &mut Draws| if zipfian { popular.draw(draws) } else { draws.below(OBJECTS) };
        let log = log(OBJECTS as usize, (0..3_000).map(|_| distinct(20, || draw(&mut draws))));
        assert_eq!(planned(&cluster, &before, &log, None).moves, [], "zipfian: {zipfian}");
    }
}

#[test]
fn replanning_moves_few_objects() {
    let cluster = cluster(5, 12, ROOM);
    let before = scattered(OBJECTS, 3, 5, 12, &mut Draws(1));
    let first = planned(&cluster, &before, &pages(0, 3_000), None);
    let lies = after(&before, &first);
    let again = planned(&cluster, &lies, &pages(1, 3_000), None);
    let moved: BTreeSet<Object> = again.moves.iter().map(|of| of.object).collect();
    assert!(moved.len() * 20 < OBJECTS as usize, "{} of {OBJECTS}", moved.len());
}

#[test]
fn budget_prefers_savings_per_byte() {
    let cluster = cluster(5, 12, ROOM);
    let before = scattered(OBJECTS, 3, 5, 12, &mut Draws(1));
    let (seen, unseen) = (pages(0, 3_000), pages(1, 3_000));
    let servers = |budget| {
        let plan = planned(&cluster, &before, &seen, budget);
        let bytes: u64 = plan.moves.iter().map(|of| sizes()[of.object.0 as usize]).sum();
        assert!(budget.is_none_or(|budget: Bytes| bytes <= budget.0), "{bytes} of {budget:?}");
        judged(&unseen, &after(&before, &plan), 60).0
    };
    let [none, some, all] = [Some(Bytes(0)), Some(Bytes(400_000)), None].map(servers);
    assert!(all < some && some < none, "{none}, {some}, {all}");
    assert!(
        (none - some) > (none - all) * 0.25,
        "a tenth of the bytes saves more than its part: {none}, {some}, {all}"
    );
}

#[test]
fn budget_orders_objects_without_size() {
    let cluster = cluster(5, 12, ROOM);
    let sizes: Vec<u64> = sizes().into_iter().map(|size| if size % 2 == 0 { 0 } else { size }).collect();
    let planned = |before: &Placement, log: &RequestLog, budget| {
        plan_groups(&cluster, &sizes, before, log, &Params::default(), budget).expect("there is room")
    };
    let scattered = scattered(OBJECTS, 3, 5, 12, &mut Draws(1));
    let lies = after(&scattered, &planned(&scattered, &pages(0, 3_000), None));
    // Related objects have changed since the last plan: some moves save much, others cost.
    for seed in 0..100 {
        let mut draws = Draws(seed);
        let others = Pages::new(OBJECTS, 8, 20, 2, &mut draws);
        let log = log(OBJECTS as usize, (0..100).map(|_| others.query(&mut draws)));
        let plan = planned(&lies, &log, Some(Bytes(10_000)));
        let bytes: u64 = plan.moves.iter().map(|of| sizes[of.object.0 as usize]).sum();
        assert!(!plan.moves.is_empty() && bytes <= 10_000, "{bytes} B");
    }
}

#[test]
fn refuses_demand_above_total_capacity() {
    let cluster = cluster(5, 12, Resources { storage: 50_000, ..ROOM });
    let before = scattered(OBJECTS, 3, 5, 12, &mut Draws(1));
    let refused = plan_groups(&cluster, &sizes(), &before, &pages(0, 100), &Params::default(), None);
    assert!(matches!(refused, Err(PlanError::Short { .. })), "{refused:?}");
}

#[test]
fn co_locates_disjoint_pages_without_replicas() {
    const PAGES: u32 = 60;
    let cluster = cluster(1, 30, ROOM);
    for a_page in [20, 60, 100, 150, 200, 300] {
        let objects = PAGES * a_page;
        let page = |page: u32| (page * a_page..(page + 1) * a_page).map(Object).collect();
        let log = log(objects as usize, (0..1_500).map(|query| page(query % PAGES)));
        let before = scattered(objects, 1, 1, 30, &mut Draws(1));
        let sizes = vec![100; objects as usize];
        let plan = plan_groups(&cluster, &sizes, &before, &log, &Params::default(), None).expect("there is room");
        let (servers, busiest) = judged(&log, &after(&before, &plan), 30);
        assert!(
            servers <= 1.05 && busiest <= 2.0,
            "{a_page} keys a page: {servers} servers a query, {busiest} times the mean"
        );
    }
}
