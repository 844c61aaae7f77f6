//! Recovery: lost and silent machines, and repeated requests.

use fanin_units::Time;

use super::{Directory, FrontEnd, Path, Request, RequestMethod, State};
use crate::wire::{Body, Message, Node, Part};
use crate::{Output, Outputs};

impl<K: Part + Clone> FrontEnd<K> {
    /// Checks for late and silent machines, and for deadlines.
    pub(super) fn look<V>(&mut self, now: Time, directory: &impl Directory<K>, out: &mut Outputs<K, V>) {
        self.look_at = Time::NEVER;
        self.look_for_late(now);
        self.ask_more_servers(now, out);
        for number in self.numbers() {
            if self.requests[&number].deadline <= now {
                self.fail_what_is_left(number, out);
                self.end_if_done(now, number, out);
            } else if let Some(timeout) = self.params.timeout {
                for path in self.requests[&number].silent(now, timeout, self.params.agents) {
                    self.dismiss(number, path, out);
                    if self.params.agents {
                        self.silent.push(self.requests[&number].paths[path as usize].node);
                    }
                    self.path_lost(now, number, path, directory, out);
                }
            }
            if let Some(request) = self.requests.get(&number) {
                let silence = self
                    .params
                    .timeout
                    .map_or(Time::NEVER, |timeout| request.next_silence(timeout, self.params.agents));
                self.look_at = self.look_at.min(request.deadline).min(silence.max(Time(now.0 + 1)));
            }
        }
    }

    /// Schedules the next check for silent machines.
    pub(super) fn look_for_silence(&mut self, now: Time) {
        if let Some(timeout) = self.params.timeout {
            self.look_at = self.look_at.min(now.saturating_add(timeout));
        }
    }

    /// Fails the remaining objects at the deadline.
    fn fail_what_is_left<V>(&mut self, number: u32, out: &mut Outputs<K, V>) {
        let Some(request) = self.requests.get_mut(&number) else { return };
        for (object_request, index) in request.object_requests.iter_mut().zip(0..) {
            if std::mem::replace(&mut object_request.state, State::Done) != State::Done {
                out.push(Output::Fail { request: number, index });
            }
        }
        request.left = 0;
    }

    /// Dismisses a silent hub, which may only be slow: its remaining objects are not needed.
    fn dismiss<V>(&self, number: u32, path: u32, out: &mut Outputs<K, V>) {
        let Some(request) = self.requests.get(&number) else { return };
        let Path { hub, node, gone, .. } = request.paths[path as usize];
        if hub && !gone {
            let message = Message { tag: request.tag, index: 0, body: Body::Over };
            out.push(Output::Send { to: node, message, more: false });
        }
    }

    /// Handles a lost machine: its backup becomes the hub, or other replicas are requested; its children send to the front end.
    pub(super) fn path_lost<V>(
        &mut self,
        now: Time,
        number: u32,
        path: u32,
        directory: &impl Directory<K>,
        out: &mut Outputs<K, V>,
    ) {
        let Some(request) = self.requests.get_mut(&number) else { return };
        if std::mem::replace(&mut request.paths[path as usize].gone, true) {
            return;
        }
        let Path { node, backup, hub, missing, asked, .. } = request.paths[path as usize];
        if !hub && missing > 0 && asked != Time::NEVER {
            request.line.servers.end();
        }
        if let Some(timeout) = self.params.timeout {
            self.gone.insert(node, now.saturating_add(timeout).saturating_add(timeout));
        }
        let backup = backup.filter(|node| !self.gone.contains_key(node));
        let (to_backup, elsewhere): (Vec<u32>, Vec<u32>) = request
            .through(path)
            .into_iter()
            .partition(|&index| backup.is_some() && request.object_requests[index as usize].holder != node);
        let mut made = request.orphan(path, now);
        if let Some(backup) = backup.filter(|_| !to_backup.is_empty()) {
            made.push(request.hand_over(path, backup, &to_backup, directory.rack(backup), now));
        }
        // New roots get their share of B_p before they are notified.
        if !made.is_empty() {
            let known = self.speeds();
            self.split(&known, out);
        }
        let missing = self.requests[&number].missing_through();
        for root in made {
            // All descendants send again, since their messages may be lost.
            for path in self.requests[&number].below(root) {
                let objects = self.requests[&number].through(path);
                self.make_hub(number, path, missing[path as usize], out);
                self.ask_hub(number, path, objects, out);
            }
        }
        elsewhere.into_iter().for_each(|index| self.ask_elsewhere(now, number, index, directory, out));
        self.ask_more_servers(now, out);
    }

    /// Requests an object from another replica, through its rack's hub if there is one; fails it after the maximum number of attempts.
    pub(super) fn ask_elsewhere<V>(
        &mut self,
        now: Time,
        number: u32,
        index: u32,
        directory: &impl Directory<K>,
        out: &mut Outputs<K, V>,
    ) {
        let Some(request) = self.requests.get_mut(&number) else { return };
        let object_request = &mut request.object_requests[index as usize];
        let replicas = directory.replicas(&object_request.key);
        // The last attempt does without agents.
        let is_direct = self.params.agents && object_request.tries >= self.params.tries;
        let may_try =
            object_request.tries < self.params.tries || is_direct && request.paths[object_request.via as usize].hub;
        if !may_try || replicas.is_empty() {
            object_request.state = State::Done;
            request.left -= 1;
            let via = object_request.via;
            request.remove_object(via);
            out.push(Output::Fail { request: number, index });
            self.ask_more_servers(now, out);
            self.end_if_done(now, number, out);
            return;
        }
        object_request.tries = object_request.tries.saturating_add(1);
        let here = replicas.iter().position(|&node| node == object_request.holder).unwrap_or(0);
        let others = (1..=replicas.len()).map(|step| replicas[(here + step) % replicas.len()]);
        let alive = others.clone().find(|node| !self.gone.contains_key(node));
        let holder = alive.or_else(|| others.clone().next()).unwrap_or(object_request.holder);
        let hub = (matches!(self.params.method, RequestMethod::Swarms { .. }) && !is_direct)
            .then(|| request.hub_of(directory.rack(holder)));
        match hub.flatten() {
            Some(path) => self.ask_through(now, number, index, path, holder, out),
            None => {
                let object_request = &mut request.object_requests[index as usize];
                let old = object_request.via;
                (object_request.holder, object_request.state, object_request.via) =
                    (holder, State::Requested, request.paths.len() as u32);
                let body = Body::Get(object_request.key.clone());
                request.remove_object(old);
                request.paths.push(Path { missing: 1, ..Path::to(holder, directory.rack(holder), now) });
                request.line.servers.begin();
                out.push(Output::Send { to: holder, message: Message { tag: request.tag, index, body }, more: false });
                self.look_for_silence(now);
            }
        }
    }

    /// Requests an object through a hub.
    pub(super) fn ask_through<V>(
        &mut self,
        now: Time,
        number: u32,
        index: u32,
        path: u32,
        holder: Node,
        out: &mut Outputs<K, V>,
    ) {
        let Some(request) = self.requests.get_mut(&number) else { return };
        let object_request = &mut request.object_requests[index as usize];
        let old = object_request.via;
        (object_request.holder, object_request.state, object_request.via) = (holder, State::Requested, path);
        request.remove_object(old);
        let root = request.root(path);
        // A hub without missing objects has not been silent.
        if request.missing_by_root()[root as usize] == 0 {
            request.paths[root as usize].heard = now;
        }
        request.paths[path as usize].missing += 1;
        self.ask_hub(number, path, [index], out);
        self.look_for_silence(now);
    }
}

impl<K> Request<K> {
    /// Objects requested through a path, without its children's.
    fn through(&self, path: u32) -> Vec<u32> {
        let open = |index: &u32| {
            let object_request = &self.object_requests[*index as usize];
            object_request.via == path && object_request.state != State::Done
        };
        // Skip the scan if none are missing.
        let missing = self.paths[path as usize].missing as usize;
        (0..self.object_requests.len() as u32).filter(open).take(missing).collect()
    }

    /// Makes hubs below a lost one send to the front end, if they have missing objects.
    fn orphan(&mut self, gone: u32, now: Time) -> Vec<u32> {
        let children = (0..self.paths.len() as u32).filter(|&path| self.paths[path as usize].parent == Some(gone));
        let mut children: Vec<u32> = children.collect();
        for &child in &children {
            let path = &mut self.paths[child as usize];
            (path.parent, path.heard) = (None, now);
        }
        let missing = self.missing_by_root();
        children.retain(|&child| missing[child as usize] > 0);
        children
    }

    /// Moves objects of a lost hub to a new one; returns its path.
    fn hand_over(&mut self, from: u32, backup: Node, objects: &[u32], rack: u32, now: Time) -> u32 {
        let to = self.paths.len() as u32;
        self.paths.push(Path { hub: true, missing: objects.len() as u32, ..Path::to(backup, rack, now) });
        self.paths[from as usize].missing -= objects.len() as u32;
        for &index in objects {
            let object_request = &mut self.object_requests[index as usize];
            (object_request.via, object_request.tries) = (to, object_request.tries.saturating_add(1));
        }
        to
    }

    /// A path and its descendants that are not lost.
    fn below(&self, path: u32) -> Vec<u32> {
        let below = |mut number: u32| loop {
            if number == path {
                return true;
            }
            match self.paths[number as usize].parent {
                Some(parent) => number = parent,
                None => return false,
            }
        };
        (0..self.paths.len() as u32).filter(|&number| !self.paths[number as usize].gone && below(number)).collect()
    }

    /// Paths that have been silent for too long: of agents, hubs with missing objects, their own or their children's. Else, in a tree: the
    /// root, if it has missing objects of its own, else the descendants that do; a descendant may only wait behind the root.
    fn silent(&self, now: Time, timeout: Time, agents: bool) -> Vec<u32> {
        if agents {
            let is_silent = |path: &u32| self.paths[*path as usize].heard.saturating_add(timeout) <= now;
            return self.owing_hubs().filter(is_silent).collect();
        }
        let roots = self.owing().filter(|&path| self.paths[path as usize].heard.saturating_add(timeout) <= now);
        let guilty = |root: u32| match self.paths[root as usize].missing {
            0 => self.below(root).into_iter().filter(|&path| self.paths[path as usize].missing > 0).collect(),
            _ => vec![root],
        };
        roots.flat_map(guilty).collect()
    }

    /// When the next path will have been silent for too long.
    fn next_silence(&self, timeout: Time, agents: bool) -> Time {
        let heard_of = |path: u32| self.paths[path as usize].heard;
        let heard = if agents { self.owing_hubs().map(heard_of).min() } else { self.owing().map(heard_of).min() };
        heard.map_or(Time::NEVER, |heard| heard.saturating_add(timeout))
    }

    /// Hubs with missing objects, their own or their children's.
    fn owing_hubs(&self) -> impl Iterator<Item = u32> {
        let missing = self.missing_through();
        (0..missing.len() as u32).filter(move |&path| missing[path as usize] > 0 && self.paths[path as usize].is_hub())
    }

    /// Paths to the front end itself with missing objects.
    pub(super) fn owing(&self) -> impl Iterator<Item = u32> {
        let missing = self.missing_by_root();
        (0..missing.len() as u32).filter(move |&path| self.paths[path as usize].is_root() && missing[path as usize] > 0)
    }
}
