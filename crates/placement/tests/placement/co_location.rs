//! Popular objects gathered in their racks: Algorithm 1 by hand.

use fanin_placement::picc::{Counts, Params};
use fanin_placement::{Kind, Placement, Plan, PlanError, RequestLog, Resources, Server, plan};

use crate::generate::cluster;
use crate::support::{log, objects, requests, ways};

/// A log in which each object is asked for so often, by itself.
fn asked(frequencies: &[u32]) -> RequestLog {
    let queries = (0..).zip(frequencies).flat_map(|(object, times)| vec![objects(&[object]); *times as usize]);
    log(frequencies.len(), queries)
}

/// One rack of four servers: objects of these sizes, one replica of each at these servers, so often asked for.
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
fn popular_objects_go_to_the_first_servers_whose_room_is_enough_for_all() {
    // W is 80, 60 + 10, 40, 20. All four popular objects ask for 20 requests: server 0 can give 15, server 1 another 14, as
    // one goes to object 4, which is not popular. Objects 0 and 1 lie there; 2 and 3 make server 0's 8 requests 12, then 14.
    let plan = one_rack(4, 15, &[10; 5], &[0, 1, 2, 3, 1], &[8, 6, 4, 2, 1]).expect("it fits");
    assert_eq!(ways(&plan.moves), [(2, 2, 0), (3, 3, 0)]);
    let gathering: Vec<_> = plan.gathering.iter().map(|at| (at.server.0, at.load.computing)).collect();
    assert_eq!(gathering, [(0, 14), (1, 7)]);
}

#[test]
fn where_room_is_fragmented_the_next_server_by_weight_becomes_a_gathering_server() {
    // W is 120, 120, 70, 60. Three objects of 6 requests: servers 0 and 1 can give 9 each, 18 together, but neither twice 6.
    let plan = one_rack(3, 9, &[20, 20, 10, 70], &[0, 1, 3, 2], &[6, 6, 6, 1]).expect("it fits");
    assert_eq!(ways(&plan.moves), [(2, 3, 2)]);
    // Where server 2 has no room for it, there is where it lies.
    let plan = one_rack(3, 9, &[20, 20, 10, 17], &[0, 1, 3, 2], &[6, 6, 6, 4]).expect("it fits");
    assert_eq!(ways(&plan.moves), []);
    assert_eq!(plan.gathering.iter().map(|at| at.server.0).collect::<Vec<_>>(), [0, 1, 3]);
}

#[test]
fn each_resource_is_looked_at() {
    // Objects 0 and 1 of 100 bytes, asked for 4 and 2 times: each of the four says no where it is one short of both.
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
fn every_replica_is_gathered_in_its_own_rack_and_asks_for_its_part() {
    // Two racks of two. Object 0 at 0 and 2, object 1 at 1 and 3; 5 and 4 requests are 3 and 2 a replica.
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
fn an_object_that_no_server_of_its_rack_could_hold_is_an_error_that_says_where() {
    let error = one_rack(1, 9, &[20, 20], &[2, 1], &[10, 9]).expect_err("10 are more than 9");
    assert_eq!(
        error.to_string(),
        "object 0 is popular and asks each of its servers for 20 bytes of storage, 10 requests, 10 reads and 200 bytes to \
         send: no server of rack 0 can give that, were it empty"
    );
}

#[test]
fn a_server_that_has_too_much_keeps_it_unless_there_is_room_elsewhere() {
    // Server 3 is asked for 16 and can give 9: the object that comes first goes to the other gathering server, and then 3 is not
    // above what it can give.
    let plan = one_rack(2, 9, &[10, 10], &[3, 3], &[8, 8]).expect("each fits an empty server");
    assert_eq!(ways(&plan.moves), [(0, 3, 0)]);
    // With an object of 8 at each of the others there is room nowhere.
    let plan = one_rack(5, 9, &[10; 5], &[0, 1, 2, 3, 3], &[8; 5]).expect("each fits an empty server");
    assert_eq!(plan.moves, []);
}

#[test]
fn what_is_not_popular_counts_where_all_is_counted_and_not_where_popular_demand_is() {
    // Server 0 holds 80 bytes of what few ask for and popular object 0; object 1 lies at server 1. Each server has room for 100.
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
