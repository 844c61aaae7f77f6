//! The documents: generated pages are what the code gives, and what a page tells to type works.

mod papers;
mod scenario;
mod tables;
mod typed;
