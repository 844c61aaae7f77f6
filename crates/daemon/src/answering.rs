//! Answers: what a server has sent, and whose it is; and what becomes of requests whose server fails.

use std::io;

use fanin_memcache::{Piece, Quiet, Shape, response};
use fanin_ring::Event;

use crate::client::Kind;
use crate::clock::span;
use crate::front::{Front, READ};
use crate::server::{Ask, Heed, Part, State, Trouble, print_of};
use crate::table::Id;

/// A value with its line is given on whole, up to so many bytes; a larger one as it comes.
const WHOLE: usize = READ / 2;

impl Front {
    pub fn server_event(&mut self, server: usize, event: Event) {
        if let State::Opening { socket, .. } = &self.servers[server].state {
            match self.sockets.is_open(socket) {
                Ok(open) if !event.failed => {
                    if event.writable && open {
                        self.servers[server].opened();
                        self.counters.server_connects.add(1);
                    }
                }
                _ => return self.server_fails(server, Trouble::Down),
            }
        }
        if event.writable {
            self.mark_server(server);
        }
        if event.readable {
            self.server_reads(server, event.ended);
        }
    }

    /// Reads what a server has sent; all of it where it has `ended`, since nothing will tell of that again.
    fn server_reads(&mut self, server: usize, ended: bool) {
        loop {
            let from = &mut self.servers[server];
            let State::Open(socket) = &mut from.state else { return };
            let mut bytes = std::mem::take(&mut self.scratch);
            let there = from.rest.len();
            if bytes.len() < there + READ / 4 {
                bytes.resize(there + READ, 0);
            }
            let room = bytes.len() - there;
            let result = self.sockets.read(socket, &mut bytes[there..]);
            let (trouble, more) = match result {
                Ok(0) => (Some(Trouble::Closed), false),
                Ok(count) => {
                    let rest = &mut self.servers[server].rest;
                    let whole = rest.len() + count;
                    bytes[..rest.len()].copy_from_slice(rest);
                    rest.clear();
                    match self.answers(server, &bytes[..whole]) {
                        Ok(took) => {
                            self.servers[server].rest.extend_from_slice(&bytes[took..whole]);
                            (None, count == room || ended)
                        }
                        Err(trouble) => (Some(trouble), false),
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => (None, false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => (None, true),
                Err(_) => (Some(Trouble::Closed), false),
            };
            self.scratch = bytes;
            if let Some(trouble) = trouble {
                self.server_fails(server, trouble);
            }
            if !more {
                return;
            }
        }
    }

    /// Gives answers to whom they belong: how many bytes were understood.
    fn answers(&mut self, server: usize, bytes: &[u8]) -> Result<usize, Trouble> {
        let mut at = 0;
        while at < bytes.len() {
            let from = &mut self.servers[server];
            // Nobody asked.
            let Some(&ask) = from.asked.front() else { return Err(Trouble::Nonsense) };
            if let Some((left, last)) = from.passing {
                let some = (bytes.len() - at).min(left as usize);
                let left = left - some as u32;
                from.passing = (left > 0).then_some((left, last));
                self.give(&ask, &bytes[at..at + some]);
                at += some;
                if left == 0 {
                    self.ends_value(&bytes[..at])?;
                    if last {
                        self.ends(server, ask);
                    }
                }
                continue;
            }
            match from.cursor.next(&bytes[at..], ask.shape) {
                Piece::More => break,
                Piece::Broken => return Err(Trouble::Nonsense),
                Piece::Line { line, last } => {
                    self.line(&ask, line, last);
                    at += line.len();
                    if last {
                        self.ends(server, ask);
                    }
                }
                Piece::Value { line, key, follow, last } => {
                    let (size, there) = (line.len() + follow as usize, bytes.len() - at);
                    if size <= WHOLE && size > there {
                        break;
                    }
                    self.value(&ask, key, size)?;
                    let some = size.min(there);
                    self.give(&ask, &bytes[at..at + some]);
                    at += some;
                    if some < size {
                        // The end of what is passed on is looked at when it comes.
                        self.servers[server].passing = Some(((size - some) as u32, last));
                    } else {
                        self.ends_value(&bytes[..at])?;
                        if last {
                            self.ends(server, ask);
                        }
                    }
                }
            }
        }
        Ok(at)
    }

    /// Whether a value ends as it should; of one whose end came in two pieces, the last byte is looked at.
    fn ends_value(&self, bytes: &[u8]) -> Result<(), Trouble> {
        let right = bytes.ends_with(b"\r\n") || bytes == b"\n";
        if right { Ok(()) } else { Err(Trouble::Nonsense) }
    }

    /// Whether this is the value that was asked for.
    fn value(&mut self, ask: &Ask, key: &[u8], size: usize) -> Result<(), Trouble> {
        let right = match ask.part {
            Part::Batch { get, batch } => match self.gets.get_mut(get) {
                Some(multiget) => u32::try_from(size).is_ok_and(|size| multiget.value(batch, key, size)),
                None => true,
            },
            _ => !matches!(ask.heed, Heed::Print(print) if print != print_of(key)),
        };
        if right { Ok(()) } else { Err(Trouble::Nonsense) }
    }

    /// A line of an answer.
    fn line(&mut self, ask: &Ask, line: &[u8], last: bool) {
        match ask.part {
            Part::Batch { get, batch } => {
                if response::is_error(line) {
                    self.multiget_lacks(get, batch);
                }
            }
            Part::Relay(Quiet::All) => {}
            Part::Relay(Quiet::Answer(answer))
                if line.starts_with(&answer) && matches!(line.get(2), Some(b' ' | b'\r')) => {}
            Part::Relay(_) if ask.shape == Shape::UntilBarrier && last => {}
            Part::Relay(_) | Part::Joined(_) => self.give(ask, line),
            Part::Every => {
                let answer = self.clients.get_mut(ask.client).and_then(|client| client.answer(ask.number));
                if let Some(answer) = answer.filter(|answer| answer.held.is_empty() && line != b"OK\r\n") {
                    answer.held.extend_from_slice(line);
                }
            }
            // Another server has said that it is no list.
            Part::Listing(_) if !self.is_list(ask) => {}
            Part::Listing(server) => {
                if let Some(rest) = line.strip_prefix(b"STAT ") {
                    let name = std::mem::take(&mut self.servers[server].name);
                    [b"STAT ", name.as_bytes(), b":", rest].iter().for_each(|bytes| self.give(ask, bytes));
                    self.servers[server].name = name;
                } else if !last {
                    self.give(ask, line);
                } else if line != b"END\r\n" {
                    // It is no list, such as that of `stats reset`: one answer stands for all.
                    self.settle_listing(ask, line);
                }
            }
            Part::Instead(text) => self.give(ask, text.as_bytes()),
        }
    }

    fn is_list(&mut self, ask: &Ask) -> bool {
        let answer = self.clients.get_mut(ask.client).and_then(|client| client.answer(ask.number));
        answer.is_some_and(|answer| answer.kind == Kind::Listing)
    }

    /// A list's answer turns out to be a single line.
    fn settle_listing(&mut self, ask: &Ask, line: &[u8]) {
        let answer = self.clients.get_mut(ask.client).and_then(|client| client.answer(ask.number));
        if let Some(answer) = answer.filter(|answer| answer.held.is_empty()) {
            answer.held.extend_from_slice(line);
            answer.kind = Kind::Every { silent: false };
        }
    }

    /// Bytes of an answer, for whom they are.
    fn give(&mut self, ask: &Ask, bytes: &[u8]) {
        match ask.part {
            Part::Batch { get, batch } => {
                if let Some(multiget) = self.gets.get_mut(get) {
                    multiget.hold(batch, bytes, &mut self.spare);
                    if let Some(client) = self.clients.get_mut(ask.client) {
                        client.held += bytes.len();
                    }
                }
            }
            Part::Joined(get) => {
                for (client, number) in self.joining.begins(get) {
                    if let Some(client) = self.clients.get_mut(*client) {
                        client.put(*number, bytes);
                    }
                }
            }
            _ => {
                if let Some(client) = self.clients.get_mut(ask.client) {
                    client.put(ask.number, bytes);
                }
            }
        }
    }

    /// An answer has ended.
    fn ends(&mut self, server: usize, ask: Ask) {
        self.servers[server].asked.pop_front();
        self.servers[server].is_well();
        self.has_written(&ask);
        match ask.part {
            Part::Joined(get) => {
                for (client, number) in self.joining.over(get) {
                    self.clients.get_mut(client).into_iter().for_each(|client| client.part_ends(number));
                    self.mark_client(client);
                }
            }
            Part::Batch { get, batch } => {
                if let Some(multiget) = self.gets.get_mut(get) {
                    let bytes = multiget.bytes_of(batch);
                    multiget.schedule.answered(span(multiget.began, self.now), batch, bytes);
                    multiget.end(batch, None);
                    self.ask_batches(get);
                }
            }
            _ => {
                if let Some(client) = self.clients.get_mut(ask.client) {
                    client.part_ends(ask.number);
                }
            }
        }
        self.mark_client(ask.client);
    }

    /// What was asked may have been written, and someone is about to be told: no later get joins one that was sent before.
    fn has_written(&self, ask: &Ask) {
        match (ask.heed, ask.part) {
            (Heed::Write(group), _) => self.shared.writes.wrote(group),
            (_, Part::Every) => self.shared.writes.flushed(),
            _ => {}
        }
    }

    /// A server answers a batch with an error: the values that it has sent stand, and the multiget ends with an error.
    fn multiget_lacks(&mut self, get: Id, batch: u32) {
        if let Some(multiget) = self.gets.get_mut(get) {
            multiget.end(batch, Some("SERVER_ERROR a server answered with an error\r\n"));
        }
    }

    /// A server's connection is of no use any more: whatever it was asked has failed.
    pub fn server_fails(&mut self, server: usize, trouble: Trouble) {
        let half = self.servers[server].passing.is_some();
        let (socket, asked) = self.servers[server].close(self.now);
        socket.into_iter().for_each(|socket| self.sockets.close(socket));
        for (index, ask) in asked.into_iter().enumerate() {
            self.fails(&ask, trouble, half && index == 0);
        }
    }

    /// A request has failed; `half`: in the middle of a value that is passed on as it comes.
    pub fn fails(&mut self, ask: &Ask, trouble: Trouble, half: bool) {
        self.counters.failed(trouble);
        self.has_written(ask);
        let text = trouble.text();
        match ask.part {
            Part::Joined(get) => {
                for (client, number) in self.joining.over(get) {
                    if let Some(client) = self.clients.get_mut(client) {
                        client.broken |= half;
                        client.put(number, text.as_bytes());
                        client.part_ends(number);
                    }
                    self.mark_client(client);
                }
            }
            Part::Batch { get, batch } => {
                if let Some(multiget) = self.gets.get_mut(get) {
                    multiget.schedule.lost(batch);
                    multiget.end(batch, Some(text));
                    self.ask_batches(get);
                }
            }
            _ => {
                let Some(client) = self.clients.get_mut(ask.client) else { return };
                // What is written cannot be taken back: the client is to notice.
                client.broken |= half;
                match ask.part {
                    Part::Relay(Quiet::All) | Part::Instead("") => {}
                    Part::Every => {
                        if let Some(answer) = client.answer(ask.number) {
                            answer.held.clear();
                            answer.held.extend_from_slice(text.as_bytes());
                        }
                    }
                    Part::Listing(server) => {
                        let line = format!("STAT {}:error {}", self.servers[server].name, text);
                        client.put(ask.number, line.as_bytes());
                    }
                    _ => client.put(ask.number, text.as_bytes()),
                }
                client.part_ends(ask.number);
            }
        }
        self.mark_client(ask.client);
    }

    /// Has the windows told of batches that are late.
    pub fn look_for_late(&mut self) {
        for pool in 0..self.pools.len() {
            while let Some(&(at, get)) = self.pools[pool].late.front() {
                if at > self.now {
                    break;
                }
                self.pools[pool].late.pop_front();
                if let Some(multiget) = self.gets.get_mut(get) {
                    multiget.schedule.look(span(multiget.began, self.now));
                    self.counters.late_batches.add(1);
                    self.wait_for_late(get);
                }
            }
        }
    }

    /// Puts a multiget in the line of those to be looked at, where its window heeds that.
    pub fn wait_for_late(&mut self, get: Id) {
        let Some(multiget) = self.gets.get(get) else { return };
        let (Some(at), Some(client)) = (multiget.schedule.look_at(), self.clients.get(multiget.client)) else { return };
        let at = multiget.began + crate::clock::nanos(at);
        self.pools[client.pool].late.push_back((at, get));
    }
}
