//! Hand-over of a running front end to a new process: messages, and the clients on their way.
//!
//! The new process has connected to the old one's control socket. The messages are, in this order:
//!
//! 1. The old one sends an [`Offer`], then each listening socket, then the one of the metrics.
//! 2. The new one sends `Prepared` if it can continue the plans. The old one then pauses its migrations, its log and joined gets, and sends
//!    `Paused`: nothing that both would write changes from here on.
//! 3. The new one reads its settings again, with the state of the plans, starts its threads and sends [`Started`].
//! 4. The old one stops accepting, frees its control names and sends [`Released`], then each client when it is between two requests.
//!
//! While a server of a pool with failover is not in use, the old one sends `Wait` in place of its next message: only it knows which keys have
//! changed meanwhile. It goes on, and the new one begins again.
//!
//! Up to `Started` the old one goes on unchanged if the new one ends. The end of the connection means that the old one has ended.

mod arrivals;
mod departures;
mod messages;

use serde::{Deserialize, Serialize};

use fanin_proxy_config::Pool;

pub use arrivals::{Arrival, Arrivals};
pub use departures::{Departures, deliver};
pub use messages::{Kind, Link, Message};

/// Version of the protocol: processes with different versions do not hand over.
pub const VERSION: u32 = 1;

/// State of the old process.
#[derive(Debug, Serialize, Deserialize)]
pub struct Offer {
    /// Its listening sockets, which follow in this order.
    pub sockets: Vec<OfferedSocket>,
    /// Address of the metrics as in its settings; the socket follows.
    pub metrics: Option<String>,
    /// Descriptions of its plans.
    pub plans: Vec<String>,
}

/// A listening socket.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OfferedSocket {
    /// Its address as in the settings.
    pub listen: String,
    /// Its origin.
    pub origin: Origin,
}

/// Origin of a listening socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Origin {
    /// The front end has opened it, and removes its file, if it has one.
    Own,
    /// systemd listens with it, too.
    Systemd,
}

/// State of the new process.
#[derive(Debug, Serialize, Deserialize)]
pub struct Started {
    /// The pools whose clients it takes.
    pub pools: Vec<PoolName>,
    /// Maximum number of clients it takes.
    pub clients: usize,
}

/// State of the old process when it has stopped accepting.
#[derive(Debug, Serialize, Deserialize)]
pub struct Released {
    /// Number of its clients.
    pub clients: usize,
}

/// Identity of a pool: its successor has its address, else its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolName {
    /// Its address as in the settings.
    pub listen: String,
    /// Its name.
    pub name: String,
}

impl PoolName {
    /// Identity of a pool.
    pub fn of(pool: &Pool) -> PoolName {
        PoolName { listen: pool.listen.to_string(), name: pool.name.clone() }
    }

    /// Position of its successor among these.
    pub fn successor(&self, pools: &[PoolName]) -> Option<usize> {
        let at_address = pools.iter().position(|pool| pool.listen == self.listen);
        at_address.or_else(|| pools.iter().position(|pool| pool.name == self.name))
    }
}
