//! The one list of schemes: what stands on which sender, beside which port law. It is made of the laws' rows.

use std::fmt;
use std::sync::LazyLock;

use fanin_laws::parts::{GSS, ICTCP, M21, PARTS};
use fanin_laws::row::Row;

use crate::problem::did_you_mean;
use crate::{Base, Discipline, Limit, Offer};

/// A scheme: a sender, what stands on it, and the port law that it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scheme {
    /// The sender's congestion control.
    pub base: Base,
    /// Gentle slow start in place of the base's.
    pub gss: bool,
    /// A window handed out by the switch.
    pub m21: bool,
    /// Windows that a receiving host offers.
    pub ictcp: bool,
    /// The switch ports' discipline.
    pub discipline: Discipline,
    /// Both ends use ECN, and the port law marks.
    pub ecn: bool,
}

/// The schemes that are documented and tested by name. Other combinations of their parts are understood too.
pub static REGISTRY: LazyLock<Vec<Offer>> =
    LazyLock::new(|| fanin_laws::rows().flat_map(|row| row.offers).copied().collect());

/// What says that both ends use ECN and the port law marks.
const ECN: &str = "ecn";

fn bases() -> impl Iterator<Item = Base> {
    Base::ALL.iter().copied()
}

fn disciplines() -> impl Iterator<Item = Discipline> {
    Discipline::ALL.iter().copied()
}

/// The port law that a base brings.
fn own_discipline(base: Base) -> Discipline {
    disciplines().find(|discipline| base.row().brings(discipline.row().word)).unwrap_or(Discipline::DropTail)
}

impl Scheme {
    /// Reads a scheme's name: a registry name, an alias, or a base with parts, such as `cubic+red+ecn`.
    ///
    /// # Errors
    /// What is unknown or cannot work together, and what would.
    pub fn parse(name: &str) -> Result<Scheme, String> {
        let name = REGISTRY.iter().find(|e| e.aliases.contains(&name)).map_or(name, |e| e.name);
        if let Some((part, limit)) = name.split('+').find_map(|part| Some((part, Limit::named(part)?))) {
            return Err(limit.told(part));
        }
        let mut parts = name.split('+');
        let word = parts.next().unwrap_or_default();
        let Some(base) = bases().find(|base| base.row().word == word) else {
            let names: Vec<&str> = REGISTRY.iter().map(|e| e.name).collect();
            let near = did_you_mean(name, REGISTRY.iter().flat_map(|e| e.aliases.iter().copied().chain([e.name])));
            return Err(format!("unknown scheme `{name}`{near}; the schemes are {}", names.join(", ")));
        };
        let ecn = base.row().brings(ECN);
        let mut scheme = Scheme { base, gss: false, m21: false, ictcp: false, discipline: own_discipline(base), ecn };
        let mut seen: Vec<&str> = Vec::new();
        for part in parts {
            if seen.contains(&part) {
                return Err(format!("scheme `{name}` says `{part}` twice"));
            }
            let discipline = |word: &str| disciplines().find(|discipline| discipline.row().word == word);
            if discipline(part).is_some() && seen.iter().any(|word| discipline(word).is_some()) {
                return Err(format!("scheme `{name}` names two port laws; one is right"));
            }
            match (part, discipline(part)) {
                (_, Some(discipline)) => scheme.discipline = discipline,
                (ECN, _) => scheme.ecn = true,
                _ if part == GSS.word => scheme.gss = true,
                _ if part == M21.word => scheme.m21 = true,
                _ if part == ICTCP.word => scheme.ictcp = true,
                _ => return Err(unknown_part(name, part)),
            }
            seen.push(part);
        }
        match scheme.refused() {
            Some(why) => Err(format!("scheme `{name}` cannot work: {why}")),
            None => Ok(scheme),
        }
    }

    /// What a base may be joined with, by its words: parts, port laws, ECN.
    pub fn parts() -> Vec<&'static str> {
        let words = PARTS.iter().map(|part| part.word);
        words.chain(disciplines().map(|discipline| discipline.row().word)).chain([ECN]).collect()
    }

    /// The rows that it is made of: its base, its parts, its port law.
    pub fn rows(&self) -> Vec<&'static Row> {
        let parts = [(self.gss, &GSS), (self.m21, &M21), (self.ictcp, &ICTCP)]
            .into_iter()
            .filter_map(|(on, row)| on.then_some(row));
        [self.base.row()].into_iter().chain(parts).chain([self.discipline.row()]).collect()
    }

    /// Why some of it cannot go together with the rest, as the rows have it.
    fn refused(&self) -> Option<&'static str> {
        let rows = self.rows();
        let mut words: Vec<&str> = rows.iter().map(|row| row.word).collect();
        words.extend(self.ecn.then_some(ECN));
        let refusals = rows.iter().flat_map(|row| row.refuses);
        refusals.into_iter().find(|(word, _)| words.contains(word)).map(|(_, why)| *why)
    }

    /// Whether its base brings ECN, as DCTCP and what is made of it do: it needs exact echoes of marks, and every packet
    /// to be ECN-capable.
    pub fn exact_echo(&self) -> bool {
        self.base.row().brings(ECN)
    }

    /// The sections of a scenario that hold this scheme's own settings.
    pub fn sections(&self) -> Vec<&'static str> {
        self.rows().iter().flat_map(|row| row.sections).copied().collect()
    }
}

fn unknown_part(name: &str, part: &str) -> String {
    let known = Scheme::parts();
    let near = did_you_mean(part, known.iter().copied());
    format!("unknown part `{part}` of scheme `{name}`{near}; the parts are {}", known.join(", "))
}

impl fmt::Display for Scheme {
    /// The canonical name: base, parts, port law where it is not the base's own, ecn.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own = |row: &&Row| self.discipline != own_discipline(self.base) || row.word != self.discipline.row().word;
        let words: Vec<&str> = self.rows().into_iter().filter(own).map(|row| row.word).collect();
        f.write_str(&words.join("+"))?;
        if self.ecn && !self.exact_echo() { write!(f, "+{ECN}") } else { Ok(()) }
    }
}

/// The first scheme that a section is of, where it is one of schemes.
pub(crate) fn owner(section: &str) -> Option<&'static str> {
    let names = REGISTRY.iter().map(|entry| entry.name);
    names.into_iter().find(|name| Scheme::parse(name).is_ok_and(|scheme| scheme.sections().contains(&section)))
}
