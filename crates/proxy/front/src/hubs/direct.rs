//! A key that is requested from its memcached because no hub has answered for it.

use bytes::Bytes;
use fanin_memcache::{Cursor, Piece, Shape};
use fanin_roles::{Body, Message, Node, Tag};

use fanin_proxy_core::memory::Buffer;
use fanin_proxy_peers::{ItemBody, ItemMessage, item};

/// The request.
#[derive(Debug)]
pub struct Direct {
    /// The pool's slot.
    pub slot: usize,
    tag: Tag,
    index: u32,
    /// The server.
    pub from: Node,
    /// Its response so far.
    response: Buffer,
}

impl Direct {
    /// A request for an object.
    pub fn new(slot: usize, tag: Tag, index: u32, from: Node) -> Direct {
        Direct { slot, tag, index, from, response: Buffer::default() }
    }

    /// The number of the request of `roles`.
    pub fn request(&self) -> u32 {
        self.tag.request
    }

    /// Takes bytes of the response.
    pub fn receives(&mut self, bytes: &[u8]) {
        self.response.extend(bytes);
    }

    /// The response as a message of the server's data server, or that there is none.
    pub fn message(self, answered: bool) -> ItemMessage {
        let Direct { tag, index, mut response, .. } = self;
        let response = response.with(std::mem::take);
        Message { tag, index, body: if answered { parse(&response.into()) } else { Body::Lost } }
    }
}

/// The object or miss in a response; lost if it is an error. The value is a part of the response.
fn parse(response: &Bytes) -> ItemBody {
    match Cursor::default().next(response, Shape::Values) {
        Piece::Value { line, follow, .. } => {
            let value =
                response.get(line.len()..line.len() + follow as usize).and_then(|value| value.strip_suffix(b"\r\n"));
            let found = value.and_then(|value| item(line, response.slice_ref(value)));
            found.map_or(Body::Lost, Body::Object)
        }
        Piece::Line { line: b"END\r\n", .. } => Body::Miss,
        _ => Body::Lost,
    }
}

#[cfg(test)]
mod tests {
    use fanin_roles::wire::Item;

    use super::*;

    #[test]
    fn reads_memcached_responses() {
        let value = Item { flags: 7, cas: Some(12), value: Bytes::from_static(b"a\r\nb") };
        let parse = |response: &'static [u8]| parse(&Bytes::from_static(response));
        assert_eq!(parse(b"VALUE k 7 4 12\r\na\r\nb\r\nEND\r\n"), Body::Object(value));
        assert_eq!(parse(b"END\r\n"), Body::Miss);
        for wrong in [&b"SERVER_ERROR x\r\n"[..], b"", b"VALUE k 7 9\r\nab\r\nEND\r\n", b"VALUE k x 1\r\na\r\nEND\r\n"]
        {
            assert_eq!(parse(wrong), Body::Lost, "{wrong:?}");
        }
    }
}
