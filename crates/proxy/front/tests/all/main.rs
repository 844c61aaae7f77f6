//! Multiget schedules equal those of the simulated front end for the same recorded events.

use fanin_fanout::{Kind, Settings, Window};
use fanin_proxy_front::Schedule;
use fanin_roles::front_end::{Directory, FrontEnd, Params, RequestMethod};
use fanin_roles::wire::{Body, Message, Numbered, Size};
use fanin_roles::{Node, Output, Outputs};
use fanin_units::{Rate, Time};
use proptest::prelude::*;

/// Object n is only on server n + 1, so a batch is an object.
struct OneEach(Vec<[Node; 1]>);

impl Directory<Numbered> for OneEach {
    fn replicas(&self, &Numbered(object): &Numbered) -> &[Node] {
        &self.0[object as usize]
    }
    fn rack(&self, _: Node) -> u32 {
        0
    }
    fn aggregation(&self, _: u32) -> u32 {
        0
    }
    fn spare_io(&self, _: Node) -> u32 {
        0
    }
    fn size(&self, _: &Numbered) -> Option<u32> {
        None
    }
}

/// A recorded multiget: the response time of each server.
type Recorded = Vec<Time>;

fn window(kind: Kind) -> Window {
    kind.window(&Settings::default(), Rate(10_000_000_000)).expect("it asks servers")
}

/// The next response.
fn next(waiting: &[(Time, u32)]) -> Option<(Time, u32)> {
    waiting.iter().min().copied()
}

/// Requests and their times in the simulated front end.
fn simulated(kind: Kind, recorded: &Recorded) -> Vec<(Time, u32)> {
    let directory = OneEach((0..recorded.len() as u32).map(|server| [Node(server + 1)]).collect());
    let method = RequestMethod::Servers(window(kind));
    let capacity = Rate(10_000_000_000);
    let me = Node(0);
    let mut front = FrontEnd::new(Params {
        me,
        epoch: 0,
        capacity,
        method,
        anew: true,
        most_bytes: None,
        together: false,
        cover: None,
        timeout: None,
        agents: false,
        tries: 1,
    });
    let (mut asks, mut waiting, mut out) = (Vec::new(), Vec::new(), Outputs::<Numbered, Size>::new());
    let keys = (0..recorded.len() as u64).map(Numbered);
    front.ask(Time::ZERO, keys, Time::NEVER, &directory, &mut |_| 0, &mut out);
    let mut now = Time::ZERO;
    loop {
        for output in out.drain(..) {
            let Output::Send { to: Node(node), message, .. } = output else { continue };
            asks.push((now, node - 1));
            waiting.push((now + recorded[node as usize - 1], node - 1, message));
        }
        let answers: Vec<(Time, u32)> = waiting.iter().map(|(at, server, _)| (*at, *server)).collect();
        let Some((at, server)) = next(&answers) else { return asks };
        if front.deadline() <= at && front.deadline() < Time::NEVER {
            now = front.deadline();
            front.due(now, None, &directory, &mut out);
            continue;
        }
        now = at;
        let index = waiting.iter().position(|(_, other, _)| *other == server).unwrap();
        let (_, _, Message { tag, index, .. }) = waiting.swap_remove(index);
        let answer = Message { tag, index, body: Body::Object(Size(100)) };
        front.handle(now, Node(server + 1), answer, &directory, &mut out);
    }
}

/// The same in the daemon.
fn real(kind: Kind, recorded: &Recorded) -> Vec<(Time, u32)> {
    let mut schedule = Schedule::new(window(kind), recorded.len() as u32);
    let (mut asks, mut waiting, mut now) = (Vec::new(), Vec::new(), Time::ZERO);
    loop {
        while let Some(batch) = schedule.ask(now) {
            asks.push((now, batch));
            waiting.push((now + recorded[batch as usize], batch));
        }
        let Some((at, batch)) = next(&waiting) else { return asks };
        if let Some(look) = schedule.late_at().filter(|look| *look <= at) {
            now = look;
            schedule.report_late(now);
            continue;
        }
        now = at;
        waiting.retain(|(_, other)| *other != batch);
        schedule.answered(now, batch, 100);
    }
}

#[test]
fn recorded_multiget_follows_simulators_order() {
    // 60 servers, of which every seventh is late.
    let recorded: Recorded =
        (0..60).map(|server| Time::from_micros(if server % 7 == 3 { 20_000 } else { 150 + server })).collect();
    for kind in [Kind::OneAll, Kind::SlidingWindow] {
        assert_eq!(real(kind, &recorded), simulated(kind, &recorded), "{kind:?}");
    }
    let times: Vec<Time> = real(Kind::SlidingWindow, &recorded).iter().map(|(at, _)| *at).collect();
    assert!(times.last() > times.first(), "the window held something back");
}

proptest! {
    #![proptest_config(fanin_testing::cases(256))]

    #[test]
    fn any_multiget_follows_simulators_order(took in prop::collection::vec(1u64..30_000, 1..80)) {
        let recorded: Recorded = took.into_iter().map(Time::from_micros).collect();
        for kind in [Kind::OneAll, Kind::SlidingWindow] {
            prop_assert_eq!(real(kind, &recorded), simulated(kind, &recorded));
        }
    }
}
