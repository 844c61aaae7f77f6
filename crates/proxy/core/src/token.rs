//! Tokens of events: the kind of a connection and its slot in the table of that kind.
//!
//! No number is reserved by position, so that pools, servers and clients may come and go independently.

/// Owner of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token {
    /// A listener.
    Listener(usize),
    /// The thread's waker.
    Waker,
    /// Connection to a server.
    Server(usize),
    /// Connection of a client.
    Client(usize),
    /// Connection to an agent.
    Agent(usize),
}

/// Bits of the kind, below the slot.
const BITS: u32 = 3;

impl Token {
    /// The token as a number, for the system.
    pub fn encode(self) -> usize {
        let (kind, slot) = match self {
            Token::Listener(listener) => (0, listener),
            Token::Waker => (1, 0),
            Token::Server(server) => (2, server),
            Token::Client(client) => (3, client),
            Token::Agent(agent) => (4, agent),
        };
        slot << BITS | kind
    }

    /// The token of a number.
    pub fn decode(number: usize) -> Token {
        let slot = number >> BITS;
        match number & ((1 << BITS) - 1) {
            0 => Token::Listener(slot),
            1 => Token::Waker,
            2 => Token::Server(slot),
            3 => Token::Client(slot),
            _ => Token::Agent(slot),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_unique_and_reversible() {
        let slots = [0, 1, 7, 1 << 20];
        let kinds = [Token::Listener, Token::Server, Token::Client, Token::Agent];
        let tokens = slots.iter().flat_map(|slot| kinds.map(|kind| kind(*slot)));
        let mut numbers = std::collections::BTreeSet::new();
        for token in tokens.chain([Token::Waker]) {
            assert_eq!(Token::decode(token.encode()), token);
            assert!(numbers.insert(token.encode()));
        }
    }
}
