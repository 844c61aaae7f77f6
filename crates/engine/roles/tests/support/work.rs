//! Typical work of roles, to measure the cost of a message.

use fanin_fanout::Kind;
use fanin_roles::front_end::{FrontEnd, Measured};
use fanin_roles::hub::{self, Hub};
use fanin_roles::wire::{Numbered, Size, Swarm};
use fanin_roles::{Body, Message, Node, Output, Tag};
use fanin_units::{Bytes, Rate, Time};

use super::{Cluster, FULL, Out, asks_hubs, asks_servers, hub_params};

/// A front end that requests 1,000 objects from 200 servers in 20 racks; each call runs one request and returns its number of messages.
pub fn run_requests(kind: Kind) -> impl FnMut() -> u32 {
    let params = if kind == Kind::Sicc { asks_hubs(FULL, 20) } else { asks_servers(kind) };
    let mut front_end: FrontEnd<Numbered> = FrontEnd::new(params);
    let holders = |object: u32| (0..3).map(|replica| Node(10 + (object * 7 + replica * 61) % 200)).collect();
    let cluster = Cluster { a_rack: 10, holders: (0..1_000).map(holders).collect(), homes: Vec::new() };
    let (mut out, mut asked, mut now) = (Out::new(), Vec::new(), Time::ZERO);
    move || {
        let keys = (0..1_000).map(Numbered);
        front_end.ask(now, keys, Time::NEVER, &cluster, &mut |_| 0, &mut out);
        asked.clear();
        asked.extend(out.drain(..).filter_map(|said| match said {
            Output::Send { to, message: Message { tag, index, body: Body::Get(_) | Body::Ask { .. } }, .. } => {
                Some((to, tag, index))
            }
            _ => None,
        }));
        let messages = asked.len() as u32;
        for &(from, tag, index) in &asked {
            now = Time(now.0 + 1_000_000);
            let message = Message { tag, index, body: Body::Object(Size(500)) };
            front_end.handle(now, from, message, &cluster, &mut out);
            if front_end.deadline() <= now {
                front_end.due(now, Some(Measured::Queue(Bytes(0), Bytes(1))), &cluster, &mut out);
            }
            out.clear();
        }
        assert_eq!(front_end.requests(), 0);
        2 * messages
    }
}

/// A collecting hub.
pub struct Gathers {
    hub: Hub<Numbered, Size>,
    out: Out,
    /// Outstanding responses.
    coming: std::collections::VecDeque<(Tag, u32)>,
    now: Time,
    next: u32,
}

impl Gathers {
    pub fn new() -> Gathers {
        let params = hub::Params { window: Bytes(32 << 10), ..hub_params(1) };
        Gathers { hub: Hub::new(params), out: Out::new(), coming: Default::default(), now: Time::ZERO, next: 0 }
    }

    /// Runs several requests at once; returns the number of messages.
    pub fn requests(&mut self, requests: u32, objects: u32) -> u32 {
        let tags: Vec<Tag> = (0..requests)
            .map(|front_end| Tag { origin: Node(1_000 + front_end), request: self.next, epoch: 0, nonce: 0 })
            .collect();
        self.next += 1;
        let swarm = Swarm { parent: Node(9), rate: Rate(10_000_000_000), own: objects, all: objects };
        tags.iter().for_each(|&tag| self.hears(tag, 0, Body::Swarm(swarm)));
        for index in 0..objects {
            for &tag in &tags {
                let holder = Node(2 + (index * 7) % 59);
                self.hears(tag, index, Body::Ask { key: Numbered(index.into()), holder });
            }
        }
        let mut messages = requests * (objects + 2);
        while let Some((tag, index)) = self.coming.pop_front() {
            messages += 1;
            self.hears(tag, index, Body::Object(Size(500)));
        }
        tags.iter().for_each(|&tag| self.hears(tag, 0, Body::Over));
        assert_eq!(self.hub.open_requests(), 0);
        messages
    }

    fn hears(&mut self, tag: Tag, index: u32, body: Body<Numbered, Size>) {
        self.now = Time(self.now.0 + 500_000);
        self.hub.handle(self.now, Message { tag, index, body }, &mut self.out);
        if self.hub.deadline() <= self.now {
            self.hub.due(self.now, &mut self.out);
        }
        self.coming.extend(self.out.drain(..).filter_map(|said| match said {
            Output::Send { message: Message { tag, index, body: Body::Get(_) }, .. } => Some((tag, index)),
            _ => None,
        }));
    }
}
