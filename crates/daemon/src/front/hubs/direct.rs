//! A key that is requested from its memcached because no hub has answered for it.

use bytes::Bytes;
use fanin_memcache::{Cursor, Piece, Shape};
use fanin_roles::wire::Item;
use fanin_roles::{Body, Message, Node, Tag};

use crate::memory::Buffer;
use crate::peers::{ItemMessage, item};

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

/// The response.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Response {
    Item(Item),
    Missed,
    /// An error.
    Failed,
}

impl Direct {
    /// A request for an object.
    pub fn new(slot: usize, (tag, index): (Tag, u32), from: Node) -> Direct {
        Direct { slot, tag, index, from, response: Buffer::default() }
    }

    /// Takes bytes of the response.
    pub fn receives(&mut self, bytes: &[u8]) {
        self.response.extend(bytes);
    }

    /// The response as a message of the server's data server, or that there is none.
    pub fn message(self, answered: bool) -> ItemMessage {
        let Direct { tag, index, response, .. } = self;
        let body = match parse(&response) {
            _ if !answered => Body::Lost,
            Response::Item(item) => Body::Object(item),
            Response::Missed => Body::Miss,
            Response::Failed => Body::Lost,
        };
        Message { tag, index, body }
    }
}

fn parse(response: &[u8]) -> Response {
    match Cursor::default().next(response, Shape::Values) {
        Piece::Value { line, follow, .. } => {
            let value =
                response.get(line.len()..line.len() + follow as usize).and_then(|value| value.strip_suffix(b"\r\n"));
            let found = value.and_then(|value| item(line, Bytes::copy_from_slice(value)));
            found.map_or(Response::Failed, Response::Item)
        }
        Piece::Line { line: b"END\r\n", .. } => Response::Missed,
        _ => Response::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_memcached_responses() {
        let value = Item { flags: 7, cas: Some(12), value: Bytes::from_static(b"a\r\nb") };
        assert_eq!(parse(b"VALUE k 7 4 12\r\na\r\nb\r\nEND\r\n"), Response::Item(value));
        assert_eq!(parse(b"END\r\n"), Response::Missed);
        for wrong in [&b"SERVER_ERROR x\r\n"[..], b"", b"VALUE k 7 9\r\nab\r\nEND\r\n", b"VALUE k x 1\r\na\r\nEND\r\n"]
        {
            assert_eq!(parse(wrong), Response::Failed, "{wrong:?}");
        }
    }
}
