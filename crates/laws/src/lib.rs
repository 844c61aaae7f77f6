//! Packet laws: what a sender's window does on every ACK, what a port does with every packet, how ports share a memory, what
//! windows a receiver offers.
//!
//! Each law is written once, pure and in integers, one a file: time, randomness and settings are arguments, a law
//! returns a verdict, and its driver acts. The file's header states the law, its source, its units and its departures;
//! its row in [`sender`]'s or [`port`]'s table says what else there is to know of it.
#![no_std]

extern crate alloc;

pub mod dynamic_threshold;
pub mod fixed;
pub mod parts;
pub mod port;
pub mod receiver;
pub mod row;
pub mod sender;
pub mod settings;
pub mod stack;

use alloc::vec::Vec;

use row::Row;
use settings::Section;

/// Every row: bases, port laws, parts.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    let bases = sender::Kind::ALL.iter().map(|kind| kind.row());
    let disciplines = port::Kind::ALL.iter().map(|kind| kind.row());
    bases.chain(disciplines).chain(parts::PARTS)
}

/// Every law's settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// Those of bases.
    pub senders: sender::Settings,
    /// Those of parts.
    pub parts: parts::Settings,
    /// Those of port laws.
    pub ports: port::Settings,
}

impl Settings {
    /// Each section.
    pub fn sections(&self) -> Vec<&dyn Section> {
        [self.senders.sections(), self.parts.sections(), self.ports.sections()].concat()
    }

    /// Each section, to be set.
    pub fn sections_mut(&mut self) -> Vec<&mut dyn Section> {
        let mut all = self.senders.sections_mut();
        all.extend(self.parts.sections_mut());
        all.extend(self.ports.sections_mut());
        all
    }
}
