//! The objects: how large each is, who has it, and where that is.

use std::sync::Arc;

use fanin_fabric::HostId;
use fanin_placement::{Placement, Server};
use fanin_roles::Node;
use fanin_roles::front_end::Directory;
use fanin_roles::wire::{Numbered, Size};
use fanin_spec::{ReplicaRacks, Requests, RunSpec};

use fanin_units::Time;

use super::super::application::View;
use super::popularity::{Once, Popularity};
use crate::streams::{Purpose, Stream};

pub(super) struct Store {
    objects: u32,
    per_request: u32,
    replicas: usize,
    /// Bytes of each object; those that no server has are behind them.
    sizes: Vec<u32>,
    /// Each object's servers, one after another.
    holders: Vec<Node>,
    /// The share of objects asked for that no server has, in 1/2^32.
    missing_q32: u32,
    /// By host.
    racks: Vec<u32>,
    /// By rack.
    pods: Vec<u32>,
    /// In place of what would be drawn.
    listed: Option<Arc<Requests>>,
    popularity: Popularity,
    once: Once,
}

impl Store {
    pub fn new(spec: &RunSpec) -> Store {
        let k = &spec.settings.key_value;
        let mut sizes = Stream::new(spec.seed, Purpose::Size, 0);
        let (least, span) = (k.least.0 as u32, (k.most.0 - k.least.0 + 1) as u32);
        Store {
            objects: k.objects,
            per_request: k.per_request,
            replicas: k.replicas as usize,
            sizes: match &spec.settings.inputs.requests {
                Some(listed) => listed.sizes.clone(),
                None => (0..k.objects).map(|_| least + sizes.below(span)).collect(),
            },
            holders: Vec::new(),
            missing_q32: k.missing.in_q(32),
            racks: Vec::new(),
            pods: Vec::new(),
            listed: spec.settings.inputs.requests.clone(),
            popularity: Popularity::new(k, &mut Stream::new(spec.seed, Purpose::Page, 0)),
            once: Once::new(k.objects),
        }
    }

    /// Learns where hosts are, and puts the objects there.
    pub fn locate(&mut self, spec: &RunSpec, view: &dyn View) {
        self.racks = (0..view.hosts()).map(|host| view.rack(HostId(host))).collect();
        self.pods = vec![0; self.racks.iter().max().map_or(0, |&last| last as usize + 1)];
        for (&rack, host) in self.racks.iter().zip(0..) {
            self.pods[rack as usize] = view.pod(HostId(host));
        }
        self.place(spec);
    }

    /// Draws the servers of each object.
    fn place(&mut self, spec: &RunSpec) {
        if let Some(listed) = &self.listed {
            self.holders = listed.homes.iter().copied().map(Node).collect();
            return;
        }
        let mut places = Stream::new(spec.seed, Purpose::Placement, 0);
        let distinct = spec.settings.key_value.replica_racks == ReplicaRacks::Distinct;
        let (racks, holders) = (&self.racks, &mut self.holders);
        let same =
            |one: Node, other: Node| one == other || distinct && racks[one.0 as usize] == racks[other.0 as usize];
        holders.reserve_exact(self.objects as usize * self.replicas);
        for _ in 0..self.objects {
            let first = holders.len();
            while holders.len() < first + self.replicas {
                // The client has none: it asks.
                let server = Node(1 + places.below(spec.fan_in));
                if !holders[first..].iter().any(|&other| same(server, other)) {
                    holders.push(server);
                }
            }
        }
    }

    /// The objects of a front end's request, listed or drawn, none twice; numbers from `objects` on are of objects that no server has.
    pub fn draw(&mut self, number: u32, draws: &mut Stream) -> Vec<u32> {
        if let Some((_, objects)) = self.listed.as_ref().and_then(|listed| listed.get(number as usize)) {
            return objects.to_vec();
        }
        let (objects, missing_q32) = (self.objects, u64::from(self.missing_q32));
        let mut request = Vec::with_capacity(self.per_request as usize);
        self.popularity.draw(objects, self.per_request as usize, draws, &mut self.once, |object, draws| {
            let missing = missing_q32 > 0 && draws.word() >> 32 < missing_q32;
            request.push(if missing { objects + object } else { object });
        });
        request
    }

    /// What front ends' requests are drawn by.
    pub fn purpose(&self) -> Purpose {
        // Uniform ones have always shared their stream with the draws of replicas.
        if matches!(self.popularity, Popularity::Uniform) { Purpose::Request } else { Purpose::Asked }
    }

    /// The objects' sizes, and where they lie: hosts are servers.
    pub fn lie(&self) -> (Vec<u64>, Placement) {
        let homes = self.holders.iter().map(|holder| Server(holder.0)).collect();
        (self.sizes.iter().map(|&bytes| bytes.into()).collect(), Placement::new(self.replicas, homes))
    }

    /// The racks of hosts.
    pub fn racks(&self) -> &[u32] {
        &self.racks
    }

    /// When a front end's request begins, where that is listed.
    pub fn begins(&self, number: u32) -> Option<Time> {
        self.listed.as_ref()?.get(number as usize).map(|(begins, _)| begins)
    }

    /// What a server finds.
    pub fn value(&self, Numbered(object): Numbered) -> Option<Size> {
        self.sizes.get(object as usize).copied().map(Size)
    }

    pub fn first_replica(&self, object: u32) -> u32 {
        self.holders[(object % self.objects) as usize * self.replicas].0
    }
}

impl Directory<Numbered> for Store {
    fn replicas(&self, &Numbered(object): &Numbered) -> &[Node] {
        // What nobody has is asked for where it would be.
        let first = (object % u64::from(self.objects)) as usize * self.replicas;
        &self.holders[first..first + self.replicas]
    }

    fn rack(&self, Node(host): Node) -> u32 {
        self.racks[host as usize]
    }

    fn aggregation(&self, rack: u32) -> u32 {
        self.pods[rack as usize]
    }

    fn spare_io(&self, _: Node) -> u32 {
        0
    }

    fn size(&self, &key: &Numbered) -> Option<u32> {
        self.value(key).map(|Size(bytes)| bytes)
    }
}

#[cfg(test)]
mod tests {
    use fanin_spec::Scenario;

    use super::*;

    #[test]
    fn replicas_in_distinct_racks_share_none() {
        let text = "schemes = [\"one-all\"]\n[workload]\nkind = \"key_value\"\n[fabric]\nkind = \"leaf-spine\"\nracks = 4\n\
                    hosts_per_rack = 5\nspines = 1\n[key_value]\nreplica_racks = \"distinct\"\nobjects = 2000\n";
        let mut scenario = Scenario::parse("test.toml", text).expect("a scenario");
        scenario.assign("--fan-in", "sweep.fan_in=[19]").expect("a sweep");
        let spec = scenario.contenders().expect("they fit")[0].run(19, 1).expect("swept over");
        let mut store = Store::new(&spec);
        store.racks = (0..20).map(|host| host / 5).collect();
        store.place(&spec);
        let mut of_rack = [0; 4];
        for object in 0..2_000 {
            let mut racks: Vec<u32> = store.replicas(&Numbered(object)).iter().map(|&node| store.rack(node)).collect();
            racks.iter().for_each(|&rack| of_rack[rack as usize] += 1);
            racks.sort_unstable();
            racks.dedup();
            assert_eq!(racks.len(), 3, "object {object}");
        }
        // The client's rack has four servers, the others five: no rack is passed over.
        assert!(of_rack.iter().all(|&objects| (1_300..1_700).contains(&objects)), "{of_rack:?}");
    }
}
