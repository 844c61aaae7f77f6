//! Effect of a plan made from the first half of a log on its second half.

use fanin_placement::picc::Params;
use fanin_placement::{Kind, Object, Placement, Resources, plan};
use fanin_units::Share;

use crate::generate::{Draws, cluster, scattered};
use crate::pages::Pages;
use crate::support::log;

const OBJECTS: u32 = 100_000;

/// Mean number of servers per query; for a moved object the replica on a server that the query contacts anyway, if there is one, else
/// any.
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

/// A log of the pages, and the plan's parameters.
#[derive(Clone, Copy)]
struct Trial {
    /// Of the 50 objects of a page.
    replaced: usize,
    queries: usize,
    /// Capacity of a server in a period: 100,000 requests per second for five minutes, or less.
    requests: u64,
    settings: Params,
}

impl Trial {
    fn new(replaced: usize, queries: usize) -> Trial {
        Trial { replaced, queries, requests: 30_000_000, settings: Params::default() }
    }

    /// Plans from the first half; returns servers per query of the second half before, with popular objects co-located, and with
    /// correlated ones, too.
    fn run(&self) -> [f64; 3] {
        let mut draws = Draws(15);
        let pages = Pages::new(OBJECTS, 5_000, 50, self.replaced, &mut draws);
        let placement = scattered(OBJECTS, 3, 80, 50, &mut draws);
        let sizes: Vec<u64> = (0..OBJECTS).map(|_| u64::from(20 + draws.below(1_005))).collect();
        let (computing, io) = (self.requests, self.requests);
        let cluster = cluster(80, 50, Resources { storage: 64 << 30, computing, io, bandwidth: 375_000_000_000 });
        let queries: Vec<Vec<Object>> = (0..self.queries).map(|_| pages.query(&mut draws)).collect();
        let (seen, unseen) = queries.split_at(queries.len() / 2);
        let log = log(OBJECTS as usize, seen.iter().cloned());
        let before = servers_a_query(unseen, &placement, &[false; OBJECTS as usize], &mut draws);
        let [popularity, correlation] = [Kind::PiccNoCorrelation, Kind::Picc].map(|kind| {
            let plan = plan(&cluster, &sizes, &placement, &log, None, kind, &self.settings).expect("there is room");
            let (mut after, mut moved) = (placement.clone(), [false; OBJECTS as usize]);
            for of in &plan.moves {
                after.apply(of);
                moved[of.object.0 as usize] = true;
            }
            servers_a_query(unseen, &after, &moved, &mut draws)
        });
        [before, popularity, correlation]
    }

    fn print(&self, says: &str) {
        let [before, popularity, correlation] = self.run();
        println!("| {says} | {before:.1} | {popularity:.1} | {correlation:.1} |");
    }
}

#[test]
fn plan_halves_servers_of_later_queries() {
    let [before, popularity, correlation] = Trial::new(10, 20_000).run();
    assert!(correlation <= before / 2.0, "{before} servers a query, {correlation} after");
    // Popularity alone has a smaller effect than correlation.
    assert!(
        popularity < before * 0.9 && correlation < popularity * 0.7,
        "{before} servers a query, {popularity}, {correlation}"
    );
}

#[test]
#[ignore = "make bench-placement: the tables of docs/performance.md"]
fn print_servers_per_query() {
    for (replaced, queries) in [(10, 5_000), (10, 20_000), (10, 80_000), (25, 20_000), (25, 80_000), (50, 20_000)] {
        Trial::new(replaced, queries).print(&format!("{replaced} of 50 replaced, {queries} queries"));
    }
    let usual = Trial::new(10, 20_000);
    let default = usual.settings;
    for requests in [2_500, 5_000, 20_000] {
        let little = Trial { requests, ..usual };
        little.print(&format!("{requests} requests a server"));
        let settings = Params { least: Share::of(0, 1), ..default };
        Trial { settings, ..little }.print(&format!("{requests} requests a server, least = 0"));
    }
    let share = Share::of;
    let others = [
        ("w = 2", Params { w: 2, ..default }),
        ("w = 5", Params { w: 5, ..default }),
        ("w = 20", Params { w: 20, ..default }),
        ("strongest = 5", Params { strongest: 5, ..default }),
        ("strongest = 20", Params { strongest: 20, ..default }),
        ("strongest = 50", Params { strongest: 50, ..default }),
        ("least = 0", Params { least: share(0, 1), ..default }),
        ("least = 1/10", Params { least: share(1, 10), ..default }),
        ("least = 1/4", Params { least: share(1, 4), ..default }),
        ("least = 1/2", Params { least: share(1, 2), ..default }),
        ("least = 2/3", Params { least: share(2, 3), ..default }),
        ("alpha = beta = 1/3", Params { alpha: share(1, 3), beta: share(1, 3), ..default }),
        ("alpha = 1, beta = 0", Params { alpha: share(1, 1), beta: share(0, 1), ..default }),
        ("theta = 100", Params { theta: 100, ..default }),
        ("theta = 10,000", Params { theta: 10_000, ..default }),
    ];
    for (says, settings) in others {
        Trial { settings, ..usual }.print(says);
    }
}
