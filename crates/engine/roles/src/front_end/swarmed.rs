//! Requests through hubs: swarms, their tree, the speeds of roots, and redirection from slow hubs to others (SICC, section 3).

use fanin_fanout::swarm::{Swarms, Target};
use fanin_fanout::tree::{self, Bound, Tree};
use fanin_fanout::{redirect, sicc, speed};
use fanin_units::{Bytes, Rate, Time};

use super::{Directory, Draw, FrontEnd, Measured, Path, Request, RequestMethod, State};
use crate::wire::{Body, Message, Node, Part, Swarm};
use crate::{Output, Outputs};

impl<K: Part + Clone> FrontEnd<K> {
    /// Starts a request: swarms, tree, and each hub's objects.
    pub(super) fn ask_swarms<V>(
        &mut self,
        now: Time,
        number: u32,
        directory: &impl Directory<K>,
        draw: Draw<'_>,
        out: &mut Outputs<K, V>,
    ) {
        let RequestMethod::Swarms { parts, settings, bound, .. } = &self.params.method else { return };
        self.concurrency.begin(self.requests.len() as u32);
        let (parts, period, starts) = (*parts, settings.period, settings.start);
        let Some(request) = self.requests.get_mut(&number) else { return };
        let most = match settings.bound {
            _ if !parts.tree => u32::MAX,
            Bound::Fixed => *bound,
            Bound::Printed | Bound::Mended => self.concurrency.share(*bound),
        };
        request.form(now, &parts, settings, most, directory, draw);
        if self.period_ends == Time::NEVER {
            if starts == sicc::Start::Spare {
                self.planned.start(Bytes(self.lately(now, period)), period);
            }
            self.period_ends = now.saturating_add(period);
            self.received = 0;
        }
        let known = self.speeds();
        self.split(&known, out);
        let Some(request) = self.requests.get(&number) else { return };
        let missing = request.missing_through();
        let unasked = request
            .object_requests
            .iter()
            .zip(0..)
            .filter(|(object_request, _)| object_request.state == State::NotRequested);
        let mut by_way: Vec<(u32, u32)> = unasked.map(|(object_request, index)| (object_request.via, index)).collect();
        by_way.sort_unstable();
        for group in by_way.chunk_by(|one, other| one.0 == other.0) {
            let via = group[0].0;
            self.make_hub(number, via, missing[via as usize], out);
            self.ask_hub(number, via, group.iter().map(|(_, index)| *index), out);
        }
    }

    /// Makes a machine a hub, with the number of objects that will come through it. An agent learns the hubs below it first.
    pub(super) fn make_hub<V>(&self, number: u32, via: u32, all: u32, out: &mut Outputs<K, V>) {
        let Some(request) = self.requests.get(&number) else { return };
        let path = &request.paths[via as usize];
        let (parent, rate) = match path.parent {
            None => (self.params.me, path.assigned),
            Some(parent) => (request.paths[parent as usize].node, self.rate_below(request, parent)),
        };
        let rate = if self.paces() { rate } else { Rate(0) };
        let children = request.paths.iter().filter(|path| self.params.agents && path.parent == Some(via) && !path.gone);
        for child in children {
            let message = Message { tag: request.tag, index: 0, body: Body::Child(child.node) };
            out.push(Output::Send { to: path.node, message, more: true });
        }
        let body = Body::Swarm(Swarm { parent, rate, own: path.missing, all });
        out.push(Output::Send { to: path.node, message: Message { tag: request.tag, index: 0, body }, more: true });
    }

    /// Requests objects from a hub, packed if possible.
    pub(super) fn ask_hub<V>(
        &mut self,
        number: u32,
        via: u32,
        objects: impl IntoIterator<Item = u32>,
        out: &mut Outputs<K, V>,
    ) {
        let Some(request) = self.requests.get_mut(&number) else { return };
        let to = request.paths[via as usize].node;
        for index in objects {
            let object_request = &mut request.object_requests[index as usize];
            object_request.state = State::Requested;
            let body = Body::Ask { key: object_request.key.clone(), holder: object_request.holder };
            out.push(Output::Send { to, message: Message { tag: request.tag, index, body }, more: true });
        }
        crate::output::last_of_packet(out);
    }

    /// Rate of a hub below another one: an equal share of that one's link, which is assumed to be as fast as this machine's.
    fn rate_below(&self, request: &Request<K>, parent: u32) -> Rate {
        let siblings = request.paths.iter().filter(|path| path.parent == Some(parent) && !path.gone).count();
        Rate(self.params.capacity.0 / siblings.max(1) as u64)
    }

    /// Bytes of the last period, if no request is open: of the one that ended with the last request.
    fn lately(&self, now: Time, period: Time) -> u64 {
        if now.since(self.idle_since) < period { self.received } else { 0 }
    }

    /// Whether hubs are assigned speeds.
    fn paces(&self) -> bool {
        let assigned = |settings: &sicc::Params| settings.uncontrolled == sicc::Uncontrolled::Assigned;
        self.controls_speed()
            || matches!(&self.params.method, RequestMethod::Swarms { settings, .. } if assigned(settings))
    }

    fn controls_speed(&self) -> bool {
        matches!(self.params.method, RequestMethod::Swarms { parts: sicc::Parts { speed: true, .. }, .. })
    }

    /// Roots of all requests that still have data to send: request and path.
    fn roots(&self) -> Vec<(u32, u32)> {
        let hubs = |(&number, request): (&u32, &Request<K>)| {
            let hubs = request.owing().filter(|&path| request.paths[path as usize].hub);
            hubs.map(|path| (number, path)).collect::<Vec<_>>()
        };
        self.requests.iter().flat_map(hubs).collect()
    }

    /// Assigns each hub an equal share of B_p (equation 2), and notifies those that had another.
    pub(super) fn split<V>(&mut self, known: &[(u32, u32)], out: &mut Outputs<K, V>) {
        let roots = self.roots();
        let mut hubs = vec![speed::Hub { assigned: Rate(0), real: Rate(0), backlog: true }; roots.len()];
        speed::split(self.planned.get(), &mut hubs);
        self.assign(&roots, &hubs, known, out);
    }

    /// Hubs with assigned speeds.
    pub(super) fn speeds(&self) -> Vec<(u32, u32)> {
        let mut roots = self.roots();
        roots.retain(|(number, path)| self.requests[number].paths[*path as usize].assigned.0 > 0);
        roots
    }

    fn assign<V>(&mut self, roots: &[(u32, u32)], hubs: &[speed::Hub], known: &[(u32, u32)], out: &mut Outputs<K, V>) {
        let tells = self.controls_speed();
        for (root, hub) in roots.iter().zip(hubs) {
            let Some(request) = self.requests.get_mut(&root.0) else { continue };
            let path = &mut request.paths[root.1 as usize];
            if tells && path.assigned != hub.assigned && known.contains(root) {
                let body = Body::Speed(hub.assigned);
                out.push(Output::Send {
                    to: path.node,
                    message: Message { tag: request.tag, index: 0, body },
                    more: false,
                });
            }
            path.assigned = hub.assigned;
        }
    }

    /// Ends a period: updates B_p, speeds and redirections from its measurements (equations 3 to 8).
    pub(super) fn new_period<V>(
        &mut self,
        now: Time,
        measured: Option<Measured>,
        directory: &impl Directory<K>,
        out: &mut Outputs<K, V>,
    ) {
        let RequestMethod::Swarms { parts, settings, packet: (room, overhead), .. } = &self.params.method else {
            return;
        };
        let (parts, settings, of_packet) = (*parts, *settings, u64::from(*room) / settings.mean_object.0.max(1));
        let packet = Rate::of(u64::from(room + overhead), settings.period);
        let received = Bytes(std::mem::take(&mut self.received));
        let began = Time(self.period_ends.0 - settings.period.0);
        self.requests.values_mut().for_each(|request| request.measure(began, now, of_packet));
        if parts.speed {
            let (queue, buffer) = measured.map_or((Bytes(0), Bytes(1)), |measured| self.queue(measured));
            let before = self.planned.get();
            self.planned.update(queue, buffer, received, settings.period, &settings);
            let roots = self.roots();
            let mut hubs = self.measured(&roots);
            // Speeds are compared with the old assignments.
            speed::reassign(before, &mut hubs, packet, &settings);
            speed::rescale(self.planned.get(), &mut hubs);
            self.assign(&roots, &hubs, &roots, out);
        }
        if parts.redirect {
            for number in self.numbers() {
                self.redirect(number, &settings, directory, out);
            }
        }
        self.period_ends = now.saturating_add(settings.period);
    }

    fn queue(&mut self, measured: Measured) -> (Bytes, Bytes) {
        match measured {
            Measured::Queue(queue, buffer) => (queue, buffer),
            Measured::RoundTrip(rtt, rate, buffer) => {
                self.least_rtt = self.least_rtt.min(rtt);
                (Bytes(rate.bytes_in(rtt.since(self.least_rtt)).min(buffer.0)), buffer)
            }
        }
    }

    fn measured(&self, roots: &[(u32, u32)]) -> Vec<speed::Hub> {
        let hub = |(number, path): &(u32, u32)| {
            let path = &self.requests[number].paths[*path as usize];
            speed::Hub { assigned: path.assigned, real: path.real, backlog: path.backlog }
        };
        roots.iter().map(hub).collect()
    }

    /// Moves requests from hubs that will end late to others with a replica in their racks.
    fn redirect<V>(
        &mut self,
        number: u32,
        settings: &sicc::Params,
        directory: &impl Directory<K>,
        out: &mut Outputs<K, V>,
    ) {
        let Some(request) = self.requests.get_mut(&number) else { return };
        let moves = request.moves(settings, directory);
        for (object, to) in moves {
            let object_request = &mut request.object_requests[object as usize];
            object_request.state = State::Moving(to);
            object_request.redirected = object_request.redirected.saturating_add(1);
            let node = request.paths[object_request.via as usize].node;
            let message = Message { tag: request.tag, index: object, body: Body::Withdraw };
            out.push(Output::Send { to: node, message, more: false });
        }
    }

    /// Handles a returned object: requests it through the other hub.
    pub(super) fn moved<V>(
        &mut self,
        now: Time,
        number: u32,
        index: u32,
        directory: &impl Directory<K>,
        out: &mut Outputs<K, V>,
    ) {
        let Some(request) = self.requests.get_mut(&number) else { return };
        let object_request = &request.object_requests[index as usize];
        let State::Moving(to) = object_request.state else { return };
        let rack = request.paths[to as usize].rack;
        let holder = directory.replicas(&object_request.key).iter().copied().find(|&node| directory.rack(node) == rack);
        match holder.filter(|_| !request.paths[to as usize].gone) {
            Some(holder) => self.ask_through(now, number, index, to, holder, out),
            None => self.ask_elsewhere(now, number, index, directory, out),
        }
    }
}

impl<K> Request<K> {
    /// Forms swarms with a path per hub, and links the hubs to a tree with at most `most` roots.
    fn form(
        &mut self,
        now: Time,
        parts: &sicc::Parts,
        settings: &sicc::Params,
        most: u32,
        directory: &impl Directory<K>,
        draw: Draw<'_>,
    ) {
        let object_requests = &self.object_requests;
        let holder = |index: &u32| object_requests[*index as usize].holder;
        let mut by_server: Vec<u32> = (0..object_requests.len() as u32)
            .filter(|&index| object_requests[index as usize].state == State::NotRequested)
            .collect();
        by_server.sort_unstable_by_key(|index| (holder(index), *index));
        let groups: Vec<&[u32]> = by_server.chunk_by(|a, b| holder(a) == holder(b)).collect();
        let target = |group: &&[u32]| {
            let node = holder(&group[0]);
            let (rack, spare_io) = (directory.rack(node), directory.spare_io(node));
            Target { server: node.0, rack, objects: group.len() as u32, spare_io }
        };
        let targets: Vec<Target> = groups.iter().map(target).collect();
        let mut swarms = Swarms::default();
        match parts.swarms {
            sicc::Swarms::ByRack => swarms.form(&targets, settings.hub),
            sicc::Swarms::AtRandom => swarms.form_at_random(&targets, settings.hub, draw),
        }
        let mut via = vec![0; self.object_requests.len()];
        let server = |target: u32| Node(targets[target as usize].server);
        for (swarm, number) in swarms.swarms().iter().zip(0..) {
            let (node, backup) = (server(swarm.hub), swarm.backup.map(server));
            let path =
                Path { hub: true, backup, missing: swarm.objects as u32, ..Path::to(node, directory.rack(node), now) };
            self.paths.push(path);
            let objects = swarms.members(swarm).iter().flat_map(|&target| groups[target as usize]);
            objects.for_each(|&index| via[index as usize] = number);
        }
        by_server.iter().for_each(|&index| self.object_requests[index as usize].via = via[index as usize]);
        let hub =
            |path: &Path| tree::Hub { objects: path.missing.into(), aggregation: directory.aggregation(path.rack) };
        let hubs: Vec<tree::Hub> = self.paths.iter().map(hub).collect();
        let tree = Tree::build(&hubs, most);
        for (path, number) in self.paths.iter_mut().zip(0..) {
            path.parent = tree.parent(number);
        }
    }

    /// Redirections from late hubs to others (equations 7 and 8): objects and new paths. A finished hub is the earliest.
    fn moves(&self, settings: &sicc::Params, directory: &impl Directory<K>) -> Vec<(u32, u32)> {
        let missing = self.missing_by_root();
        let sends = |path: &u32| self.paths[*path as usize].is_root() && self.paths[*path as usize].hub;
        let roots: Vec<u32> = (0..self.paths.len() as u32).filter(sends).collect();
        let mut place = vec![u32::MAX; self.paths.len()];
        roots.iter().zip(0..).for_each(|(&path, number)| place[path as usize] = number);
        let of_root = |path: u32| place[self.root(path) as usize];
        let hub = |path: &u32| redirect::Hub {
            remaining: missing[*path as usize].into(),
            real: self.paths[*path as usize].real,
        };
        let mut hubs: Vec<redirect::Hub> = roots.iter().map(hub).collect();
        // An object that moves between hubs forever would never be outstanding long enough to detect lost servers.
        let may_move = |index: &u32| {
            let object_request = &self.object_requests[*index as usize];
            object_request.state == State::Requested
                && usize::from(object_request.redirected) + 1 < directory.replicas(&object_request.key).len()
        };
        let asked = (0..self.object_requests.len() as u32).filter(may_move);
        let held =
            asked.map(|index| redirect::Held { object: index, hub: of_root(self.object_requests[index as usize].via) });
        let held: Vec<redirect::Held> = held.filter(|held| held.hub != u32::MAX).collect();
        // The first hub in each replica's rack.
        let hubs_at = (0..self.paths.len() as u32).filter(|&path| self.paths[path as usize].is_hub());
        let mut by_rack: Vec<(u32, u32)> = hubs_at.map(|path| (self.paths[path as usize].rack, path)).collect();
        by_rack.sort_unstable();
        by_rack.dedup_by_key(|(rack, _)| *rack);
        let hub_of = |rack| Some(by_rack[by_rack.binary_search_by_key(&rack, |(rack, _)| *rack).ok()?].1);
        let replicas_at = |object: u32| {
            let nodes = directory.replicas(&self.object_requests[object as usize].key).iter();
            nodes.filter_map(|&node| hub_of(directory.rack(node)))
        };
        let mut replicas = |object: u32, hubs: &mut Vec<u32>| {
            hubs.extend(replicas_at(object).map(of_root).filter(|&hub| hub != u32::MAX));
        };
        let mut moves = Vec::new();
        redirect::redirect(&mut hubs, settings.mean_object, &held, &mut replicas, &mut moves);
        let path =
            |to: &redirect::Move| Some((to.object, replicas_at(to.object).find(|&path| of_root(path) == to.to)?));
        moves.iter().filter_map(path).collect()
    }

    /// Missing objects of each path, children's included.
    pub(super) fn missing_through(&self) -> Vec<u32> {
        let mut missing = vec![0; self.paths.len()];
        for (path, mut number) in self.paths.iter().zip(0..) {
            missing[number as usize] += path.missing;
            while let Some(parent) = self.paths[number as usize].parent {
                missing[parent as usize] += path.missing;
                number = parent;
            }
        }
        missing
    }
}
