//! What planning on the first half of a log does to its second half, which the plan has not seen.

use fanin_placement::picc::Params;
use fanin_placement::{Kind, Object, Placement, Resources, plan};

use crate::generate::{Draws, cluster, scattered};
use crate::pages::Pages;
use crate::support::log;

const OBJECTS: u32 = 100_000;

/// How many servers a query asks, in the mean: of each object that was moved the replica at a server that this query asks already,
/// if there is one; else any.
fn servers_a_query(queries: &[Vec<Object>], placement: &Placement, moved: &[bool], draws: &mut Draws) -> f64 {
    let mut asked = 0;
    for query in queries {
        let mut servers: Vec<u32> = Vec::new();
        for object in query {
            let homes = placement.homes(*object);
            let known = homes.iter().find(|home| moved[object.0 as usize] && servers.contains(&home.0));
            let server = known.unwrap_or(&homes[draws.below(homes.len() as u32) as usize]).0;
            if !servers.contains(&server) {
                servers.push(server);
            }
        }
        asked += servers.len();
    }
    asked as f64 / queries.len() as f64
}

/// Plans on the first half of so many queries for the pages, of whose 50 objects some are replaced: how many servers a query
/// of the second half asks before, with popularity alone, and with correlation.
fn planned(replaced: usize, queries: usize) -> [f64; 3] {
    let mut draws = Draws(15);
    let pages = Pages::new(OBJECTS, 5_000, 50, replaced, &mut draws);
    let placement = scattered(OBJECTS, 3, 80, 50, &mut draws);
    let sizes: Vec<u64> = (0..OBJECTS).map(|_| u64::from(20 + draws.below(1_005))).collect();
    // 64 GiB, and for five minutes 100,000 requests a second and 10 Gbit/s.
    let capacity = Resources { storage: 64 << 30, computing: 30_000_000, io: 30_000_000, bandwidth: 375_000_000_000 };
    let cluster = cluster(80, 50, capacity);
    let queries: Vec<Vec<Object>> = (0..queries).map(|_| pages.query(&mut draws)).collect();
    let (seen, unseen) = queries.split_at(queries.len() / 2);
    let log = log(OBJECTS as usize, seen.iter().cloned());
    let before = servers_a_query(unseen, &placement, &[false; OBJECTS as usize], &mut draws);
    let [popularity, correlation] = [Kind::PiccNoCorrelation, Kind::Picc].map(|kind| {
        let plan = plan(&cluster, &sizes, &placement, &log, None, kind, &Params::default()).expect("there is room");
        let (mut after, mut moved) = (placement.clone(), [false; OBJECTS as usize]);
        for of in &plan.moves {
            after.apply(of);
            moved[of.object.0 as usize] = true;
        }
        servers_a_query(unseen, &after, &moved, &mut draws)
    });
    println!(
        "{replaced:>2} of 50 replaced, {:>6} queries: {before:.1} servers a query, {popularity:.1} with popular objects \
         gathered, {correlation:.1} with correlated ones too",
        queries.len()
    );
    [before, popularity, correlation]
}

#[test]
fn what_was_seen_of_pages_halves_the_servers_of_a_query_that_was_not() {
    let [before, popularity, correlation] = planned(10, 20_000);
    assert!(correlation <= before / 2.0, "{before} servers a query, {correlation} after");
    // Popularity alone takes a part of it, less than correlation does.
    assert!(
        popularity < before * 0.9 && correlation < popularity * 0.7,
        "{before} servers a query, {popularity}, {correlation}"
    );
}

#[test]
#[ignore = "a table for docs/performance.md: --ignored --nocapture"]
fn how_much_it_is_depends_on_what_is_replaced_and_on_what_was_seen() {
    for (replaced, queries) in [(10, 5_000), (10, 20_000), (10, 80_000), (25, 20_000), (25, 80_000), (50, 20_000)] {
        planned(replaced, queries);
    }
}
