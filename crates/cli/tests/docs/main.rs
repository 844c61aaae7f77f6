//! The documents: generated pages are what the code gives, and what a page tells to type works.

mod papers;
mod scenario;
#[path = "../support/mod.rs"]
mod support;
mod tables;
mod typed;
