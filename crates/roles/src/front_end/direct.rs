//! Direct requests to servers: one request per server for all its objects, with a concurrency limit.

use fanin_units::Time;

use super::{Directory, FrontEnd, Path, Request, RequestMethod, State};
use crate::wire::{Body, Message, Part};
use crate::{Output, Outputs};

impl<K: Part + Clone> FrontEnd<K> {
    /// Starts a request: its servers, in the order of their first objects.
    pub(super) fn ask_servers<V>(
        &mut self,
        now: Time,
        number: u32,
        directory: &impl Directory<K>,
        out: &mut Outputs<K, V>,
    ) {
        if let Some(request) = self.requests.get_mut(&number) {
            request.line_up(directory);
        }
        self.ask_more_servers(now, out);
    }

    /// Requests from more servers as the limit allows: of the oldest request first, or by each request's own limit.
    pub(super) fn ask_more_servers<V>(&mut self, now: Time, out: &mut Outputs<K, V>) {
        let RequestMethod::Servers(kept) = &self.params.method else { return };
        let (late, timeout) = (kept.late(), self.params.timeout);
        let soonest = now.saturating_add(late.into_iter().chain(timeout).min().unwrap_or(Time::NEVER));
        let mut of_all: u32 = self.requests.values().map(|request| request.line.busy).sum();
        for request in self.requests.values_mut() {
            let (window, mut busy) = match &request.window {
                Some(own) => (own.window(), request.line.busy),
                None => (kept.window(), of_all),
            };
            while busy < window && request.ask_next(now, out) {
                (busy, of_all) = (busy + 1, of_all + 1);
                self.look_at = self.look_at.min(soonest);
            }
        }
    }

    /// Reports late responses to the concurrency limit, each once.
    pub(super) fn look_for_late(&mut self, now: Time) {
        let RequestMethod::Servers(kept) = &mut self.params.method else { return };
        let Some(late) = kept.late() else { return };
        for request in self.requests.values_mut() {
            while request.line.oldest < request.line.next {
                let path = &request.paths[request.line.oldest as usize];
                let (waits, at) = (path.missing > 0 && !path.gone, path.asked.saturating_add(late));
                if waits && at > now {
                    self.look_at = self.look_at.min(at);
                    break;
                }
                if waits {
                    request.window.as_mut().unwrap_or(kept).lost(now);
                }
                request.line.oldest += 1;
            }
        }
    }
}

impl<K: Part + Clone> Request<K> {
    /// Creates a path per server, and sorts the objects by path.
    fn line_up(&mut self, directory: &impl Directory<K>) {
        let object_requests = &self.object_requests;
        let holder = |index: &u32| object_requests[*index as usize].holder;
        let unasked = |index: &u32| object_requests[*index as usize].state == State::NotRequested;
        let mut by_server: Vec<u32> = (0..object_requests.len() as u32).filter(unasked).collect();
        by_server.sort_by_key(|index| (holder(index), *index));
        let mut groups: Vec<&[u32]> = by_server.chunk_by(|a, b| holder(a) == holder(b)).collect();
        groups.sort_by_key(|group| group[0]);
        let paths = groups.iter().map(|group| {
            let node = holder(&group[0]);
            Path { missing: group.len() as u32, ..Path::to(node, directory.rack(node), Time::NEVER) }
        });
        let paths: Vec<Path> = paths.collect();
        self.line.paths = paths.len() as u32;
        self.paths = paths;
        let of_way = |(path, group): (u32, &&[u32])| group.iter().map(move |&index| (path, index)).collect::<Vec<_>>();
        self.line.objects = (0..).zip(&groups).flat_map(of_way).collect();
        self.line.objects.iter().for_each(|&(path, index)| self.object_requests[index as usize].via = path);
    }

    /// Requests all objects from the next server; returns whether there is one.
    fn ask_next<V>(&mut self, now: Time, out: &mut Outputs<K, V>) -> bool {
        while self.line.next < self.line.paths {
            let number = self.line.next;
            self.line.next += 1;
            let from = self.line.objects_asked as usize;
            let count = self.line.objects[from..].iter().take_while(|(path, _)| *path == number).count();
            self.line.objects_asked += count as u32;
            let path = &mut self.paths[number as usize];
            // If a server was lost before its turn, its objects are requested elsewhere.
            if path.gone {
                continue;
            }
            (path.asked, path.heard) = (now, now);
            for &(_, index) in &self.line.objects[from..from + count] {
                let object_request = &mut self.object_requests[index as usize];
                object_request.state = State::Requested;
                let body = Body::Get(object_request.key.clone());
                out.push(Output::Send { to: path.node, message: Message { tag: self.tag, index, body }, more: true });
            }
            crate::last_of_packet(out);
            self.line.busy += 1;
            return true;
        }
        false
    }
}
