//! Congestion control algorithms of senders, queue disciplines of ports, shared switch memory and receive windows. The code
//! calls each of them a *law*.
//!
//! Each algorithm is written once, in one file, as pure integer code: time, randomness and settings are arguments; the algorithm
//! returns a verdict and its driver acts on it. The file's header states the algorithm, its source, units and departures. Its row
//! in the table of [`sender`] or [`port`] holds its metadata.
//!
//! A congestion control grows the window on each ACK and says where to cut it:
//!
//! ```
//! use fanin_laws::sender::{Ack, Kind, Law, Settings, Window};
//! use fanin_units::Time;
//!
//! let base = Kind::NewReno.start(&Settings::default());
//! let mut law = Law { mss: 1_000, base, slow_start: None, cap: None };
//! let mut window = Window { cwnd: 10_000, ssthresh: u32::MAX };
//! let rtt = Time::from_micros(100);
//! let ack = Ack { now: rtt, acked: 1_000, una: 1_001, nxt: 10_001, ece: false, rtt: Some(rtt), srtt: rtt };
//! law.observe(&ack);
//! law.grow(&ack, &mut window);
//! assert_eq!(window.cwnd, 11_000, "slow start");
//! ```
#![no_std]

extern crate alloc;

pub mod dynamic_threshold;
pub mod fixed;
pub mod parts;
pub mod pfc;
pub mod port;
pub mod rate;
pub mod receiver;
pub mod row;
pub mod scheduler;
pub mod sender;
pub mod settings;
pub mod stack;
pub mod uet;

use alloc::vec::Vec;

use row::Row;
use settings::Section;

/// Every row: congestion controls, queue disciplines, parts.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    let bases = sender::Kind::ALL.iter().map(|kind| kind.row());
    let disciplines = port::Kind::ALL.iter().map(|kind| kind.row());
    let rates = rate::Kind::ALL.iter().map(|kind| kind.row());
    let over_trimming = uet::Kind::ALL.iter().map(|kind| kind.row());
    bases.chain(rates).chain(over_trimming).chain(disciplines).chain(parts::PARTS)
}

/// Settings of all algorithms.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// Settings of congestion controls.
    pub senders: sender::Settings,
    /// Settings of rate-based congestion controls, of their transport and their switches.
    pub rates: rate::Settings,
    /// Settings of congestion controls over trimming ports, and of their transport.
    pub uet: uet::Settings,
    /// Settings of parts.
    pub parts: parts::Settings,
    /// Settings of queue disciplines.
    pub ports: port::Settings,
}

impl Settings {
    /// Every section.
    pub fn sections(&self) -> Vec<&dyn Section> {
        let Settings { senders, rates, uet, parts, ports } = self;
        [senders.sections(), rates.sections(), uet.sections(), parts.sections(), ports.sections()].concat()
    }

    /// Every section, mutable.
    pub fn sections_mut(&mut self) -> Vec<&mut dyn Section> {
        let mut all = self.senders.sections_mut();
        all.extend(self.rates.sections_mut());
        all.extend(self.uet.sections_mut());
        all.extend(self.parts.sections_mut());
        all.extend(self.ports.sections_mut());
        all
    }
}
