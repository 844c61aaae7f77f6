//! The list of schemes, built from the rows of algorithms: congestion control, queue discipline, request scheduling, placement.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

use fanin_laws::parts::{GRANTS, GSS, ICTCP, M21, PARTS};
use fanin_laws::row::Row;

use crate::limits::hint;
use crate::problem::did_you_mean;
use crate::{Base, Discipline, FanOut, Gathering, Invalid, Limit, Offer, Transport, foreign};

/// A scheme: congestion control with its modifications, queue discipline, request scheduling and placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scheme {
    /// Congestion control of TCP's senders.
    pub base: Base,
    /// The hosts' transport.
    pub transport: Transport,
    /// Gentle slow start replaces the congestion control's own.
    pub gss: bool,
    /// The switch hands out windows (M21).
    pub m21: bool,
    /// Receivers set windows (ICTCP).
    pub ictcp: bool,
    /// Receivers grant windows in turns.
    pub grants: bool,
    /// Queue discipline of switch ports.
    pub discipline: Discipline,
    /// Both ends use ECN, and the queue discipline marks.
    pub ecn: bool,
    /// Request scheduling, if the name includes one; otherwise all servers at once, or as the workload sets.
    pub fan_out: Option<FanOut>,
    /// Placement that co-locates objects, if any.
    pub gathering: Option<Gathering>,
}

/// Schemes that are documented and tested by name; other combinations of their parts also work.
pub static REGISTRY: LazyLock<Vec<Offer>> = LazyLock::new(|| all_rows().flat_map(|row| row.offers).copied().collect());

fn all_rows() -> impl Iterator<Item = &'static Row> {
    fanin_laws::rows().chain(fanin_fanout::rows()).chain(fanin_placement::rows())
}

/// The word for ECN at both ends and marking at ports.
pub(crate) const ECN: &str = "ecn";

fn bases() -> impl Iterator<Item = Base> {
    Base::ALL.iter().copied()
}

fn disciplines() -> impl Iterator<Item = Discipline> {
    Discipline::ALL.iter().copied()
}

/// The queue discipline that a congestion control implies.
fn own_discipline(sender: &Row) -> Discipline {
    disciplines().find(|discipline| sender.brings(discipline.row().word)).unwrap_or(Discipline::DropTail)
}

fn fan_outs() -> impl Iterator<Item = FanOut> {
    FanOut::ALL.iter().copied()
}

fn gatherings() -> impl Iterator<Item = Gathering> {
    Gathering::ALL.iter().copied()
}

/// The default congestion control.
const USUAL: Base = Base::NewReno;

/// The role of a word in a scheme's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    Sender(Base),
    Transport(Transport),
    Port(Discipline),
    FanOut(FanOut),
    Gathering(Gathering),
    Gss,
    M21,
    Ictcp,
    Grants,
    Ecn,
}

impl Slot {
    fn of(word: &str) -> Option<Slot> {
        let base = || bases().find(|base| base.row().word == word).map(Slot::Sender);
        let has_word = |transport: &Transport| transport.row().is_some_and(|row| row.word == word);
        let transport = || Transport::others().find(has_word).map(Slot::Transport);
        let port = || disciplines().find(|discipline| discipline.row().word == word).map(Slot::Port);
        let fan_out = || fan_outs().find(|fan_out| fan_out.row().word == word).map(Slot::FanOut);
        let gathering = || gatherings().find(|gathering| gathering.row().word == word).map(Slot::Gathering);
        let part = || {
            [
                (GSS.word, Slot::Gss),
                (M21.word, Slot::M21),
                (ICTCP.word, Slot::Ictcp),
                (GRANTS.word, Slot::Grants),
                (ECN, Slot::Ecn),
            ]
            .into_iter()
            .find(|(w, _)| *w == word)
        };
        let foreign = || foreign::called(word).map(|law| Slot::Sender(Base::Foreign(law)));
        let of_house = base().or_else(transport).or_else(port).or_else(fan_out).or_else(gathering);
        of_house.or_else(|| part().map(|(_, slot)| slot)).or_else(foreign)
    }

    /// The role's name, for messages.
    fn name(self) -> &'static str {
        match self {
            Slot::Sender(_) | Slot::Transport(_) => "senders",
            Slot::Port(_) => "queue disciplines",
            Slot::FanOut(_) => "request schedulers",
            Slot::Gathering(_) => "placements",
            Slot::Gss => "slow starts",
            Slot::M21 => "caps",
            Slot::Ictcp | Slot::Grants => "receiver algorithms",
            Slot::Ecn => "notifications",
        }
    }
}

impl Scheme {
    /// Reads a scheme's name: a registry name, an alias, or words for different roles in any order and case, such as
    /// `cubic+red+ecn` or `SICC+DCTCP`. Missing roles have defaults: NewReno, its own queue discipline, all servers at once.
    ///
    /// # Errors
    /// Unknown words and words that cannot be combined, with alternatives.
    pub fn parse(name: &str) -> Result<Scheme, Invalid> {
        let name = name.to_ascii_lowercase();
        let name = name.as_str();
        let of_house = name.split('+').filter(|part| foreign::called(part).is_none());
        if let Some((part, limit)) = of_house.filter_map(|part| Some((part, Limit::named(part)?))).next() {
            return Err(limit.told(part).into());
        }
        // An alias may be the whole name, or one word of a longer name.
        let aliased = |name: &'static str, whole| if whole || !name.contains('+') { Some(name) } else { None };
        let known = |word, whole| {
            let entry = REGISTRY.iter().find(|e| e.aliases.contains(&word));
            entry.and_then(|e| aliased(e.name, whole)).unwrap_or(word)
        };
        let mut slots: Vec<(&str, Slot)> = Vec::new();
        for word in known(name, true).split('+').map(|word| known(word, false)) {
            let Some(slot) = Slot::of(word) else { return Err(unknown_word(name, word).into()) };
            if slots.iter().any(|(_, other)| *other == slot) {
                return Err(format!("scheme `{name}` has `{word}` twice").into());
            }
            if slots.iter().any(|(_, other)| other.name() == slot.name()) {
                return Err(format!("scheme `{name}` has two {}; use only one", slot.name()).into());
            }
            slots.push((word, slot));
        }
        let scheme = Scheme::of(&slots);
        match scheme.refused() {
            Some(why) => Err(format!("scheme `{name}` cannot work: {why}").into()),
            None => Ok(scheme),
        }
    }

    fn of(slots: &[(&str, Slot)]) -> Scheme {
        let base = slots.iter().find_map(|(_, slot)| if let Slot::Sender(base) = slot { Some(*base) } else { None });
        let base = base.unwrap_or(USUAL);
        let transport =
            slots.iter().find_map(|(_, slot)| if let Slot::Transport(own) = slot { Some(*own) } else { None });
        let transport = transport.unwrap_or(Transport::Tcp);
        let sender = transport.row().unwrap_or(base.row());
        let mut scheme = Scheme {
            base,
            transport,
            gss: false,
            m21: false,
            ictcp: false,
            grants: false,
            discipline: own_discipline(sender),
            ecn: sender.brings(ECN),
            fan_out: None,
            gathering: None,
        };
        for (_, slot) in slots {
            match *slot {
                Slot::Sender(_) | Slot::Transport(_) => {}
                Slot::Port(discipline) => scheme.discipline = discipline,
                Slot::FanOut(fan_out) => scheme.fan_out = Some(fan_out),
                Slot::Gathering(gathering) => scheme.gathering = Some(gathering),
                Slot::Gss => scheme.gss = true,
                Slot::M21 => scheme.m21 = true,
                Slot::Ictcp => scheme.ictcp = true,
                Slot::Grants => scheme.grants = true,
                Slot::Ecn => scheme.ecn = true,
            }
        }
        scheme
    }

    /// Words that can be combined with a congestion control: modifications, queue disciplines, ECN, request schedulers, placements.
    pub fn parts() -> Vec<&'static str> {
        let words = PARTS.iter().map(|part| part.word);
        let ports = disciplines().map(|discipline| discipline.row().word);
        let asking = fan_outs().map(|fan_out| fan_out.row().word);
        let placing = gatherings().map(|gathering| gathering.row().word);
        words.chain(ports).chain([ECN]).chain(asking).chain(placing).collect()
    }

    /// The same packet-level algorithms, without request scheduling and placement.
    pub fn of_packets(self) -> Scheme {
        Scheme { fan_out: None, gathering: None, ..self }
    }

    /// Whether it includes request scheduling or placement, which only workloads with objects use.
    pub fn is_of_objects(&self) -> bool {
        self.fan_out.is_some() || self.gathering.is_some()
    }

    /// The rows that it consists of: placement, request scheduling, congestion control, modifications, queue discipline.
    pub fn rows(&self) -> Vec<&'static Row> {
        let parts = [(self.gss, &GSS), (self.m21, &M21), (self.ictcp, &ICTCP), (self.grants, &GRANTS)]
            .into_iter()
            .filter_map(|(on, row)| on.then_some(row));
        let first = self.gathering.map(Gathering::row).into_iter().chain(self.fan_out.map(FanOut::row));
        first.chain([self.sender()]).chain(parts).chain([self.discipline.row()]).collect()
    }

    /// Whether receiving hosts set the windows of their connections.
    pub fn sets_receive_windows(&self) -> bool {
        self.ictcp || self.grants
    }

    /// Whether its hosts use TCP.
    pub fn is_tcp(&self) -> bool {
        self.transport == Transport::Tcp
    }

    /// The row of its congestion control.
    fn sender(&self) -> &'static Row {
        self.transport.row().unwrap_or(self.base.row())
    }

    /// Why its parts cannot be combined, if the rows say so.
    fn refused(&self) -> Option<&'static str> {
        let modified = self.gss || self.m21 || self.sets_receive_windows();
        if !self.is_tcp() && (modified || self.discipline != own_discipline(self.sender())) {
            return Some("its transport is not TCP, and has ports of its own: remove the other parts");
        }
        if self.is_tcp() && self.discipline == Discipline::Trimming {
            return Some("TCP does not know trimmed packets; use nscc, rccc, eqds or ndp");
        }
        let rows = self.rows();
        let mut words: Vec<&str> = rows.iter().map(|row| row.word).collect();
        words.extend(self.ecn.then_some(ECN));
        let refusals = rows.iter().flat_map(|row| row.refuses);
        refusals.into_iter().find(|(word, _)| words.contains(word)).map(|(_, why)| *why)
    }

    /// Whether its congestion control implies ECN, as DCTCP and its descendants do: receivers then echo marks exactly, and every packet
    /// is ECN-capable.
    pub fn exact_echo(&self) -> bool {
        self.sender().brings(ECN)
    }

    /// The name of its congestion control if supplied by the caller.
    pub fn foreign(&self) -> Option<&'static str> {
        matches!(self.base, Base::Foreign(_)).then(|| self.base.row().word)
    }

    /// The scenario sections of this scheme's settings.
    pub fn sections(&self) -> Vec<&'static str> {
        self.rows().iter().flat_map(|row| row.sections).copied().collect()
    }
}

/// Whether this word is part of a built-in name.
pub(crate) fn is_word(word: &str) -> bool {
    let named = |offer: &Offer| offer.name == word || offer.aliases.contains(&word);
    REGISTRY.iter().any(named) || Slot::of(word).is_some_and(|slot| !matches!(slot, Slot::Sender(Base::Foreign(_))))
}

fn unknown_word(name: &str, word: &str) -> String {
    let brought = foreign::all().into_iter().map(|law| law.row().word);
    if name == word {
        let names: Vec<&str> = REGISTRY.iter().map(|e| e.name).chain(brought.clone()).collect();
        let known = REGISTRY.iter().flat_map(|e| e.aliases.iter().copied().chain([e.name]));
        let near = did_you_mean(name, known.chain(brought));
        return format!("unknown scheme `{name}`{near}{}; the schemes are {}", hint(name), names.join(", "));
    }
    let senders =
        bases().map(|base| base.row().word).chain(Transport::others().filter_map(|own| Some(own.row()?.word)));
    let known: Vec<&str> = senders.chain(brought).chain(Scheme::parts()).collect();
    let near = did_you_mean(word, known.iter().copied());
    format!("unknown part `{word}` of scheme `{name}`{near}{}; the parts are {}", hint(word), known.join(", "))
}

impl fmt::Display for Scheme {
    /// The canonical name: placement, request scheduling, congestion control unless it is the default after these, modifications,
    /// queue discipline unless it is the implied one, ecn.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (port, base) = (self.discipline.row().word, self.sender().word);
        let silent = |word: &str| {
            word == port && self.discipline == own_discipline(self.sender())
                || word == base && self.is_tcp() && self.base == USUAL && self.is_of_objects()
        };
        let words: Vec<&str> = self.rows().into_iter().map(|row| row.word).filter(|word| !silent(word)).collect();
        f.write_str(&words.join("+"))?;
        if self.ecn && !self.exact_echo() { write!(f, "+{ECN}") } else { Ok(()) }
    }
}

/// The first scheme that uses a section, if any.
pub(crate) fn owner(section: &str) -> Option<&'static str> {
    // Looked up for every section at every point of a sweep.
    static OWNERS: LazyLock<BTreeMap<&'static str, &'static str>> = LazyLock::new(|| {
        let schemes = REGISTRY.iter().rev().filter_map(|entry| Some((entry.name, Scheme::parse(entry.name).ok()?)));
        schemes.flat_map(|(name, scheme)| scheme.sections().into_iter().map(move |section| (section, name))).collect()
    });
    OWNERS.get(section).copied()
}
