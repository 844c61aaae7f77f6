//! Whole plans: invariants after every move, and over several periods.

use fanin_placement::picc::Params;
use fanin_placement::{Cluster, Kind, Move, Object, Placement, Plan, PlanError, RequestLog, Resources, Server, plan};
use fanin_units::Share;
use proptest::prelude::*;

use crate::generate::{Draws, cluster, scattered};
use crate::pages::Pages;
use crate::support::{log, objects, requests};

/// Demand of a replica of each object, computed independently.
fn demand(object: Object, sizes: &[u64], log: &RequestLog, replicas: usize) -> Resources {
    let size = sizes[object.0 as usize];
    let asked = u64::from(log.frequency(object)).div_ceil(replicas as u64);
    Resources { storage: size, computing: asked, io: asked, bandwidth: size * asked }
}

fn loads(cluster: &Cluster, sizes: &[u64], placement: &Placement, log: &RequestLog) -> Vec<Resources> {
    let mut loads = vec![Resources::default(); cluster.racks.len()];
    for object in placement.all() {
        for home in placement.homes(object) {
            loads[home.0 as usize] += demand(object, sizes, log, placement.replicas());
        }
    }
    loads
}

/// Applies and checks each move: the object is on its old server, the new one has capacity while both have the object, and no rack has
/// two replicas of it.
fn walk(
    cluster: &Cluster,
    sizes: &[u64],
    placement: &Placement,
    log: &RequestLog,
    moves: &[Move],
) -> Result<Vec<Resources>, TestCaseError> {
    let (mut placement, mut loads) = (placement.clone(), loads(cluster, sizes, placement, log));
    for of in moves {
        prop_assert!(placement.homes(of.object).contains(&of.from) && of.from != of.to);
        let demand = demand(of.object, sizes, log, placement.replicas());
        loads[of.to.0 as usize] += demand;
        prop_assert!(loads[of.to.0 as usize].fits(cluster.capacity(of.to)), "{:?} is too much", of);
        loads[of.from.0 as usize] = loads[of.from.0 as usize] - demand;
        placement.apply(of);
        let mut racks: Vec<u32> = placement.homes(of.object).iter().map(|home| cluster.rack(*home)).collect();
        racks.sort_unstable();
        prop_assert!(racks.is_sorted_by(|one, other| one < other), "{of:?} makes racks {racks:?}");
    }
    Ok(loads)
}

/// A cluster with small to large capacities.
fn uneven(racks: u32, a_rack: u32, plenty: Resources, draws: &mut Draws) -> Cluster {
    let mut cluster = cluster(racks, a_rack, plenty);
    for capacity in &mut cluster.capacities {
        let mut part = |whole: u64| whole / 4 + u64::from(draws.below(whole as u32));
        let Resources { storage, computing, io, bandwidth } = plenty;
        *capacity =
            Resources { storage: part(storage), computing: part(computing), io: part(io), bandwidth: part(bandwidth) };
    }
    cluster
}

proptest! {
    #![proptest_config(fanin_testing::cases(500))]

    #[test]
    fn moves_respect_capacities_and_racks(
        seed in any::<u64>(),
        (racks, a_rack, replicas) in (3..9u32, 1..8u32, 1..4usize),
        (theta, w, strongest) in (1..60u32, 1..12u32, 1..30u32),
        (plenty, correlation) in (1..40u64, any::<bool>()),
    ) {
        let mut draws = Draws(seed);
        let pages = Pages::new(160, 20, 10, 3, &mut draws);
        let log = log(160, (0..120).map(|_| pages.query(&mut draws)));
        let placement = scattered(160, replicas, racks, a_rack, &mut draws);
        let sizes: Vec<u64> = (0..160).map(|_| u64::from(20 + draws.below(1_005))).collect();
        // From a server's share of the total demand to all of it.
        let asked = plenty * 2_000 / 40 / replicas as u64 + 20;
        let whole = Resources { storage: plenty * 4_000, computing: asked, io: asked, bandwidth: asked * 500 };
        let cluster = uneven(racks, a_rack, whole, &mut draws);
        let settings = Params { theta, w, strongest, ..Params::default() };
        let kind = if correlation { Kind::Picc } else { Kind::PiccNoCorrelation };
        let plan = match plan(&cluster, &sizes, &placement, &log, None, kind, &settings) {
            Ok(plan) => plan,
            Err(PlanError::TooLarge(error)) => {
                let mut servers = (0..racks * a_rack).map(Server).filter(|server| cluster.rack(*server) == error.rack);
                prop_assert!(servers.all(|server| !error.demand.fits(cluster.capacity(server))));
                return Ok(());
            }
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
        };
        let before = loads(&cluster, &sizes, &placement, &log);
        let loads = walk(&cluster, &sizes, &placement, &log, &plan.moves)?;
        for at in &plan.gathering {
            prop_assert_eq!(at.load, loads[at.server.0 as usize]);
            prop_assert_eq!(at.capacity, *cluster.capacity(at.server));
        }
        for (server, load) in loads.iter().enumerate() {
            let kept = load.fits(&before[server]);
            prop_assert!(kept || load.fits(&cluster.capacities[server]), "server {server} has {load}");
        }
        let mut seen: Vec<(u32, u32)> = plan.moves.iter().map(|of| (of.object.0, of.from.0)).collect();
        seen.sort_unstable();
        prop_assert!(seen.is_sorted_by(|one, other| one < other), "a replica is moved twice");
        if !correlation {
            prop_assert!(plan.moves.iter().all(|of| cluster.rack(of.from) == cluster.rack(of.to)));
        }
    }
}

/// A period's plan; also applies it to the placement.
fn period(cluster: &Cluster, placement: &mut Placement, log: &RequestLog, before: Option<&Plan>) -> Plan {
    let sizes = vec![500; placement.objects()];
    let settings = Params { theta: 50, ..Params::default() };
    let history = before.map(|plan| plan.history.as_slice());
    let plan = plan(cluster, &sizes, placement, log, history, Kind::Picc, &settings).expect("there is room");
    plan.moves.iter().for_each(|of| placement.apply(of));
    plan
}

#[test]
fn similar_logs_move_little() {
    for (seed, room) in (0..10).flat_map(|seed| [(seed, 2_000), (seed, 100_000)]) {
        let mut draws = Draws(seed);
        let cluster = cluster(10, 10, requests(room));
        let mut placement = scattered(3_000, 3, 10, 10, &mut draws);
        let pages = Pages::new(3_000, 150, 20, 3, &mut draws);
        let [this, like_it] = [0; 2].map(|_| log(3_000, (0..2_000).map(|_| pages.query(&mut draws))));
        let mut plans = vec![period(&cluster, &mut placement, &this, None)];
        for log in [&this, &this, &this, &like_it] {
            plans.push(period(&cluster, &mut placement, log, plans.last()));
        }
        let moves: Vec<usize> = plans.iter().map(|plan| plan.moves.len()).collect();
        // Weights change once clusters have settled, so some co-location servers change.
        let small = |part: usize, of: usize| moves[part] * of <= moves[0];
        assert!(moves[0] > 3_000 && small(1, 100) && small(3, 1_000) && small(4, 4), "seed {seed}, {room}: {moves:?}");
    }
}

#[test]
fn invalid_input_is_an_error() {
    let right = (cluster(2, 2, requests(100)), vec![1; 2], Placement::new(1, vec![Server(0), Server(3)]));
    let asked = log(2, [objects(&[0, 1])]);
    let said = |(cluster, sizes, placement): &(Cluster, Vec<u64>, Placement), log, settings| {
        plan(cluster, sizes, placement, log, None, Kind::Picc, &settings).expect_err("something is wrong").to_string()
    };
    let with = |change: fn(&mut Params)| {
        let mut settings = Params::default();
        change(&mut settings);
        said(&right, &asked, settings)
    };
    assert_eq!(with(|picc| picc.theta = 0), "picc.theta is 0: use at least 1, or nothing is popular");
    assert_eq!(with(|picc| picc.w = 0), "picc.w or picc.strongest is 0: use at least 1 for each");
    assert_eq!(
        with(|picc| (picc.alpha, picc.beta) = (Share::of(2, 3), Share::of(1, 2))),
        "picc.alpha and picc.beta: their sum is above 1: use a sum of at most 1"
    );
    assert_eq!(
        with(|picc| (picc.alpha, picc.beta) = (Share::of(0, 1), Share::of(0, 1))),
        "picc.alpha and picc.beta: both are 0: set one above 0, or nothing is close"
    );
    let (cluster, sizes, placement) = right;
    let short = (Cluster { racks: vec![0; 3], ..cluster.clone() }, sizes.clone(), placement.clone());
    assert_eq!(said(&short, &asked, Params::default()), "3 servers have a rack, but 4 have a capacity");
    let unsized_one = (cluster.clone(), vec![1], placement.clone());
    assert_eq!(
        said(&unsized_one, &asked, Params::default()),
        "2 objects have servers, 1 a size, and the log has 2: the numbers must be equal"
    );
    let beyond = (cluster.clone(), sizes.clone(), Placement::new(1, vec![Server(0), Server(4)]));
    assert_eq!(said(&beyond, &asked, Params::default()), "object 1 is on server 4, but there are only 4 servers");
    let together = (cluster, sizes, Placement::new(2, [0, 2, 2, 3].map(Server).to_vec()));
    let said = said(&together, &asked, Params::default());
    assert_eq!(said, "object 1 has two replicas in rack 1; put each in its own rack");
}
