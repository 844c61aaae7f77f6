//! Sequence numbers wrap at 32 bits, only on the wire.

use std::collections::VecDeque;

use crate::common::{newreno, plain};
use fanin_laws::sender::Law;
use fanin_tcp::{Block, Call, Endpoint, Metadata, Params, Segment, Stack, Wire};
use fanin_units::Time;

#[derive(Default)]
struct Pipe(VecDeque<(Segment, Vec<Block>)>);

impl Wire for Pipe {
    fn send(&mut self, segment: Segment, beside: Metadata<'_>) {
        // On the wire, a block has 32 bits, too.
        let low = |number: u64| u64::from(number as u32);
        let sack = beside.sack.iter().map(|block| Block { start: low(block.start), end: low(block.end) }).collect();
        self.0.push_back((segment, sack));
    }
}

fn of(sack: &[Block]) -> Metadata<'_> {
    Metadata { sack, ..Metadata::default() }
}

/// Nine gigabytes, which wrap twice, with every 997th segment of the sender lost; 10 ms each way.
fn transfer(sack: bool) {
    const BYTES: u64 = 9_000_000_000;
    let mss = 60_000;
    let params: Stack = Params { mss, initial_cwnd: 10 * mss, receive_window: 64 * mss, sack, ..plain() }.into();
    let law = Law { mss, ..newreno() };
    let (mut client, mut server) = (Endpoint::new(&params, law.clone()), Endpoint::new(&params, law));
    let (mut there, mut back) = (Pipe::default(), Pipe::default());
    let (mut now, mut sent) = (Time::ZERO, 0);
    client.connect(&mut Call { params: &params, now, wire: &mut there });
    client.write(&mut Call { params: &params, now, wire: &mut there }, BYTES, Time::NEVER);
    client.close(&mut Call { params: &params, now, wire: &mut there });
    server.close(&mut Call { params: &params, now, wire: &mut back });
    for _ in 0..20_000 {
        now += Time::from_millis(10);
        for (segment, blocks) in std::mem::take(&mut there.0) {
            sent += 1;
            if sent % 997 != 0 {
                server.handle(&mut Call { params: &params, now, wire: &mut back }, &segment, of(&blocks));
            }
        }
        now += Time::from_millis(10);
        for (segment, blocks) in std::mem::take(&mut back.0) {
            client.handle(&mut Call { params: &params, now, wire: &mut there }, &segment, of(&blocks));
        }
        if client.deadline() <= now {
            client.expire(&mut Call { params: &params, now, wire: &mut there });
        }
        if server.deadline() <= now {
            server.expire(&mut Call { params: &params, now, wire: &mut back });
        }
    }
    assert_eq!(server.delivered(), BYTES, "sack: {sack}");
    assert!(client.finished() && server.finished(), "sack: {sack}");
    assert!(client.stats().fast_retransmits > 50, "{:?}", client.stats());
}

#[test]
fn nine_gigabytes_arrive_with_newreno() {
    transfer(false);
}

#[test]
fn nine_gigabytes_arrive_with_sack() {
    transfer(true);
}
