//! A front end's request, and the result of each object.

use std::collections::BTreeSet;

use fanin_driver::View;
use fanin_roles::Node;
use fanin_roles::wire::{Numbered, Size};
use fanin_tables::{QueryRow, RequestRow};
use fanin_units::Time;

use super::post::Opened;
use super::store::Store;
use crate::rows::{round_row, timeouts_since};

/// A front end's request in progress.
pub(super) struct Request {
    pub number: u32,
    pub began: Time,
    pub timeouts: Option<u64>,
    pub objects: Vec<u32>,
    /// Results.
    pub fates: Vec<Option<Fate>>,
    /// Bytes received.
    pub payload: u64,
    /// Sender of each message.
    pub answered_by: Vec<Node>,
    /// It began before the measured time and is not counted.
    pub early: bool,
}

/// How a request ends.
#[derive(Clone, Copy)]
pub(super) struct End {
    /// Every object has a result; otherwise it is cut off.
    pub whole: bool,
    pub opened: Opened,
}

/// Result of an object.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Answered,
    Missed,
    Failed,
}

impl Request {
    pub fn rows(&self, view: &dyn View, front: u32, clock: Time, end: End) -> (QueryRow, RequestRow) {
        let End { whole, opened } = end;
        let (start_ps, took) = (self.began.since(clock).0, view.now().since(self.began));
        let count = |fate| self.fates.iter().filter(|&&of| of == Some(fate)).count() as u64;
        let row = RequestRow {
            request: self.number,
            from_host: front,
            objects: self.objects.len() as u64,
            answered: count(Fate::Answered),
            missed: count(Fate::Missed),
            failed: count(Fate::Failed),
            payload_bytes: self.payload,
            answering_hosts: self.answered_by.iter().collect::<BTreeSet<_>>().len() as u64,
            connections: opened.by_front_end,
            connections_beyond: opened.beyond,
            start_ps,
            latency_ps: whole.then_some(took.0),
        };
        (round_row(self.number, start_ps, took, whole, timeouts_since(view, self.timeouts)), row)
    }

    /// The bytes of each answered object, `None` for a missing one.
    pub fn answers(&self, store: &Store) -> Vec<Option<u64>> {
        let bytes = |object: &u32| store.value(Numbered((*object).into())).map_or(0, |Size(bytes)| bytes.into());
        let known = |fate: &Option<Fate>| fate.is_some_and(|fate| fate != Fate::Failed);
        self.objects.iter().zip(&self.fates).map(|(object, fate)| known(fate).then(|| bytes(object))).collect()
    }

    /// Record the result of an object, once.
    pub fn ends(&mut self, index: u32, fate: Fate) {
        let before = self.fates[index as usize].replace(fate);
        assert!(before.is_none(), "object {index} of request {} ends twice", self.number);
    }
}
