//! The front end, in one program: to link is what takes long. What has sockets runs once with each event loop.

#![allow(clippy::duplicate_mod, reason = "what has sockets runs once with each event loop")]

mod store;
mod support;

mod by_default;
mod by_epoll;
mod carrying;
mod machine;
mod routing;
mod schedule;
mod settings;
