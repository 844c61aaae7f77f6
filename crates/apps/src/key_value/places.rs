//! Locations of objects: as drawn, then as moved by a plan, with a link at each old location.

use std::collections::BTreeMap;

use fanin_assemble::fabric;
use fanin_fabric::HostId;
use fanin_placement::{Move, Object, Placement, Server};
use fanin_roles::Node;
use fanin_spec::{Problem, ReplicaRacks, Route, RunSpec};

use crate::streams::{Purpose, Stream};

/// An invalid move, by its index, and the reason.
type Misfit = (usize, String);

/// The servers of every object's replicas, and links.
pub(super) struct Places {
    replicas: usize,
    /// Location of each replica.
    homes: Vec<Node>,
    /// Where it is requested, if that differs.
    asked: Option<Vec<Node>>,
    /// Objects with a moved replica.
    moved: Vec<bool>,
    /// By old location and object, the new location.
    links: BTreeMap<(Node, u32), Node>,
}

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
    let routed = Places::routed(drawn(spec, &racks), plan.moves(), &racks, spec.fan_in, Route::Links);
    routed.map(|_| ()).map_err(|(number, what)| plan.problem(number, what))
}

impl Places {
    /// Without moves.
    pub fn unmoved(placement: &Placement) -> Places {
        let objects = placement.objects();
        let homes: Vec<Node> = (0..objects as u32).flat_map(|object| nodes(placement, object)).collect();
        let replicas = homes.len() / objects.max(1);
        Places { replicas, homes, asked: None, moved: vec![false; objects], links: BTreeMap::new() }
    }

    /// After these moves in order, among `servers`; objects are requested by this route.
    ///
    /// # Errors
    /// The first invalid move: to or from a missing object or server, or to a rack that has another replica of the object.
    pub fn routed(
        mut placement: Placement,
        moves: &[Move],
        racks: &[u32],
        servers: u32,
        route: Route,
    ) -> Result<Places, Misfit> {
        let mut places = Places::unmoved(&placement);
        for (of, number) in moves.iter().zip(0..) {
            refuse(&placement, of, racks, servers).map_err(|what| (number, what))?;
            placement.apply(of);
            let (Object(object), from, to) = (of.object, Node(of.from.0), Node(of.to.0));
            places.link(object, from, to);
        }
        let homes = Places::unmoved(&placement).homes;
        let old = std::mem::replace(&mut places.homes, homes);
        places.asked = Some(old).filter(|_| route == Route::Links && !moves.is_empty());
        Ok(places)
    }

    /// A replica has arrived at its new location.
    pub fn moved(&mut self, of: &Move, route: Route) {
        if route == Route::Links {
            self.asked.get_or_insert_with(|| self.homes.clone());
        }
        let (Object(object), from, to) = (of.object, Node(of.from.0), Node(of.to.0));
        let first = object as usize * self.replicas;
        if let Some(home) = self.homes[first..first + self.replicas].iter_mut().find(|home| **home == from) {
            *home = to;
        }
        self.link(object, from, to);
    }

    /// Link an object's old location to the new one, which has the object itself and no link.
    fn link(&mut self, object: u32, from: Node, to: Node) {
        self.links.insert((from, object), to);
        self.links.remove(&(to, object));
        self.moved[object as usize] = true;
    }

    /// Locations of replicas, with hosts as servers.
    pub fn placement(&self) -> Placement {
        Placement::new(self.replicas, self.homes.iter().map(|home| Server(home.0)).collect())
    }

    /// The servers at which an object is requested, one per replica.
    pub fn asked(&self, object: u32) -> &[Node] {
        self.of(self.asked.as_ref().unwrap_or(&self.homes), object)
    }

    /// The servers that store it, in the same order.
    pub fn homes(&self, object: u32) -> &[Node] {
        self.of(&self.homes, object)
    }

    /// Whether one of its replicas was moved.
    pub fn is_moved(&self, object: u32) -> bool {
        self.moved[object as usize]
    }

    /// A server's links: objects and their locations.
    pub fn links(&self, at: Node) -> impl Iterator<Item = (u32, Node)> {
        self.links.range((at, 0)..=(at, u32::MAX)).map(|(&(_, object), &to)| (object, to))
    }

    fn of<'a>(&self, nodes: &'a [Node], object: u32) -> &'a [Node] {
        let first = object as usize * self.replicas;
        &nodes[first..first + self.replicas]
    }
}

fn nodes(placement: &Placement, object: u32) -> impl Iterator<Item = Node> {
    placement.homes(Object(object)).iter().map(|home| Node(home.0))
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

    fn moves(of: &[(u32, u32, u32)]) -> Vec<Move> {
        let one = |&(object, from, to)| Move {
            object: Object(object),
            from: Server(from),
            to: Server(to),
            reason: Reason::Popular,
        };
        of.iter().map(one).collect()
    }

    /// Two objects of two replicas each, on six servers in three racks, of which host 0 is in the first.
    fn after(of: &[(u32, u32, u32)], route: Route) -> Result<Places, Misfit> {
        let placement = Placement::new(2, [1, 3, 2, 5].map(Server).to_vec());
        Places::routed(placement, &moves(of), &[0, 0, 0, 1, 1, 2, 2], 6, route)
    }

    fn links(places: &Places) -> Vec<(u32, u32, u32)> {
        let of = |at| places.links(Node(at)).map(move |(object, to)| (at, object, to.0));
        (0..7).flat_map(of).collect()
    }

    #[test]
    fn moves_leave_links() {
        let by_links = after(&[(0, 3, 4), (0, 1, 2)], Route::Links).unwrap();
        assert_eq!((by_links.asked(0), by_links.homes(0)), (&[Node(1), Node(3)][..], &[Node(2), Node(4)][..]));
        assert_eq!(links(&by_links), [(1, 0, 2), (3, 0, 4)]);
        assert_eq!((by_links.is_moved(0), by_links.is_moved(1)), (true, false));
        assert_eq!((by_links.asked(1), by_links.homes(1)), (&[Node(2), Node(5)][..], &[Node(2), Node(5)][..]));
        let directly = after(&[(0, 3, 4), (0, 1, 2)], Route::Direct).unwrap();
        assert_eq!(directly.asked(0), [Node(2), Node(4)]);
    }

    #[test]
    fn links_chain_and_disappear_on_return() {
        let on = after(&[(0, 3, 4), (0, 4, 6)], Route::Links).unwrap();
        assert_eq!((on.homes(0), links(&on)), (&[Node(1), Node(6)][..], vec![(3, 0, 4), (4, 0, 6)]));
        let back = after(&[(0, 3, 4), (0, 4, 3)], Route::Links).unwrap();
        assert_eq!((back.homes(0), links(&back)), (&[Node(1), Node(3)][..], vec![(4, 0, 3)]));
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
            let Err((at, what)) = after(of, Route::Links) else { panic!("{of:?} is no plan") };
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
        let places = Places::unmoved(&drawn(&spec, &racks));
        let mut of_rack = [0; 4];
        for object in 0..2_000 {
            let mut racks: Vec<u32> = places.homes(object).iter().map(|node| racks[node.0 as usize]).collect();
            racks.iter().for_each(|&rack| of_rack[rack as usize] += 1);
            racks.sort_unstable();
            racks.dedup();
            assert_eq!(racks.len(), 3, "object {object}");
        }
        // The client's rack has four servers, the others five: no rack is passed over.
        assert!(of_rack.iter().all(|&objects| (1_300..1_700).contains(&objects)), "{of_rack:?}");
    }
}
