//! Initial placement of a key_value run's objects, and the check of a placement plan against it.

use fanin_driver::{Purpose, Stream};
use fanin_fabric::HostId;
use fanin_placement::{Move, Object, Placement, Server};
use fanin_spec::{Problem, ReplicaRacks, RunSpec};

use crate::network::fabric;

/// An invalid move, by its index, and the reason.
type Misfit = (usize, String);

/// Initial placement of a run's objects, before any plan: servers are hosts. With a plan, the placement of the first seed, whatever the
/// run's own: a plan applies to one placement. A plan that lists locations overrides those of its objects.
pub fn drawn(spec: &RunSpec, racks: &[u32]) -> Placement {
    let k = &spec.settings.key_value;
    if let Some(listed) = &spec.settings.inputs.requests {
        return Placement::new(k.replicas as usize, listed.homes.iter().copied().map(Server).collect());
    }
    let seed = if spec.settings.inputs.plan.is_some() { spec.settings.run.first_seed } else { spec.seed };
    let mut places = Stream::new(seed, Purpose::Placement, 0);
    let distinct = k.replica_racks == ReplicaRacks::Distinct;
    let same =
        |one: Server, other: Server| one == other || distinct && racks[one.0 as usize] == racks[other.0 as usize];
    let replicas = k.replicas as usize;
    let mut homes: Vec<Server> = Vec::with_capacity(k.objects as usize * replicas);
    for _ in 0..k.objects {
        let first = homes.len();
        while homes.len() < first + replicas {
            // The client is no server.
            let server = Server(1 + places.below(spec.fan_in));
            if !homes[first..].iter().any(|&other| same(server, other)) {
                homes.push(server);
            }
        }
    }
    let planned = spec.settings.inputs.plan.iter().flat_map(|plan| plan.homes().concat());
    for (home, host) in homes.iter_mut().zip(planned) {
        *home = Server(host);
    }
    Placement::new(replicas, homes)
}

/// The rack of each host.
pub fn racks(spec: &RunSpec) -> Vec<u32> {
    let fabric = fabric(spec);
    (0..fabric.hosts()).map(|host| fabric.rack(HostId(host))).collect()
}

/// Check a plan against the cluster and its placement, before a run begins.
///
/// # Errors
/// The first invalid move.
pub fn fits(spec: &RunSpec) -> Result<(), Problem> {
    let Some(plan) = &spec.settings.inputs.plan else { return Ok(()) };
    let racks = racks(spec);
    if let Some((number, what)) = plan
        .homes()
        .iter()
        .enumerate()
        .find_map(|(number, homes)| Some((number, refuse_homes(spec, number, homes, &racks)?)))
    {
        return Err(plan.problem(number, what));
    }
    let moved = refuse_moves(drawn(spec, &racks), plan.moves(), &racks, spec.fan_in);
    moved.map_err(|(number, what)| plan.problem(number, what))
}

/// Refuses the first invalid move: to or from a missing object or server, or to a rack that has another replica of the object.
fn refuse_moves(mut placement: Placement, moves: &[Move], racks: &[u32], servers: u32) -> Result<(), Misfit> {
    for (number, of) in moves.iter().enumerate() {
        refuse(&placement, of, racks, servers).map_err(|what| (number, what))?;
        placement.apply(of);
    }
    Ok(())
}

/// Check the locations of an object's replicas; returns the error, if any.
fn refuse_homes(spec: &RunSpec, number: usize, homes: &[u32], racks: &[u32]) -> Option<String> {
    let (k, servers) = (&spec.settings.key_value, spec.fan_in);
    if number >= k.objects as usize {
        return Some(format!("it has more keys than `key_value.objects`, which is {}", k.objects));
    }
    if homes.len() != k.replicas as usize {
        return Some(format!("object {number} is at {} servers: `key_value.replicas` is {}", homes.len(), k.replicas));
    }
    if let Some(host) = homes.iter().find(|host| !(1..=servers).contains(*host)) {
        return Some(format!("host {host} is not a server: servers are hosts 1 to {servers}"));
    }
    let distinct = k.replica_racks == ReplicaRacks::Distinct;
    let same = |one: u32, other: u32| one == other || distinct && racks[one as usize] == racks[other as usize];
    let (place, other) = homes
        .iter()
        .enumerate()
        .find_map(|(place, &home)| Some((home, *homes[..place].iter().find(|&&other| same(home, other))?)))?;
    Some(format!(
        "object {number} is at {other} and at {place}, which are one server or in one rack (`key_value.replica_racks`)"
    ))
}

/// Check a move; returns the error, if any.
fn refuse(placement: &Placement, of: &Move, racks: &[u32], servers: u32) -> Result<(), String> {
    let (Object(object), Server(from), Server(to)) = (of.object, of.from, of.to);
    if object as usize >= placement.objects() {
        return Err(format!("object {object} does not exist: there are {}, the first is 0", placement.objects()));
    }
    if let Some(host) = [from, to].into_iter().find(|host| !(1..=servers).contains(host)) {
        return Err(format!("host {host} is not a server: servers are hosts 1 to {servers}"));
    }
    let homes = placement.homes(of.object);
    if !homes.contains(&of.from) {
        let at: Vec<String> = homes.iter().map(|home| home.0.to_string()).collect();
        return Err(format!(
            "object {object} is not at host {from}: it is at {}; see placement.csv of `fanin plan` for all locations",
            at.join(", ")
        ));
    }
    if homes.contains(&of.to) {
        return Err(format!("object {object} is at host {to} already"));
    }
    let rack = |server: u32| racks[server as usize];
    // Moves within a rack cannot conflict.
    let other = homes.iter().find(|home| home.0 != from && rack(home.0) == rack(to) && rack(from) != rack(to));
    match other {
        Some(home) => Err(format!("object {object} has a replica at host {}, in host {to}'s rack", home.0)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use fanin_placement::Reason;
    use fanin_spec::Scenario;

    use super::*;

    /// Two objects of two replicas each, on six servers in three racks, of which host 0 is in the first.
    fn moved(of: &[(u32, u32, u32)]) -> Result<(), Misfit> {
        let one = |&(object, from, to)| Move {
            object: Object(object),
            from: Server(from),
            to: Server(to),
            reason: Reason::Popular,
        };
        let placement = Placement::new(2, [1, 3, 2, 5].map(Server).to_vec());
        refuse_moves(placement, &of.iter().map(one).collect::<Vec<_>>(), &[0, 0, 0, 1, 1, 2, 2], 6)
    }

    #[test]
    fn reports_the_first_invalid_move() {
        for (of, number, told) in [
            (&[(0, 3, 4), (2, 1, 6)][..], 1, "object 2 does not exist: there are 2, the first is 0"),
            (&[(0, 3, 7)], 0, "host 7 is not a server: servers are hosts 1 to 6"),
            (&[(0, 0, 4)], 0, "host 0 is not a server"),
            (&[(0, 3, 4), (0, 3, 6)], 1, "object 0 is not at host 3: it is at 1, 4"),
            (&[(0, 3, 1)], 0, "object 0 is at host 1 already"),
            (&[(1, 5, 1)], 0, "object 1 has a replica at host 2, in host 1's rack"),
        ] {
            let Err((at, what)) = moved(of) else { panic!("{of:?} is no plan") };
            assert!(at == number && what.contains(told), "{of:?}: {at}: {what}");
        }
    }

    #[test]
    fn replicas_in_distinct_racks_share_none() {
        let text = "schemes = [\"one-all\"]\n[workload]\nkind = \"key_value\"\n[fabric]\nkind = \"leaf-spine\"\nracks = 4\n\
                    hosts_per_rack = 5\nspines = 1\n[key_value]\nreplica_racks = \"distinct\"\nobjects = 2000\n";
        let mut scenario = Scenario::parse("test.toml", text).expect("a scenario");
        scenario.assign("--fan-in", "sweep.fan_in=[19]").expect("a sweep");
        let spec = scenario.variants().expect("they fit")[0].run(19, 1).expect("swept over");
        let racks: Vec<u32> = (0..20).map(|host| host / 5).collect();
        let placement = drawn(&spec, &racks);
        let mut of_rack = [0; 4];
        for object in 0..2_000 {
            let mut racks: Vec<u32> =
                placement.homes(Object(object)).iter().map(|home| racks[home.0 as usize]).collect();
            racks.iter().for_each(|&rack| of_rack[rack as usize] += 1);
            racks.sort_unstable();
            racks.dedup();
            assert_eq!(racks.len(), 3, "object {object}");
        }
        // The client's rack has four servers, the others five: no rack is passed over.
        assert!(of_rack.iter().all(|&objects| (1_300..1_700).contains(&objects)), "{of_rack:?}");
    }
}
