//! Choice of replicas.

use fanin_placement::{Cover, Placement, Server};

use crate::generate::{Draws, cluster, distinct, scattered};
use crate::support::requests;

#[test]
fn uses_fewer_servers_than_random_replicas() {
    let mut draws = Draws(3);
    let cluster = cluster(10, 10, requests(1 << 40));
    let placement = scattered(2_000, 3, 10, 10, &mut draws);
    let (mut cover, mut servers) = (Cover::new(cluster.racks.len(), 512), Vec::new());
    let (mut asked, mut drawn) = (0, 0);
    for _ in 0..500 {
        let query = distinct(20, || draws.below(2_000));
        cover.ask(&query, &placement, &mut servers);
        assert!(query.iter().zip(&servers).all(|(object, server)| placement.homes(*object).contains(server)));
        let mut any: Vec<Server> = query.iter().map(|of| placement.homes(*of)[draws.below(3) as usize]).collect();
        for (servers, sum) in [(&mut servers, &mut asked), (&mut any, &mut drawn)] {
            servers.sort_unstable();
            servers.dedup();
            *sum += servers.len();
        }
    }
    assert!(asked * 10 < drawn * 7, "{asked} of {drawn}");
}

#[test]
fn limits_each_servers_share() {
    let mut draws = Draws(4);
    // One server has everything, and each object is also on two others.
    let homes = (0..2_000).flat_map(|_| [0, 1 + draws.below(49), 50 + draws.below(50)].map(Server)).collect();
    let placement = Placement::new(3, homes);
    let busiest = [1 << 20, 512, 320].map(|most_q8| {
        let (mut cover, mut servers) = (Cover::new(100, most_q8), Vec::new());
        let mut loads = [0u64; 100];
        for _ in 0..10_000 {
            let query = distinct(10, || draws.below(2_000));
            cover.ask(&query, &placement, &mut servers);
            servers.iter().for_each(|server| loads[server.0 as usize] += 1);
        }
        *loads.iter().max().unwrap_or(&0) as f64 / 1_000.0
    });
    assert!(busiest[0] == 100.0 && busiest[1] < 2.1 && busiest[2] < 1.35, "{busiest:?}");
}

#[test]
fn skips_objects_without_servers() {
    let (mut cover, mut servers) = (Cover::new(3, 512), Vec::new());
    let homes: [&[Server]; 2] = [&[], &[Server(2)]];
    cover.choose(2, |object| homes[object], &mut servers);
    assert_eq!(servers[1], Server(2));
    assert!(servers[0].0 > 2);
}
