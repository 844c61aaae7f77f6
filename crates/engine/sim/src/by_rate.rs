//! Settings of a transport by the rate of an end's link.

use fanin_fabric::{Fabric, LinkId};
use fanin_transport::Transport;
use fanin_units::Rate;

/// Settings of a transport at every link of a host.
pub(crate) struct ByRate<T: Transport> {
    usual: T::Settings,
    others: Vec<T::Settings>,
    /// Which of the others a link has, from one on; zero: the usual ones. Empty if all links have the usual ones.
    of_link: Vec<u32>,
}

impl<T: Transport> Clone for ByRate<T> {
    fn clone(&self) -> ByRate<T> {
        ByRate { usual: self.usual.clone(), others: self.others.clone(), of_link: self.of_link.clone() }
    }
}

impl<T: Transport> ByRate<T> {
    /// The same settings at every link.
    pub fn same(usual: T::Settings) -> ByRate<T> {
        ByRate { usual, others: Vec::new(), of_link: Vec::new() }
    }

    /// The usual settings at links from hosts at the usual rate, and other ones at those of other rates.
    pub fn new(usual: T::Settings, rate: Rate, fabric: &Fabric, of: impl Fn(Rate) -> T::Settings) -> ByRate<T> {
        let mut rates = vec![rate];
        let mut of_link = vec![0; fabric.links().len()];
        for id in fabric.link_ids().filter(|&id| fabric.is_host(fabric.link(id).from)) {
            let rate = fabric.link(id).rate;
            let place = rates.iter().position(|&other| other == rate).unwrap_or(rates.len());
            if place == rates.len() {
                rates.push(rate);
            }
            of_link[id.index()] = place as u32;
        }
        let others: Vec<_> = rates.into_iter().skip(1).map(of).collect();
        if others.is_empty() {
            return ByRate::same(usual);
        }
        ByRate { usual, others, of_link }
    }

    /// Settings of some end: the rate does not matter.
    pub fn usual(&self) -> &T::Settings {
        &self.usual
    }

    /// Settings of an end that sends on a link.
    #[inline(always)]
    pub fn of(&self, link: LinkId) -> &T::Settings {
        if !T::DEPENDS_ON_RATE {
            return &self.usual;
        }
        match self.of_link.get(link.index()) {
            None | Some(0) => &self.usual,
            Some(&other) => &self.others[other as usize - 1],
        }
    }
}
