//! The objects: how large each is, who has it, and where that is.

use fanin_fabric::HostId;
use fanin_roles::Node;
use fanin_roles::front_end::Directory;
use fanin_roles::wire::{Numbered, Size};
use fanin_spec::RunSpec;

use super::super::application::View;
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
    /// For drawing without drawing twice: an object's request.
    drawn: Vec<u32>,
    request: u32,
}

impl Store {
    pub fn new(spec: &RunSpec) -> Store {
        let k = &spec.settings.key_value;
        let mut sizes = Stream::new(spec.seed, Purpose::Size, 0);
        let mut places = Stream::new(spec.seed, Purpose::Placement, 0);
        let (least, span) = (k.least.0 as u32, (k.most.0 - k.least.0 + 1) as u32);
        let mut holders: Vec<Node> = Vec::with_capacity(k.objects as usize * k.replicas as usize);
        for _ in 0..k.objects {
            let first = holders.len();
            while holders.len() < first + k.replicas as usize {
                // The client has none: it asks.
                let server = Node(1 + places.below(spec.fan_in));
                if !holders[first..].contains(&server) {
                    holders.push(server);
                }
            }
        }
        Store {
            objects: k.objects,
            per_request: k.per_request,
            replicas: k.replicas as usize,
            sizes: (0..k.objects).map(|_| least + sizes.below(span)).collect(),
            holders,
            missing_q32: k.missing.in_q(32),
            racks: Vec::new(),
            pods: Vec::new(),
            drawn: vec![u32::MAX; k.objects as usize],
            request: 0,
        }
    }

    /// Learns where hosts are.
    pub fn locate(&mut self, view: &dyn View) {
        self.racks = (0..view.hosts()).map(|host| view.rack(HostId(host))).collect();
        self.pods = vec![0; self.racks.iter().max().map_or(0, |&last| last as usize + 1)];
        for (&rack, host) in self.racks.iter().zip(0..) {
            self.pods[rack as usize] = view.pod(HostId(host));
        }
    }

    /// Draws the objects of a request, none twice; numbers from `objects` on are of objects that no server has.
    pub fn draw(&mut self, draws: &mut Stream, request: &mut Vec<u32>) {
        request.clear();
        self.request += 1;
        while request.len() < self.per_request as usize {
            let object = draws.below(self.objects);
            if self.drawn[object as usize] == self.request {
                continue;
            }
            self.drawn[object as usize] = self.request;
            let missing = self.missing_q32 > 0 && draws.word() >> 32 < u64::from(self.missing_q32);
            request.push(if missing { self.objects + object } else { object });
        }
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
