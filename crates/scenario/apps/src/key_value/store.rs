//! The objects: sizes, popularity and locations.

use std::sync::Arc;

use fanin_driver::{Purpose, Stream, View};
use fanin_fabric::HostId;
use fanin_placement::{Move, Placement};
use fanin_roles::Node;
use fanin_roles::front_end::Directory;
use fanin_roles::wire::{Numbered, Size};
use fanin_spec::{Requests, Route, RunSpec};
use fanin_units::Time;

use super::places::Places;
use super::popularity::{Once, Popularity};

pub(super) struct Store {
    objects: u32,
    per_request: u32,
    /// Bytes of each object, followed by those of missing ones.
    sizes: Vec<u32>,
    places: Places,
    /// The share of requested objects that no server has, in 1/2^32.
    missing_q32: u32,
    /// By host.
    racks: Vec<u32>,
    /// By rack.
    pods: Vec<u32>,
    /// Spare capacity by host at a request's start; empty if unused.
    spare_io: Vec<u32>,
    /// Listed requests, replacing drawn ones.
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
            sizes: match &spec.settings.inputs.requests {
                Some(listed) => listed.sizes.clone(),
                None => (0..k.objects).map(|_| least + sizes.below(span)).collect(),
            },
            places: Places::unmoved(&Placement::new(k.replicas as usize, Vec::new())),
            missing_q32: k.missing.in_q(32),
            racks: Vec::new(),
            pods: Vec::new(),
            spare_io: Vec::new(),
            listed: spec.settings.inputs.requests.clone(),
            popularity: Popularity::new(k, &mut Stream::new(spec.seed, Purpose::Page, 0)),
            once: Once::new(k.objects),
        }
    }

    /// Set the hosts' racks and pods, and place the objects.
    pub fn locate(&mut self, spec: &RunSpec, view: &dyn View) {
        self.place(spec, (0..view.hosts()).map(|host| view.rack(HostId(host))).collect());
        self.pods = vec![0; self.racks.iter().max().map_or(0, |&last| last as usize + 1)];
        for (&rack, host) in self.racks.iter().zip(0..) {
            self.pods[rack as usize] = view.pod(HostId(host));
        }
    }

    /// Set the hosts' racks, and place the objects.
    pub fn place(&mut self, spec: &RunSpec, racks: Vec<u32>) {
        self.racks = racks;
        let placement = fanin_assemble::drawn(spec, &self.racks);
        debug_assert!(fanin_assemble::fits(spec).is_ok(), "a plan is checked against the cluster before");
        self.places = match &spec.settings.inputs.plan {
            None => Places::unmoved(&placement),
            Some(plan) => Places::routed(placement, plan.moves(), spec.settings.key_value.route),
        };
    }

    /// A server's links: objects and their locations.
    pub fn links(&self, at: Node) -> impl Iterator<Item = (Numbered, Node)> {
        self.places.links(at).map(|(object, to)| (Numbered(object.into()), to))
    }

    /// The objects of a front end's request, listed or drawn, distinct; numbers from `objects` on are missing objects.
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

    /// Random stream of front ends' requests.
    pub fn purpose(&self) -> Purpose {
        // Uniform requests have always shared their stream with the draws of replicas.
        if matches!(self.popularity, Popularity::Uniform) { Purpose::Request } else { Purpose::Asked }
    }

    /// The objects' sizes and locations: hosts are servers.
    pub fn sizes_and_placement(&self) -> (Vec<u64>, Placement) {
        (self.sizes.iter().map(|&bytes| bytes.into()).collect(), self.places.placement())
    }

    /// A replica has arrived at its new location.
    pub fn moved(&mut self, of: &Move, route: Route) {
        self.places.moved(of, route);
    }

    /// Set the hosts' spare capacities.
    pub fn spare(&mut self, of_hosts: impl Iterator<Item = u32>) {
        self.spare_io.clear();
        self.spare_io.extend(of_hosts);
    }

    /// The racks of hosts.
    pub fn racks(&self) -> &[u32] {
        &self.racks
    }

    /// When a listed front end's request begins.
    pub fn begins(&self, number: u32) -> Option<Time> {
        self.listed.as_ref()?.get(number as usize).map(|(begins, _)| begins)
    }

    /// A server's value of an object.
    pub fn value(&self, Numbered(object): Numbered) -> Option<Size> {
        self.sizes.get(object as usize).copied().map(Size)
    }

    pub fn first_replica(&self, object: u32) -> u32 {
        self.places.homes(object % self.objects)[0].0
    }
}

impl Directory<Numbered> for Store {
    fn replicas(&self, &Numbered(object): &Numbered) -> &[Node] {
        // A missing object is requested where it would be stored.
        self.places.asked((object % u64::from(self.objects)) as u32)
    }

    fn rack(&self, Node(host): Node) -> u32 {
        self.racks[host as usize]
    }

    fn aggregation(&self, rack: u32) -> u32 {
        self.pods[rack as usize]
    }

    fn spare_io(&self, Node(host): Node) -> u32 {
        self.spare_io.get(host as usize).copied().unwrap_or(0)
    }

    fn size(&self, &key: &Numbered) -> Option<u32> {
        self.value(key).map(|Size(bytes)| bytes)
    }

    fn is_moved(&self, &Numbered(object): &Numbered) -> bool {
        self.places.is_moved((object % u64::from(self.objects)) as u32)
    }

    fn answers(&self, &Numbered(object): &Numbered, holder: Node) -> Node {
        let object = (object % u64::from(self.objects)) as u32;
        let place = self.places.asked(object).iter().position(|&node| node == holder);
        place.map_or(holder, |place| self.places.homes(object)[place])
    }
}
