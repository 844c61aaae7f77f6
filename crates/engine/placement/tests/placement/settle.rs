//! Placement of clusters, by hand.

use fanin_placement::picc::Params;
use fanin_placement::{Kind, Move, Object, Placement, Plan, Reason, Server, plan};

use crate::generate::cluster;
use crate::support::{log, objects, requests, ways};

/// Three racks of two servers, two replicas per object, one popular object, and queries with frequencies.
fn three_racks(room: u64, homes: &[u32], queries: &[(&[u32], usize)]) -> Plan {
    let placement = Placement::new(2, homes.iter().map(|home| Server(*home)).collect());
    let settings = Params { theta: 1, w: 2, ..Params::default() };
    let queries = queries.iter().flat_map(|(query, times)| vec![objects(query); *times]);
    // The popular object weighs so much that it stays where it is.
    let mut sizes = vec![1; placement.objects()];
    sizes[0] = 100;
    plan(
        &cluster(3, 2, requests(room)),
        &sizes,
        &placement,
        &log(placement.objects(), queries),
        None,
        Kind::Picc,
        &settings,
    )
    .expect("nothing is wrong")
}

const TOGETHER: &[(&[u32], usize)] = &[(&[0, 1, 2], 10), (&[0], 1)];

#[test]
fn cluster_moves_to_its_popular_object() {
    // The anchor is on 0 and 2. Object 1 on 1 and 3 moves there within racks 0 and 1; object 2 on 5 and 3: 3 to 2 within rack 1, 5 to the
    // remaining target.
    let plan = three_racks(1_000, &[0, 2, 1, 3, 5, 3], TOGETHER);
    assert_eq!(plan.clusters, [objects(&[0, 1, 2])]);
    assert_eq!(ways(&plan.moves), [(1, 1, 0), (1, 3, 2), (2, 5, 0), (2, 3, 2)]);
    assert!(plan.moves.iter().all(|of| of.reason == Reason::Correlated));
    assert_eq!(plan.gathering.iter().map(|at| at.server.0).collect::<Vec<_>>(), [0, 2]);
}

#[test]
fn replicas_on_targets_stay() {
    assert_eq!(three_racks(1_000, &[0, 2, 2, 0, 0, 2], TOGETHER).moves, []);
}

#[test]
fn no_rack_gets_a_second_replica() {
    // The anchor demands 6 of 0 and of 2, which have capacity 11: object 1's 5 fit, object 2's 5 fit on neither, although it has
    // replicas in racks 0 and 2.
    let plan = three_racks(11, &[0, 2, 1, 3, 1, 5], TOGETHER);
    assert_eq!(ways(&plan.moves), [(1, 1, 0), (1, 3, 2)]);
    // The most requested goes first: object 2, if requested once more than object 1.
    let plan = three_racks(12, &[0, 2, 1, 3, 1, 5], &[(&[0, 1, 2], 10), (&[2], 1), (&[0], 2)]);
    assert_eq!(ways(&plan.moves), [(2, 1, 0), (2, 5, 2)]);
}

#[test]
fn unpopular_cluster_moves_to_its_largest_part() {
    // Object 0 is popular, by itself. 1, 2 and 3 are close: two of them are on 1, two on 4; in rack 1 each of 2 and 3 has one.
    let close: &[(&[u32], usize)] = &[(&[0], 20), (&[1, 2, 3], 6)];
    let plan = three_racks(1_000, &[0, 2, 1, 4, 1, 3, 2, 4], close);
    assert_eq!(plan.clusters, [objects(&[1, 2, 3])]);
    // Object 2 on 1 and 3: 3 to 4, across racks. Object 3 on 2 and 4: 2 to 1.
    assert_eq!(ways(&plan.moves), [(2, 3, 4), (3, 2, 1)]);
}

#[test]
fn moves_popular_clustered_object_once() {
    // All are popular; object 2 goes to 3 in its rack, where object 1 makes the weight, which itself goes to object 0's server.
    let placement = Placement::new(1, vec![Server(0), Server(3), Server(2)]);
    let settings = Params { theta: 3, w: 2, ..Params::default() };
    let queries = std::iter::repeat_n(objects(&[0, 1]), 9).chain(std::iter::repeat_n(objects(&[0, 2]), 1));
    let plan =
        plan(&cluster(2, 2, requests(1_000)), &[1; 3], &placement, &log(3, queries), None, Kind::Picc, &settings);
    let plan = plan.expect("nothing is wrong");
    let expected = [
        Move { object: Object(1), from: Server(3), to: Server(0), reason: Reason::Correlated },
        Move { object: Object(2), from: Server(2), to: Server(3), reason: Reason::Popular },
    ];
    assert_eq!((plan.moves.as_slice(), plan.clusters), (&expected[..], vec![objects(&[0, 1])]));
}
