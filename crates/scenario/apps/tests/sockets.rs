//! Applications over real TCP: a second driver beside the simulator's. Every host is a set of sockets on the loopback device.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a driver over sockets has sockets and a clock"
)]

use std::collections::{BTreeMap, VecDeque};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use fanin_driver::{
    Applications, ConnectionId, Driver, EndpointId, Meaning, Message, MessageQueue, Owner, Record, View,
};
use fanin_fabric::HostId;
use fanin_spec::{RunSpec, Scenario};
use fanin_tables::FlowKind;
use fanin_testing::LIMIT;
use fanin_units::{Rate, Time};

/// One end of a connection.
struct End {
    stream: TcpStream,
    queue: MessageQueue,
    sent: u64,
    delivered: u64,
    /// Whether its sending side closes after what is written.
    closes: bool,
    shut: bool,
    /// Whether the peer has closed.
    peer_closed: bool,
}

impl End {
    fn new(stream: TcpStream) -> End {
        stream.set_nonblocking(true).unwrap();
        stream.set_nodelay(true).unwrap();
        let (closes, shut, peer_closed) = (false, false, false);
        End { stream, queue: MessageQueue::default(), sent: 0, delivered: 0, closes, shut, peer_closed }
    }

    /// Writes as much as the socket takes.
    fn flush(&mut self) {
        const FILLER: [u8; 1 << 14] = [0; 1 << 14];
        while self.sent < self.queue.written() {
            let bytes = (self.queue.written() - self.sent).min(FILLER.len() as u64) as usize;
            match self.stream.write(&FILLER[..bytes]) {
                Ok(written) => self.sent += written as u64,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) => panic!("{error}"),
            }
        }
        if self.closes && !self.shut {
            self.shut = true;
            self.stream.shutdown(Shutdown::Write).unwrap();
        }
    }

    /// Reads what there is; whether the peer has closed just now.
    fn fill(&mut self) -> bool {
        let mut buffer = [0; 1 << 14];
        while !self.peer_closed {
            match self.stream.read(&mut buffer) {
                Ok(0) => {
                    self.peer_closed = true;
                    return true;
                }
                Ok(read) => self.delivered += read as u64,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
                Err(error) => panic!("{error}"),
            }
        }
        false
    }
}

/// The sockets of all hosts, and the timers of all applications.
struct Sockets {
    hosts: u32,
    listener: TcpListener,
    started: Instant,
    ends: BTreeMap<EndpointId, End>,
    /// Owner of connections and timers to come.
    owner: Owner,
    /// Number of connections by owner.
    opened: BTreeMap<u8, u32>,
    established: VecDeque<EndpointId>,
    timers: BTreeMap<(Time, u64), (Owner, Meaning)>,
    timers_set: u64,
    begun: Option<Time>,
    excluded_until: Time,
    done: bool,
}

impl Sockets {
    fn new(hosts: u32) -> Sockets {
        Sockets {
            hosts,
            listener: TcpListener::bind("127.0.0.1:0").unwrap(),
            started: Instant::now(),
            ends: BTreeMap::new(),
            owner: Owner::WORKLOAD,
            opened: BTreeMap::new(),
            established: VecDeque::new(),
            timers: BTreeMap::new(),
            timers_set: 0,
            begun: None,
            excluded_until: Time::ZERO,
            done: false,
        }
    }

    fn open(&mut self, owner: Owner) -> ConnectionId {
        let place = self.opened.entry(owner.number()).or_default();
        let connection = ConnectionId::new(owner, *place);
        *place += 1;
        let opener = TcpStream::connect(self.listener.local_addr().unwrap()).unwrap();
        let (answerer, _) = self.listener.accept().unwrap();
        self.ends.insert(connection.opener(), End::new(opener));
        self.ends.insert(connection.answerer(), End::new(answerer));
        connection
    }

    fn end(&mut self, at: EndpointId) -> &mut End {
        self.ends.get_mut(&at).expect("an end of an open connection")
    }

    /// Reports one round of events; whether there were any.
    fn serve(&mut self, applications: &mut Applications) -> bool {
        let mut busy = false;
        while let Some(at) = self.established.pop_front() {
            applications.established(self, at);
            busy = true;
        }
        let ends: Vec<EndpointId> = self.ends.keys().copied().collect();
        for at in ends {
            let end = self.end(at);
            end.flush();
            let closed = end.fill();
            while let Some(message) = {
                let end = self.end(at);
                end.queue.take(end.delivered)
            } {
                applications.received(self, at, message);
                busy = true;
            }
            if closed {
                applications.closed(self, at);
            }
        }
        while let Some(entry) = self.timers.first_entry().filter(|entry| entry.key().0 <= now(self.started)) {
            let (owner, timer) = entry.remove();
            applications.due(self, owner, timer);
            busy = true;
        }
        busy
    }
}

fn now(started: Instant) -> Time {
    Time(started.elapsed().as_nanos() as u64 * 1000)
}

impl View for Sockets {
    fn now(&self) -> Time {
        now(self.started)
    }

    fn measured_from(&self) -> Time {
        self.begun.unwrap_or(Time::ZERO).max(self.excluded_until)
    }

    fn delivered(&self, at: EndpointId) -> u64 {
        self.ends.get(&at).map_or(0, |end| end.delivered)
    }

    fn rate(&self, _host: HostId) -> Rate {
        Rate(10_000_000_000)
    }

    fn at_work(&self, _host: HostId, span: Time) -> Time {
        span
    }

    fn share_a_rack(&self, _one: HostId, _other: HostId) -> bool {
        true
    }

    fn hosts(&self) -> u32 {
        self.hosts
    }

    fn rack(&self, _host: HostId) -> u32 {
        0
    }

    fn pod(&self, _host: HostId) -> u32 {
        0
    }

    fn rate_into_rack(&self, host: HostId) -> Rate {
        self.rate(host)
    }

    fn carries(&self, at: EndpointId) -> bool {
        self.ends.contains_key(&at)
    }
}

impl Driver for Sockets {
    fn act_for(&mut self, owner: Owner) {
        self.owner = owner;
    }

    fn connect(&mut self, _from: HostId, _to: HostId, _kind: FlowKind) -> ConnectionId {
        let connection = self.open(self.owner);
        self.established.extend([connection.opener(), connection.answerer()]);
        connection
    }

    fn stand(&mut self, _from: HostId, _to: HostId, _kind: FlowKind) -> ConnectionId {
        self.open(self.owner)
    }

    fn send(&mut self, from: EndpointId, message: Message) -> u64 {
        let end = self.end(from);
        let before = end.queue.written();
        end.queue.write(message.bytes);
        end.flush();
        self.end(from.peer()).queue.expect(before + message.bytes, message.meaning);
        before
    }

    fn close(&mut self, at: EndpointId) {
        let end = self.end(at);
        end.closes = true;
        end.flush();
    }

    fn after(&mut self, span: Time, timer: Meaning) {
        let at = View::now(self).saturating_add(span);
        self.timers_set += 1;
        self.timers.insert((at, self.timers_set), (self.owner, timer));
    }

    fn begin(&mut self) {
        self.begun = Some(View::now(self));
    }

    fn has_begun(&self) -> bool {
        self.begun.is_some()
    }

    fn measure_from_here(&mut self, _payload: u64) {
        self.excluded_until = View::now(self);
    }

    fn excluded_until(&self) -> Time {
        self.excluded_until
    }

    fn finish(&mut self) {
        self.done = true;
    }

    fn send_endlessly(&mut self, from: EndpointId) {
        self.end(from).queue.write(1 << 60);
    }

    fn stop(&mut self, at: EndpointId) {
        let end = self.end(at);
        end.queue.set_written(end.sent);
        end.closes = true;
        end.flush();
    }

    fn reads(&mut self, _at: EndpointId, _reads: bool) {}
    fn await_responses(&mut self, _clients: &[HostId], _work: Time) {}
    fn rest(&mut self, _client: HostId, _span: Time) {}
    fn clock_starts(&mut self) {}
    fn round_ended(&mut self, _round: u32) {}
}

/// The only spec of a scenario.
fn spec(scenario: &str) -> RunSpec {
    let scenario = Scenario::parse("test.toml", scenario).unwrap_or_else(|problem| panic!("{problem}"));
    let variant = scenario.variants().unwrap_or_else(|problem| panic!("{problem}")).remove(0);
    variant.run(variant.points[0].settings.servers(), 1).expect("swept over")
}

/// The measurements of a spec's applications over sockets.
fn run(spec: &RunSpec) -> Record {
    let (sockets, applications) = carried_out(spec);
    applications.record(&sockets)
}

/// The sockets and applications of a spec, at its end.
fn carried_out(spec: &RunSpec) -> (Sockets, Applications) {
    let mut sockets = Sockets::new(spec.settings.hosts() + 1);
    let mut applications = fanin_apps::applications(spec);
    applications.start(&mut sockets);
    while !sockets.done {
        assert!(sockets.started.elapsed() < LIMIT, "the run does not end");
        if !sockets.serve(&mut applications) {
            thread::sleep(Duration::from_micros(20));
        }
    }
    (sockets, applications)
}

#[test]
fn a_barrier_runs_over_loopback_tcp() {
    let record = run(&spec(
        "schemes = [\"newreno\"]\n[workload]\nkind = \"barrier\"\nfan_in = 4\nfragment = \"32 KiB\"\nduration = \"100 ms\"\n",
    ));
    let whole = record.queries.iter().filter(|query| query.qct_ps.is_some()).count() as u64;
    assert!(whole >= 3, "{whole} rounds in 100 ms");
    let (least, most) = (whole * 4 * (32 << 10), (whole + 1) * 4 * (32 << 10));
    assert!((least..=most).contains(&record.payload_bytes), "{} of {least} to {most}", record.payload_bytes);
    // The kernel's timeouts are unknown here, and so is the time of an empty network.
    assert!(record.queries.iter().all(|query| query.timeouts.is_none()));
    assert!(record.flows.iter().all(|flow| flow.ideal_ps.is_none()));
}

#[test]
fn a_key_value_request_runs_over_loopback_tcp() {
    let record = run(&spec(
        "schemes = [\"one-all\"]\n[workload]\nkind = \"key_value\"\nfan_in = 8\nqueries = 5\n\
         [key_value]\nobjects = 100\nper_request = 20\n",
    ));
    assert_eq!(record.requests.len(), 5);
    assert!(record.queries.iter().all(|query| query.qct_ps > Some(0) && query.timeouts.is_none()));
}

#[test]
fn long_flows_start_with_the_workload() {
    let scenario = "schemes = [\"newreno\"]\n[workload]\nkind = \"barrier\"\nfan_in = 2\nfragment = \"32 KiB\"\nduration = \"50 ms\"\n";
    let (alone, beside) = (spec(scenario), spec(&format!("{scenario}background = 2\n")));
    assert_eq!(sent_by_long_flows(&alone), 0);
    assert!(sent_by_long_flows(&beside) > 1_000_000, "two flows over loopback for 50 ms");
}

/// Bytes that the background's long-lived flows have delivered.
fn sent_by_long_flows(spec: &RunSpec) -> u64 {
    let sockets = carried_out(spec).0;
    let of_long_flows = sockets.ends.iter().filter(|(at, _)| at.connection().owner() == Owner::LONG_FLOWS);
    of_long_flows.map(|(_, end)| end.delivered).sum()
}
