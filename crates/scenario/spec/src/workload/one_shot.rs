//! Every sender sends one fragment, once.

use super::barrier::{answers, answers_of};
use crate::facts::{Facts, Leaves};

pub(super) const FACTS: Facts = Facts {
    asks: false,
    limits: false,
    lasts: false,
    leaves: Leaves::Nothing,
    // One for the handshake; a sender without a request needs half a round trip more.
    setup_rtts: Some(1.5),
    moves: |s| answers_of(s, 1),
    says: |s, _| format!("one shot: {}", answers(s)),
    ..Facts::READS
};
