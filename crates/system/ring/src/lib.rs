//! System calls that need `unsafe`, behind interfaces that do not: sockets over io_uring (with the feature of that name), TCP's figures of a
//! connection, release of the allocator's free memory, and a thread's priority.

#![allow(unsafe_code)]

#[cfg(feature = "io-uring")]
mod buffers;
pub mod heap;
mod priority;
mod tcp;
#[cfg(feature = "io-uring")]
mod uring;
#[cfg(feature = "io-uring")]
mod wire;

pub use priority::lower_priority;
pub use tcp::{TcpInfo, limit_pacing, tcp_info};
#[cfg(feature = "io-uring")]
pub use uring::{Event, Ring, Socket};
