//! Requests of a client: parsed one by one, while the client need not wait.

use fanin_memcache::{Every, LONGEST_KEY, Limits as LineLimits, Next, Request, Shape, Store, text};

use super::client::Client;
use super::responses::Kind;
use crate::context::Context;
use crate::limits::Limits;
use crate::migrations::changes;
use crate::upstreams::ask::{Ask, Destination, Recipient};
use crate::upstreams::pool::Pool;
use fanin_proxy_core::memory::table::Id;
use fanin_proxy_migration::Location;
use fanin_proxy_net::Net;
use fanin_proxy_net::budget::REQUEST;
use fanin_proxy_observe::metrics::Class;

/// Header size of the binary protocol.
pub const BINARY_HEADER: usize = 24;

/// Next item in a client's input.
#[derive(Debug)]
pub enum Parsed<'a> {
    /// Nothing now: the client has to wait, or to send more.
    Waits,
    /// Nothing any more: the rest is not wanted.
    Over,
    /// A request, with the length of its line, and whether it continues a list of keys.
    Request { request: Request<'a>, line: usize, goes_on: bool },
    /// A request of the binary protocol.
    Binary,
    /// Input that cannot be continued, and the error for it.
    Broken(&'static str),
}

/// Value of a storage command.
#[derive(Debug)]
pub enum Sent<'a> {
    /// Not complete.
    Waits,
    /// Too large: it is discarded.
    TooLarge,
    /// Without its terminator.
    Invalid,
    /// The value with its terminator.
    Value(&'a [u8]),
}

/// Next step of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// It waits for responses, for input, for other clients, or not at all.
    Waits,
    /// It waits for memory.
    WaitsForMemory,
    /// It parses input that is there.
    Parses,
    /// It reads.
    Reads,
}

impl<S> Client<S> {
    /// Its next step.
    pub fn next_step<N: Net<Socket = S>>(&mut self, limits: &Limits, context: &mut Context<N>) -> NextStep {
        if self.input.is_broken() || self.is_blocked() {
            return NextStep::Waits;
        }
        if limits.exceeds_share(self.tenant(), || self.holds()) || limits.is_spent(&context.net) {
            return NextStep::WaitsForMemory;
        }
        if !self.input.has_more() {
            return self.reads_next();
        }
        if self.may_work(&mut context.net) { NextStep::Parses } else { NextStep::Waits }
    }

    /// Whether it reads, when all complete requests are handled.
    pub fn reads_next(&mut self) -> NextStep {
        if self.input.has_no_input() { NextStep::Waits } else { NextStep::Reads }
    }

    /// Parses the next request in these bytes, of which those before `at` are handled.
    pub fn next_request<'a, N: Net<Socket = S>>(
        &mut self,
        bytes: &'a [u8],
        at: &mut usize,
        pool: &Pool,
        limits: &Limits,
        context: &mut Context<N>,
    ) -> Parsed<'a> {
        if self.input.is_closing() && !self.input.is_in_a_list() {
            return Parsed::Over;
        }
        *at += self.input.discards(bytes.len() - *at);
        let rest = &bytes[*at..];
        if !self.input.suffices(rest.len()) || self.is_blocked() {
            return Parsed::Waits;
        }
        if limits.exceeds_share(self.tenant(), || self.holds()) || limits.is_spent(&context.net) {
            return Parsed::Waits;
        }
        if !self.may_work(&mut context.net) {
            return Parsed::Waits;
        }
        self.works(&mut context.net, REQUEST);
        self.parse(rest, pool, &pool.limits)
    }

    fn parse<'a>(&mut self, rest: &'a [u8], pool: &Pool, limits: &LineLimits) -> Parsed<'a> {
        let goes_on = self.input.is_in_a_list();
        match self.input.parse(rest, limits) {
            Next::Request(request, _) if pool.makes_copies() && self.waits_for_earlier(pool, &request) => Parsed::Waits,
            Next::Request(request, line) => Parsed::Request { request, line, goes_on },
            Next::Binary if rest.len() >= BINARY_HEADER => Parsed::Binary,
            Next::More | Next::Binary => Parsed::Waits,
            Next::Endless => Parsed::Broken(""),
            Next::TooManyKeys => Parsed::Broken(text::LINE_TOO_LONG),
        }
    }

    /// Whether a request must wait for earlier responses, so that the client's requests take effect in their order. A change of a moving key
    /// and a flush wait for all, and later requests wait for them. A change of a key with replicas waits for gets, which may have to ask a
    /// second server.
    fn waits_for_earlier(&mut self, pool: &Pool, request: &Request<'_>) -> bool {
        let keyed = match request {
            Request::Every(Every::Flush(_), _) => return self.waits_alone(true),
            Request::Store(store) => &store.keyed,
            Request::Keyed(keyed) => keyed,
            _ => return false,
        };
        if pool.has_replicas() {
            return self.waits_for_gets(changes(keyed));
        }
        let mut room = [0; LONGEST_KEY];
        self.waits_alone(changes(keyed) && matches!(pool.place(keyed.stored(&mut room)), Location::Moving(_)))
    }

    /// Takes the value of a storage command from the bytes behind its line, which has this length.
    pub fn take_value<'a>(&mut self, store: &Store<'_>, line: usize, behind: &'a [u8]) -> Sent<'a> {
        let follow = store.follow as usize;
        if store.too_large {
            self.input.discard(store.follow.into());
            return Sent::TooLarge;
        }
        let value = behind.get(..follow);
        self.input.needs(if value.is_some() { 0 } else { line + follow });
        match value {
            None => Sent::Waits,
            Some(value) if value.ends_with(b"\r\n") => {
                self.has_seen(1, value.len());
                Sent::Value(value)
            }
            Some(_) => Sent::Invalid,
        }
    }

    /// Adds a pending response of the client with this id from one server; if it is `held`, it ends when other servers have deleted their
    /// copies. Returns the request for it.
    pub fn expect_one<N: Net<Socket = S>>(
        &mut self,
        id: Id,
        held: bool,
        to: Destination,
        shape: Shape,
        class: Class,
        context: &Context<N>,
    ) -> Ask {
        let (kind, left) = if held { (Kind::Held, 2) } else { (Kind::Relay, 1) };
        context.counters.requests_active.add(1);
        let number = self.responses.expect(kind, left, 1, context.now, class);
        Ask::new(Recipient { client: id, number }, to, shape, context.now)
    }
}
