//! What is relayed: bytes in, bytes out, no sockets.

use std::collections::VecDeque;

/// A connection's bytes: read and not understood, and to be written.
#[derive(Default)]
pub struct End {
    rest: Vec<u8>,
    pub out: Vec<u8>,
    pub dirty: bool,
}

/// Servers first, then clients.
pub struct Relay {
    pub ends: Vec<End>,
    /// For each server, who waits for its next answers.
    asked: Vec<VecDeque<u32>>,
    /// Who has something to be written.
    pub dirty: Vec<usize>,
}

impl Relay {
    pub fn new(servers: usize) -> Relay {
        Relay {
            ends: (0..servers).map(|_| End::default()).collect(),
            asked: vec![VecDeque::new(); servers],
            dirty: Vec::new(),
        }
    }

    /// A client comes: its number.
    pub fn join(&mut self) -> usize {
        self.ends.push(End::default());
        self.ends.len() - 1
    }

    /// A connection brought bytes.
    pub fn came(&mut self, end: usize, bytes: &[u8]) {
        let mut rest = std::mem::take(&mut self.ends[end].rest);
        if rest.is_empty() {
            let took = self.take(end, bytes);
            rest.extend_from_slice(&bytes[took..]);
        } else {
            rest.extend_from_slice(bytes);
            let took = self.take(end, &rest);
            rest.drain(..took);
        }
        self.ends[end].rest = rest;
    }

    fn take(&mut self, end: usize, bytes: &[u8]) -> usize {
        let mut at = 0;
        if end >= self.asked.len() {
            while let Some(line) = bytes[at..].iter().position(|byte| *byte == b'\n') {
                let line = &bytes[at..=at + line];
                let server = server_of(line, self.asked.len());
                self.asked[server].push_back(end as u32);
                self.give(server, line);
                at += line.len();
            }
        } else {
            while let Some(size) = answer(&bytes[at..]) {
                let client = self.asked[end].pop_front().expect("somebody asked");
                self.give(client as usize, &bytes[at..at + size]);
                at += size;
            }
        }
        at
    }

    fn give(&mut self, to: usize, bytes: &[u8]) {
        let end = &mut self.ends[to];
        end.out.extend_from_slice(bytes);
        if !std::mem::replace(&mut end.dirty, true) {
            self.dirty.push(to);
        }
    }
}

/// FNV-1a of a line's key.
pub fn server_of(line: &[u8], servers: usize) -> usize {
    let hash = line
        .iter()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3));
    (hash >> 32) as usize % servers
}

/// How long the first answer is, if it is all there: a value or none, and the end.
pub fn answer(bytes: &[u8]) -> Option<usize> {
    let line = bytes.iter().position(|byte| *byte == b'\n')? + 1;
    if bytes[0] != b'V' {
        return Some(line);
    }
    let size = bytes[..line].trim_ascii_end().rsplit(|byte| *byte == b' ').next()?;
    let size = size.iter().fold(0, |size, digit| size * 10 + usize::from(digit - b'0'));
    let whole = line + size + b"\r\nEND\r\n".len();
    (bytes.len() >= whole).then_some(whole)
}
