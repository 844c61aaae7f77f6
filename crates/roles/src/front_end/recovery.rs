//! Recovery: lost and silent machines, and repeated requests.

use fanin_units::Time;

use super::{Asking, Directory, FrontEnd, Request, State, Way};
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
            } else if let Some(patience) = self.params.patience {
                for way in self.requests[&number].silent(now, patience) {
                    self.dismiss(number, way, out);
                    self.way_is_gone(now, number, way, directory, out);
                }
            }
            if let Some(request) = self.requests.get(&number) {
                let silence = self.params.patience.map_or(Time::NEVER, |patience| request.next_silence(patience));
                self.look_at = self.look_at.min(request.deadline).min(silence.max(Time(now.0 + 1)));
            }
        }
    }

    /// Schedules the next check for silent machines.
    pub(super) fn look_for_silence(&mut self, now: Time) {
        if let Some(patience) = self.params.patience {
            self.look_at = self.look_at.min(now.saturating_add(patience));
        }
    }

    /// Fails the remaining objects at the deadline.
    fn fail_what_is_left<V>(&mut self, number: u32, out: &mut Outputs<K, V>) {
        let Some(request) = self.requests.get_mut(&number) else { return };
        for (wish, index) in request.wishes.iter_mut().zip(0..) {
            if std::mem::replace(&mut wish.state, State::Done) != State::Done {
                out.push(Output::Fail { request: number, index });
            }
        }
        request.left = 0;
    }

    /// Dismisses a silent hub, which may only be slow: its remaining objects are not needed.
    fn dismiss<V>(&self, number: u32, way: u32, out: &mut Outputs<K, V>) {
        let Some(request) = self.requests.get(&number) else { return };
        let Way { hub, node, gone, .. } = request.ways[way as usize];
        if hub && !gone {
            let message = Message { tag: request.tag, index: 0, body: Body::Over };
            out.push(Output::Send { to: node, message, more: false });
        }
    }

    /// Handles a lost machine: its backup becomes the hub, or other replicas are requested; its children send to the front end.
    pub(super) fn way_is_gone<V>(
        &mut self,
        now: Time,
        number: u32,
        way: u32,
        directory: &impl Directory<K>,
        out: &mut Outputs<K, V>,
    ) {
        let Some(request) = self.requests.get_mut(&number) else { return };
        if std::mem::replace(&mut request.ways[way as usize].gone, true) {
            return;
        }
        let Way { node, backup, hub, missing, asked, .. } = request.ways[way as usize];
        if !hub && missing > 0 && asked != Time::NEVER {
            request.line.busy -= 1;
        }
        if let Some(patience) = self.params.patience {
            self.gone.insert(node, now.saturating_add(patience).saturating_add(patience));
        }
        let backup = backup.filter(|node| !self.gone.contains_key(node));
        let (to_backup, elsewhere): (Vec<u32>, Vec<u32>) = request
            .through(way)
            .into_iter()
            .partition(|&index| backup.is_some() && request.wishes[index as usize].holder != node);
        let mut made = request.orphan(way, now);
        if let Some(backup) = backup.filter(|_| !to_backup.is_empty()) {
            made.push(request.hand_over(way, backup, &to_backup, directory.rack(backup), now));
        }
        // New roots get their share of B_p before they are notified.
        if !made.is_empty() {
            let known = self.speeds();
            self.split(&known, out);
        }
        let missing = self.requests[&number].missing_through();
        for root in made {
            // All descendants send again, since their messages may be lost.
            for way in self.requests[&number].below(root) {
                let objects = self.requests[&number].through(way);
                self.make_hub(number, way, missing[way as usize], out);
                self.ask_hub(number, way, objects, out);
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
        let wish = &mut request.wishes[index as usize];
        let replicas = directory.replicas(&wish.key);
        if wish.tries >= self.params.tries || replicas.is_empty() {
            wish.state = State::Done;
            request.left -= 1;
            let via = wish.via;
            request.comes_off(via);
            out.push(Output::Fail { request: number, index });
            self.ask_more_servers(now, out);
            self.end_if_done(now, number, out);
            return;
        }
        wish.tries += 1;
        let here = replicas.iter().position(|&node| node == wish.holder).unwrap_or(0);
        let others = (1..=replicas.len()).map(|step| replicas[(here + step) % replicas.len()]);
        let alive = others.clone().find(|node| !self.gone.contains_key(node));
        let holder = alive.or_else(|| others.clone().next()).unwrap_or(wish.holder);
        let hub = matches!(self.params.asking, Asking::Swarms { .. }).then(|| request.hub_of(directory.rack(holder)));
        match hub.flatten() {
            Some(way) => self.ask_through(now, number, index, way, holder, out),
            None => {
                let wish = &mut request.wishes[index as usize];
                let old = wish.via;
                (wish.holder, wish.state, wish.via) = (holder, State::Asked, request.ways.len() as u32);
                let body = Body::Get(wish.key.clone());
                request.comes_off(old);
                request.ways.push(Way { missing: 1, ..Way::to(holder, directory.rack(holder), now) });
                request.line.busy += 1;
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
        way: u32,
        holder: Node,
        out: &mut Outputs<K, V>,
    ) {
        let Some(request) = self.requests.get_mut(&number) else { return };
        let wish = &mut request.wishes[index as usize];
        let old = wish.via;
        (wish.holder, wish.state, wish.via) = (holder, State::Asked, way);
        request.comes_off(old);
        let root = request.root(way);
        // A hub without missing objects has not been silent.
        if request.missing_by_root()[root as usize] == 0 {
            request.ways[root as usize].heard = now;
        }
        request.ways[way as usize].missing += 1;
        self.ask_hub(number, way, [index], out);
        self.look_for_silence(now);
    }
}

impl<K> Request<K> {
    /// Objects requested through a path, without its children's.
    fn through(&self, way: u32) -> Vec<u32> {
        let open = |index: &u32| {
            let wish = &self.wishes[*index as usize];
            wish.via == way && wish.state != State::Done
        };
        // Skip the scan if none are missing.
        let missing = self.ways[way as usize].missing as usize;
        (0..self.wishes.len() as u32).filter(open).take(missing).collect()
    }

    /// Makes hubs below a lost one send to the front end, if they have missing objects.
    fn orphan(&mut self, gone: u32, now: Time) -> Vec<u32> {
        let children = (0..self.ways.len() as u32).filter(|&way| self.ways[way as usize].parent == Some(gone));
        let mut children: Vec<u32> = children.collect();
        for &child in &children {
            let way = &mut self.ways[child as usize];
            (way.parent, way.heard) = (None, now);
        }
        let missing = self.missing_by_root();
        children.retain(|&child| missing[child as usize] > 0);
        children
    }

    /// Moves objects of a lost hub to a new one; returns its path.
    fn hand_over(&mut self, from: u32, backup: Node, objects: &[u32], rack: u32, now: Time) -> u32 {
        let to = self.ways.len() as u32;
        self.ways.push(Way { hub: true, missing: objects.len() as u32, ..Way::to(backup, rack, now) });
        self.ways[from as usize].missing -= objects.len() as u32;
        for &index in objects {
            let wish = &mut self.wishes[index as usize];
            (wish.via, wish.tries) = (to, wish.tries.saturating_add(1));
        }
        to
    }

    /// A path and its descendants that are not lost.
    fn below(&self, way: u32) -> Vec<u32> {
        let below = |mut number: u32| loop {
            if number == way {
                return true;
            }
            match self.ways[number as usize].parent {
                Some(parent) => number = parent,
                None => return false,
            }
        };
        (0..self.ways.len() as u32).filter(|&number| !self.ways[number as usize].gone && below(number)).collect()
    }

    /// Paths that have been silent for too long. In a tree: the root, if it has missing objects of its own, else the descendants that do; a
    /// descendant may only wait behind the root.
    fn silent(&self, now: Time, patience: Time) -> Vec<u32> {
        let roots = self.owing().filter(|&way| self.ways[way as usize].heard.saturating_add(patience) <= now);
        let guilty = |root: u32| match self.ways[root as usize].missing {
            0 => self.below(root).into_iter().filter(|&way| self.ways[way as usize].missing > 0).collect(),
            _ => vec![root],
        };
        roots.flat_map(guilty).collect()
    }

    /// When the next path will have been silent for too long.
    fn next_silence(&self, patience: Time) -> Time {
        let heard = self.owing().map(|way| self.ways[way as usize].heard).min();
        heard.map_or(Time::NEVER, |heard| heard.saturating_add(patience))
    }

    /// Paths to the front end itself with missing objects.
    pub(super) fn owing(&self) -> impl Iterator<Item = u32> {
        let missing = self.missing_by_root();
        (0..missing.len() as u32).filter(move |&way| self.ways[way as usize].is_root() && missing[way as usize] > 0)
    }
}
