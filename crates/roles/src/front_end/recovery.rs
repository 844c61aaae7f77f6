//! What is silent or gone, and what is asked for elsewhere because of it.

use fanin_units::{Rate, Time};

use super::{Asking, Directory, FrontEnd, Request, State, Way};
use crate::wire::{Body, Message, Node, Part};
use crate::{Output, Outputs};

impl<K: Part + Clone> FrontEnd<K> {
    /// Looks who is late, who is silent, and which request's time is over.
    pub(super) fn look<V>(&mut self, now: Time, directory: &impl Directory<K>, out: &mut Outputs<K, V>) {
        self.look_at = Time::NEVER;
        self.look_for_late(now);
        self.ask_more_servers(now, out);
        for number in self.numbers() {
            if self.requests[&number].deadline <= now {
                self.fail_what_is_left(number, out);
            } else if let Some(patience) = self.params.patience {
                let silent = self.requests[&number].silent(now, patience);
                silent.into_iter().for_each(|way| self.way_is_gone(now, number, way, directory, out));
            }
            self.end_if_done(number, out);
            if let Some(request) = self.requests.get(&number) {
                let silence = self.params.patience.map_or(Time::NEVER, |patience| request.next_silence(patience));
                self.look_at = self.look_at.min(request.deadline).min(silence.max(Time(now.0 + 1)));
            }
        }
    }

    /// The deadline has passed.
    fn fail_what_is_left<V>(&mut self, number: u32, out: &mut Outputs<K, V>) {
        let Some(request) = self.requests.get_mut(&number) else { return };
        for (wish, index) in request.wishes.iter_mut().zip(0..) {
            if std::mem::replace(&mut wish.state, State::Done) != State::Done {
                out.push(Output::Fail { request: number, index });
            }
        }
        request.left = 0;
    }

    /// Who was asked is gone: its backup is made the hub, or other replicas are asked; its children send to the front end.
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
        self.take_children(now, number, way, out);
        let objects = self.requests[&number].through(way);
        let backup = backup.filter(|node| !self.gone.contains_key(node));
        let through_backup = backup.map(|backup| self.add_hub(now, number, backup, directory));
        for index in objects {
            let Some(request) = self.requests.get_mut(&number) else { return };
            let wish = &mut request.wishes[index as usize];
            match through_backup.filter(|_| wish.holder != node) {
                Some(to) => {
                    (wish.via, wish.state) = (to, State::Asked);
                    wish.tries = wish.tries.saturating_add(1);
                    request.ways[way as usize].missing -= 1;
                    request.ways[to as usize].missing += 1;
                }
                None => self.ask_elsewhere(now, number, index, directory, out),
            }
        }
        if let Some(to) = through_backup {
            let objects = self.requests[&number].through(to);
            self.make_hub(number, to, objects.len() as u32, out);
            self.ask_hub(number, to, &objects, out);
        }
        self.ask_more_servers(now, out);
    }

    /// Hubs below one that is gone send to the front end, which asks them anew for what it has not: they may have sent it on.
    fn take_children<V>(&mut self, now: Time, number: u32, gone: u32, out: &mut Outputs<K, V>) {
        let Some(request) = self.requests.get_mut(&number) else { return };
        let children = (0..request.ways.len() as u32).filter(|&way| request.ways[way as usize].parent == Some(gone));
        let children: Vec<u32> = children.collect();
        for &child in &children {
            let assigned = request.ways[gone as usize].assigned;
            let way = &mut request.ways[child as usize];
            (way.parent, way.heard) = (None, now);
            way.assigned = Rate(assigned.0 / children.len() as u64);
        }
        for child in children {
            // A child's own children have to send again, too: what they sent may be lost with their grandparent.
            for way in self.requests[&number].below(child) {
                let objects = self.requests[&number].through(way);
                self.make_hub(number, way, objects.len() as u32, out);
                self.ask_hub(number, way, &objects, out);
            }
        }
    }

    fn add_hub(&mut self, now: Time, number: u32, node: Node, directory: &impl Directory<K>) -> u32 {
        let capacity = self.params.capacity;
        let Some(request) = self.requests.get_mut(&number) else { return 0 };
        let share = Rate(capacity.0 / (request.ways.len() as u64).max(1));
        let way = Way { hub: true, assigned: share, ..Way::to(node, directory.rack(node), now) };
        request.ways.push(way);
        request.ways.len() as u32 - 1
    }

    /// Asks for an object at another replica, through its rack's hub where there is one; gives it up after so many times.
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
        let way = &mut request.ways[wish.via as usize];
        way.missing -= 1;
        // The last that it owed: it is not waited for any more.
        if !way.hub && way.missing == 0 && !way.gone {
            request.line.busy -= 1;
        }
        let replicas = directory.replicas(&wish.key);
        if wish.tries >= self.params.tries || replicas.is_empty() {
            wish.state = State::Done;
            request.left -= 1;
            out.push(Output::Fail { request: number, index });
            self.end_if_done(number, out);
            return;
        }
        wish.tries += 1;
        let here = replicas.iter().position(|&node| node == wish.holder).unwrap_or(0);
        let others = (1..=replicas.len()).map(|step| replicas[(here + step) % replicas.len()]);
        let alive = others.clone().find(|node| !self.gone.contains_key(node));
        let holder = alive.or_else(|| others.clone().next()).unwrap_or(wish.holder);
        (wish.holder, wish.state) = (holder, State::Asked);
        let hub = matches!(self.params.asking, Asking::Swarms { .. }).then(|| request.hub_of(directory.rack(holder)));
        match hub.flatten() {
            Some(way) => {
                request.wishes[index as usize].via = way;
                request.ways[way as usize].missing += 1;
                self.ask_hub(number, way, &[index], out);
            }
            None => {
                let way = Way { missing: 1, ..Way::to(holder, directory.rack(holder), now) };
                request.ways.push(way);
                request.line.busy += 1;
                let wish = &mut request.wishes[index as usize];
                wish.via = request.ways.len() as u32 - 1;
                let body = Body::Get(wish.key.clone());
                out.push(Output::Send { to: holder, message: Message { tag: request.tag, index, body }, more: false });
            }
        }
    }
}

impl<K> Request<K> {
    /// Objects that are asked for through a way, its children's apart.
    fn through(&self, way: u32) -> Vec<u32> {
        let open = |index: &u32| {
            let wish = &self.wishes[*index as usize];
            wish.via == way && wish.state != State::Done
        };
        (0..self.wishes.len() as u32).filter(open).collect()
    }

    /// A way and all below it.
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
        (0..self.ways.len() as u32).filter(|&number| below(number)).collect()
    }

    /// Who has been silent for too long. Of a hub with others below it: the hub, if it owes objects of its own, else those that
    /// do; a hub below another one may only wait behind it.
    fn silent(&self, now: Time, patience: Time) -> Vec<u32> {
        let roots = self.owing().filter(|&way| self.ways[way as usize].heard.saturating_add(patience) <= now);
        let guilty = |root: u32| match self.ways[root as usize].missing {
            0 => self.below(root).into_iter().filter(|&way| self.ways[way as usize].missing > 0).collect(),
            _ => vec![root],
        };
        roots.flat_map(guilty).collect()
    }

    /// When the next one will have been silent for too long, unless something is heard of it.
    fn next_silence(&self, patience: Time) -> Time {
        let heard = self.owing().map(|way| self.ways[way as usize].heard).min();
        heard.map_or(Time::NEVER, |heard| heard.saturating_add(patience))
    }

    /// Ways to the front end itself by which something has yet to come.
    pub(super) fn owing(&self) -> impl Iterator<Item = u32> {
        let missing = self.missing_by_root();
        (0..missing.len() as u32).filter(move |&way| self.ways[way as usize].is_root() && missing[way as usize] > 0)
    }
}
