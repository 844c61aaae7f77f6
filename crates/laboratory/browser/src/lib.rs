//! The engine in a browser: what the playground's workers call. It has no threads, clock or files.
//!
//! One worker has a [`Session`], which knows a scenario's runs and makes its report. Other workers carry out the runs ([`run`]), which
//! travel as bytes. The output equals that of `fanin compare --json` to the byte, for the same scenario and seeds.

mod advice;
mod capture;
mod exports;
mod inline;
mod scenario;
mod session;

pub use advice::advise;
pub use capture::diagnose;
pub use fanin_spec::set_value;
pub use inline::run;
pub use scenario::{describe, keys};
pub use session::{Session, Step};
