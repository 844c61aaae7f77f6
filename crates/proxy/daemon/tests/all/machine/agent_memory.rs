//! Memory of an agent, and peers that do not finish their messages.

use fanin_roles::wire::{Hello, Item, ItemKey, Key, Swarm, VERSION};
use fanin_roles::{Body, Message, Node, Tag};
use fanin_units::Rate;

use super::site::{Site, agent_settings};
use super::{MS, in_memory};

const FRONT_END: Node = Node(1 << 31 | 5);

fn hello(node: Node) -> Vec<u8> {
    let mut bytes = Vec::new();
    Hello { version: VERSION, node, proves: false }.put(&mut bytes);
    bytes
}

fn message(tag: Tag, index: u32, body: Body<ItemKey, Item>) -> Vec<u8> {
    let mut bytes = Vec::new();
    Message { tag, index, body }.put(&mut bytes);
    bytes
}

fn tag(origin: Node) -> Tag {
    Tag { origin, request: 1, epoch: 0, nonce: 0 }
}

/// A request, in which the front end is a hub, too.
fn swarm(origin: Node) -> Vec<u8> {
    let swarm = Body::Swarm(Swarm { parent: origin, rate: Rate(0), own: 1, all: 1 });
    [Body::Child(origin), swarm].into_iter().flat_map(|body| message(tag(origin), 0, body)).collect()
}

/// A peer that greets as this node; without room for output it reads nothing.
fn peer(site: &mut Site, node: Node, room: usize) -> usize {
    let peer = site.world.borrow_mut().client(room);
    site.turn();
    site.send(peer, &hello(node));
    site.turn();
    peer
}

/// An object of 1 MiB.
fn object() -> Body<ItemKey, Item> {
    Body::Object(Item { flags: 0, cas: None, value: vec![b'v'; 1 << 20].into() })
}

#[test]
fn objects_that_wait_are_counted_and_bounded() {
    let folder = in_memory();
    let mut site = Site::agent(folder.path(), "memory = \"32 MiB\"\n");
    let front_end = peer(&mut site, FRONT_END, 0);
    site.send(front_end, &swarm(FRONT_END));
    for index in 0..200 {
        // Objects that nobody has asked for, to a front end that does not read.
        site.send(front_end, &message(tag(FRONT_END), index, object()));
        site.turn();
        let held = site.agent_counters.memory_bytes.get();
        assert!(held <= 32 << 20, "{held} B after {index} objects");
    }
    let held = site.agent_counters.memory_bytes.get();
    assert!(held > 3 << 20, "{held} B: those that wait are counted");
    assert!(!site.is_closed(front_end));
    site.world.borrow_mut().connections[front_end].end();
    (0..3).for_each(|_| site.turn());
    assert!(site.agent_counters.memory_bytes.get() < 1 << 20);
}

#[test]
fn unfinished_messages_end_before_front_ends_that_read() {
    let folder = in_memory();
    let mut site = Site::agent(folder.path(), "memory = \"32 MiB\"\n");
    let front_end = peer(&mut site, FRONT_END, 1 << 16);
    let holder = agent_settings(folder.path(), "").node();
    let key = ItemKey { with_cas: false, key: Key::new(b"key"[..].into()).unwrap() };
    site.send(front_end, &[swarm(FRONT_END), message(tag(FRONT_END), 0, Body::Ask { key, holder })].concat());
    let memcached = site.connect_to_server(0);
    site.turn();
    site.send(memcached, &[&b"VALUE key 0 900000\r\n"[..], &[b'v'; 900_000], b"\r\nEND\r\n"].concat());
    site.turn();
    let others: Vec<usize> = (0..40).map(|other| peer(&mut site, Node(1 << 31 | (100 + other)), 1 << 16)).collect();
    for other in &others {
        let bytes =
            message(tag(FRONT_END), 0, Body::Object(Item { flags: 0, cas: None, value: vec![0; 2 << 20].into() }));
        site.send(*other, &bytes[..bytes.len() - 1]);
        site.turn();
        assert!(site.agent_counters.memory_bytes.get() <= 33 << 20);
    }
    let closed = others.iter().filter(|other| site.is_closed(**other)).count();
    assert!(closed > 10 && !site.is_closed(front_end), "{closed}");
}

#[test]
fn message_has_to_progress() {
    let folder = in_memory();
    let mut site = Site::agent(folder.path(), "");
    let bytes = message(tag(FRONT_END), 0, object());
    let [slow, steady, idle] = [1, 2, 3].map(|node| peer(&mut site, Node(1 << 31 | node), 1 << 16));
    let mut at = 0;
    for _ in 0..8 {
        // Some bytes each second are not enough; a message of a few hundred KB in half a minute is.
        site.send(slow, &bytes[at..at + 1000]);
        site.send(steady, &bytes[at * 100..(at + 1000) * 100]);
        at += 1000;
        site.now += 3_000 * MS;
        site.turn();
    }
    assert!(site.is_closed(slow) && !site.is_closed(steady) && !site.is_closed(idle));
    site.send(steady, &bytes[at * 100..]);
    site.now += 60_000 * MS;
    (0..3).for_each(|_| site.turn());
    assert!(!site.is_closed(steady), "its message has ended");
}
