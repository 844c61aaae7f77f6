//! Co-location of popular objects in their racks: Algorithm 1 by hand.

use fanin_placement::picc::{Counts, Params};
use fanin_placement::{Kind, Placement, Plan, PlanError, RequestLog, Resources, Server, plan};

use crate::generate::cluster;
use crate::support::{log, objects, requests, ways};

/// A log with these frequencies, each object by itself.
fn asked(frequencies: &[u32]) -> RequestLog {
    let queries = (0..).zip(frequencies).flat_map(|(object, times)| vec![objects(&[object]); *times as usize]);
    log(frequencies.len(), queries)
}

/// Plan of one rack of four servers: sizes, servers and frequencies of objects, one replica each.
fn one_rack(theta: u32, room: u64, sizes: &[u64], at: &[u32], frequencies: &[u32]) -> Result<Plan, PlanError> {
    let placement = Placement::new(1, at.iter().map(|server| Server(*server)).collect());
    let settings = Params { theta, ..Params::default() };
    plan(
        &cluster(1, 4, requests(room)),
        sizes,
        &placement,
        &asked(frequencies),
        None,
        Kind::PiccNoCorrelation,
        &settings,
    )
}

#[test]
fn selects_first_servers_with_enough_capacity() {
    // W is 80, 60 + 10, 40, 20. The four popular objects demand 20 requests: server 0 has capacity 15, server 1 another 14, since one
    // goes to object 4, which is not popular. Objects 0 and 1 are there; 2 and 3 raise server 0's 8 requests to 12, then 14.
    let plan = one_rack(4, 15, &[10; 5], &[0, 1, 2, 3, 1], &[8, 6, 4, 2, 1]).expect("it fits");
    assert_eq!(ways(&plan.moves), [(2, 2, 0), (3, 3, 0)]);
    let gathering: Vec<_> = plan.gathering.iter().map(|at| (at.server.0, at.load.computing)).collect();
    assert_eq!(gathering, [(0, 14), (1, 7)]);
}

#[test]
fn adds_next_server_if_capacity_is_fragmented() {
    // W is 120, 120, 70, 60. Three objects of 6 requests: servers 0 and 1 have 9 each, 18 together, but neither twice 6.
    let plan = one_rack(3, 9, &[20, 20, 10, 70], &[0, 1, 3, 2], &[6, 6, 6, 1]).expect("it fits");
    assert_eq!(ways(&plan.moves), [(2, 3, 2)]);
    // If server 2 has no capacity, the current server has.
    let plan = one_rack(3, 9, &[20, 20, 10, 17], &[0, 1, 3, 2], &[6, 6, 6, 4]).expect("it fits");
    assert_eq!(ways(&plan.moves), []);
    assert_eq!(plan.gathering.iter().map(|at| at.server.0).collect::<Vec<_>>(), [0, 1, 3]);
}

#[test]
fn checks_each_resource() {
    // Objects 0 and 1 of 100 bytes, with 4 and 2 requests: each resource refuses if it is one short of both.
    let both = Resources { storage: 200, computing: 6, io: 6, bandwidth: 600 };
    let shorter = |by: Resources| both - by;
    let none = Resources::default();
    let placement = Placement::new(1, vec![Server(0), Server(1)]);
    let settings = Params { theta: 2, ..Params::default() };
    let moves = |capacity| {
        let plan = plan(
            &cluster(1, 2, capacity),
            &[100, 100],
            &placement,
            &asked(&[4, 2]),
            None,
            Kind::PiccNoCorrelation,
            &settings,
        );
        plan.expect("each has room for one").moves.len()
    };
    assert_eq!(moves(both), 1);
    assert_eq!(moves(shorter(Resources { storage: 1, ..none })), 0);
    assert_eq!(moves(shorter(Resources { computing: 1, ..none })), 0);
    assert_eq!(moves(shorter(Resources { io: 1, ..none })), 0);
    assert_eq!(moves(shorter(Resources { bandwidth: 1, ..none })), 0);
}

#[test]
fn co_locates_each_replica_in_its_rack() {
    // Two racks of two. Object 0 on 0 and 2, object 1 on 1 and 3; 5 and 4 requests are 3 and 2 per replica.
    let placement = Placement::new(2, [0, 2, 1, 3].map(Server).to_vec());
    let settings = Params { theta: 2, ..Params::default() };
    let plan = plan(
        &cluster(2, 2, requests(5)),
        &[1, 1],
        &placement,
        &asked(&[5, 4]),
        None,
        Kind::PiccNoCorrelation,
        &settings,
    );
    let plan = plan.expect("it fits");
    assert_eq!(ways(&plan.moves), [(1, 1, 0), (1, 3, 2)]);
    assert_eq!(plan.gathering.iter().map(|at| at.load.computing).collect::<Vec<_>>(), [5, 5]);
}

#[test]
fn refuses_object_above_every_capacity() {
    let error = one_rack(1, 9, &[20, 20], &[2, 1], &[10, 9]).expect_err("10 are more than 9");
    assert_eq!(
        error.to_string(),
        "object 0 is popular and demands from each of its servers 20 bytes of storage, 10 requests, 10 reads and 200 bytes to \
         send: no server of rack 0 has that capacity, even if empty"
    );
}

#[test]
fn overfull_server_keeps_objects_without_alternative() {
    // Server 3 has 16 requests and capacity 9: the first object goes to the other co-location server, and then 3 is within its
    // capacity.
    let plan = one_rack(2, 9, &[10, 10], &[3, 3], &[8, 8]).expect("each fits an empty server");
    assert_eq!(ways(&plan.moves), [(0, 3, 0)]);
    // With an object of 8 on each of the others there is no free capacity.
    let plan = one_rack(5, 9, &[10; 5], &[0, 1, 2, 3, 3], &[8; 5]).expect("each fits an empty server");
    assert_eq!(plan.moves, []);
}

#[test]
fn counts_setting_selects_counted_load() {
    // Server 0 has 80 bytes of unpopular objects and popular object 0; object 1 is on server 1. Each server has capacity 100.
    let room = Resources { storage: 100, computing: 100, io: 100, bandwidth: 10_000 };
    let placement = Placement::new(1, [0, 1, 0].map(Server).to_vec());
    let made = |counts| {
        let settings = Params { theta: 2, counts, ..Params::default() };
        let log = asked(&[9, 8, 1]);
        plan(&cluster(1, 2, room), &[20, 20, 80], &placement, &log, None, Kind::PiccNoCorrelation, &settings)
            .expect("it fits")
    };
    let (all, popular) = (made(Counts::All), made(Counts::Popular));
    assert_eq!(ways(&all.moves), []);
    assert_eq!(ways(&popular.moves), [(1, 1, 0)]);
    assert_eq!(popular.gathering.iter().map(|at| (at.server.0, at.load.storage)).collect::<Vec<_>>(), [(0, 40)]);
}
