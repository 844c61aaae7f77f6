//! How long a front end takes to form swarms and their tree: the one figure of a paper that is of a machine's own time.

use std::hint::black_box;

use fanin_fanout::swarm::{Policy, Swarms, Target};
use fanin_fanout::tree::{Hub, Tree};

use fanin_execute::clock;

/// Servers a rack (SICC, section 4).
const RACK: u32 = 60;
/// Racks under an aggregation router.
const POD: u32 = 5;
/// The most hubs that send to the front end itself.
const MOST: u32 = 50;
/// Each is timed so often.
const TIMES: usize = 41;
/// Tries per measurement, of which the shortest counts, to exclude other load.
const TRIES: usize = 5;

/// Milliseconds to form the swarms and tree of this many servers, each with 1 to 10 objects.
pub(super) fn time(servers: u32) -> Vec<f64> {
    let objects = |server: u32| 1 + (server.wrapping_mul(0x9e37_79b9) >> 16) % 10;
    let target = |server| Target { server, rack: server / RACK, objects: objects(server), spare_io: 0 };
    let targets: Vec<Target> = (0..servers).map(target).collect();
    let mut swarms = Swarms::default();
    let mut form = || {
        let start = clock();
        swarms.form(black_box(&targets), Policy::MostObjects);
        let hub = |swarm: &fanin_fanout::swarm::Swarm| Hub { objects: swarm.objects, aggregation: swarm.rack / POD };
        let hubs: Vec<Hub> = swarms.swarms().iter().map(hub).collect();
        black_box(Tree::build(&hubs, MOST));
        start.elapsed().as_secs_f64() * 1e3
    };
    // The first ones find no memory yet.
    form();
    (0..TIMES).map(|_| (0..TRIES).map(|_| form()).fold(f64::INFINITY, f64::min)).collect()
}
