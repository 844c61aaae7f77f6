//! Direct requests to servers: one request per server for all its objects, with a concurrency limit.

use fanin_fanout::ServerQueue;
use fanin_fanout::mean::ASSUMED;
use fanin_units::{Bytes, Time};

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
        let mut of_all: u32 = self.requests.values().map(|request| request.line.servers.busy()).sum();
        let most = self.servers_by_bytes();
        for request in self.requests.values_mut() {
            while of_all < most {
                let servers = &mut request.line.servers;
                let next = match &request.window {
                    Some(own) => servers.take_next(own, 0),
                    None => servers.take_next(kept, of_all - servers.busy()),
                };
                let Some(path) = next else { break };
                if request.ask_path(path, now, out) {
                    of_all += 1;
                    self.look_at = self.look_at.min(soonest);
                } else {
                    request.line.servers.end();
                }
            }
        }
    }

    /// Servers whose mean responses fit into the limit of bytes; at least one.
    fn servers_by_bytes(&self) -> u32 {
        let mean = self.mean_response.get().unwrap_or(ASSUMED).max(1);
        let fits = |limit: Bytes| u32::try_from(limit.0 / mean).unwrap_or(u32::MAX).max(1);
        self.params.most_bytes.map_or(u32::MAX, fits)
    }

    /// Reports late responses to the concurrency limit, each once.
    pub(super) fn look_for_late(&mut self, now: Time) {
        let RequestMethod::Servers(kept) = &mut self.params.method else { return };
        for request in self.requests.values_mut() {
            let Request { window, line, paths, .. } = request;
            let asked = |path: u32| {
                let path = &paths[path as usize];
                (path.missing > 0 && !path.gone).then_some(path.asked)
            };
            if let Some(at) = line.servers.report_late(now, window.as_mut().unwrap_or(kept), asked) {
                self.look_at = self.look_at.min(at);
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
        by_server.sort_unstable_by_key(|index| (holder(index), *index));
        let mut groups: Vec<&[u32]> = by_server.chunk_by(|a, b| holder(a) == holder(b)).collect();
        groups.sort_unstable_by_key(|group| group[0]);
        let paths = groups.iter().map(|group| {
            let node = holder(&group[0]);
            Path { missing: group.len() as u32, ..Path::to(node, directory.rack(node), Time::NEVER) }
        });
        let paths: Vec<Path> = paths.collect();
        self.line.servers = ServerQueue::new(paths.len() as u32);
        self.paths = paths;
        let of_way = |(path, group): (u32, &&[u32])| group.iter().map(move |&index| (path, index)).collect::<Vec<_>>();
        self.line.objects = (0..).zip(&groups).flat_map(of_way).collect();
        self.line.objects.iter().for_each(|&(path, index)| self.object_requests[index as usize].via = path);
    }

    /// Requests all objects of a path; returns false if its server was lost before its turn, since its objects are requested elsewhere.
    fn ask_path<V>(&mut self, number: u32, now: Time, out: &mut Outputs<K, V>) -> bool {
        let from = self.line.objects_asked as usize;
        let count = self.line.objects[from..].iter().take_while(|(path, _)| *path == number).count();
        self.line.objects_asked += count as u32;
        let path = &mut self.paths[number as usize];
        if path.gone {
            return false;
        }
        (path.asked, path.heard) = (now, now);
        for &(_, index) in &self.line.objects[from..from + count] {
            let object_request = &mut self.object_requests[index as usize];
            object_request.state = State::Requested;
            let body = Body::Get(object_request.key.clone());
            out.push(Output::Send { to: path.node, message: Message { tag: self.tag, index, body }, more: true });
        }
        crate::output::last_of_packet(out);
        true
    }
}
