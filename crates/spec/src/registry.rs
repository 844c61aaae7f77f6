//! The one list of schemes: what stands on which sender, beside which port law.

use std::fmt;

use crate::Limit;
use crate::problem::did_you_mean;

/// The sender's congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Base {
    /// RFC 5681 and 6582.
    NewReno,
    /// RFC 9438.
    Cubic,
    /// RFC 8257.
    Dctcp,
    /// DCTCP with deadlines.
    D2tcp,
    /// DCTCP weighted by attained service.
    L2dct,
}

impl Base {
    /// Whether the base needs exact echoes of marks, and brings ECN and a port that marks above a threshold.
    pub fn is_dctcp_like(self) -> bool {
        matches!(self, Base::Dctcp | Base::D2tcp | Base::L2dct)
    }
}

/// What a switch port does with a packet that it could queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Discipline {
    /// Queues it.
    DropTail,
    /// Random early detection.
    Red,
    /// Marks above a threshold of the instantaneous queue.
    EcnThreshold,
    /// Controlled delay: drops or marks what waited too long, as it leaves.
    CoDel,
}

/// A scheme: a sender, what stands on it, and the port law that it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scheme {
    /// The sender's congestion control.
    pub base: Base,
    /// Gentle slow start in place of the base's.
    pub gss: bool,
    /// A window handed out by the switch.
    pub m21: bool,
    /// The switch ports' discipline.
    pub discipline: Discipline,
    /// Both ends use ECN, and the port law marks.
    pub ecn: bool,
}

/// A scheme as the registry lists it.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The canonical name.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// What it is, in a sentence.
    pub says: &'static str,
}

/// The schemes that are documented and tested by name. Other combinations of their parts are understood too.
pub const REGISTRY: &[Entry] = &[
    Entry { name: "newreno", aliases: &["reno"], says: "TCP NewReno over drop-tail queues: what collapses" },
    Entry { name: "cubic", aliases: &[], says: "CUBIC over drop-tail queues: the common default today" },
    Entry { name: "dctcp", aliases: &[], says: "DCTCP over ports that mark above a threshold" },
    Entry { name: "d2tcp", aliases: &[], says: "DCTCP that gives way the less the nearer a flow's deadline is" },
    Entry { name: "l2dct", aliases: &[], says: "DCTCP that gives way the less the less a flow has sent" },
    Entry { name: "newreno+red", aliases: &["red"], says: "NewReno over ports that drop early at random" },
    Entry {
        name: "newreno+red+ecn",
        aliases: &["ecn", "ecntcp"],
        says: "NewReno over ports that mark early at random",
    },
    Entry { name: "newreno+codel", aliases: &["codel"], says: "NewReno over ports that drop what waited too long" },
    Entry { name: "newreno+codel+ecn", aliases: &[], says: "NewReno over ports that mark what waited too long" },
    Entry { name: "newreno+gss", aliases: &["gss"], says: "NewReno with gentle slow start" },
    Entry { name: "cubic+gss", aliases: &[], says: "CUBIC with gentle slow start" },
    Entry { name: "dctcp+gss", aliases: &[], says: "DCTCP with gentle slow start" },
    Entry { name: "d2tcp+gss", aliases: &[], says: "D2TCP with gentle slow start" },
    Entry { name: "l2dct+gss", aliases: &[], says: "L2DCT with gentle slow start" },
    Entry { name: "newreno+m21", aliases: &["m21"], says: "NewReno under a window that the switch hands out" },
    Entry { name: "cubic+m21", aliases: &[], says: "CUBIC under a window that the switch hands out" },
    Entry { name: "dctcp+m21", aliases: &[], says: "DCTCP under a window that the switch hands out" },
];

const BASES: [(&str, Base); 5] = [
    ("newreno", Base::NewReno),
    ("cubic", Base::Cubic),
    ("dctcp", Base::Dctcp),
    ("d2tcp", Base::D2tcp),
    ("l2dct", Base::L2dct),
];
const DISCIPLINES: [(&str, Discipline); 4] = [
    ("drop_tail", Discipline::DropTail),
    ("red", Discipline::Red),
    ("ecn_threshold", Discipline::EcnThreshold),
    ("codel", Discipline::CoDel),
];

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
        let base = parts.next().unwrap_or_default();
        let Some(&(_, base)) = BASES.iter().find(|(word, _)| *word == base) else {
            let names: Vec<&str> = REGISTRY.iter().map(|e| e.name).collect();
            let near = did_you_mean(name, REGISTRY.iter().flat_map(|e| e.aliases.iter().copied().chain([e.name])));
            return Err(format!("unknown scheme `{name}`{near}; the schemes are {}", names.join(", ")));
        };
        let dctcp = base.is_dctcp_like();
        let mut scheme = Scheme { base, gss: false, m21: false, discipline: Discipline::DropTail, ecn: dctcp };
        if dctcp {
            scheme.discipline = Discipline::EcnThreshold;
        }
        let mut seen: Vec<&str> = Vec::new();
        for part in parts {
            if seen.contains(&part) {
                return Err(format!("scheme `{name}` says `{part}` twice"));
            }
            match part {
                "gss" => scheme.gss = true,
                "m21" => scheme.m21 = true,
                "ecn" => scheme.ecn = true,
                _ => match DISCIPLINES.iter().find(|(word, _)| *word == part) {
                    Some(_) if seen.iter().any(|s| DISCIPLINES.iter().any(|(word, _)| word == s)) => {
                        return Err(format!("scheme `{name}` names two port laws; one is right"));
                    }
                    Some(&(_, discipline)) => scheme.discipline = discipline,
                    None => {
                        let known = ["gss", "m21", "ecn", "red", "codel", "drop_tail", "ecn_threshold"];
                        let near = did_you_mean(part, known);
                        let known = known.join(", ");
                        return Err(format!("unknown part `{part}` of scheme `{name}`{near}; the parts are {known}"));
                    }
                },
            }
            seen.push(part);
        }
        if scheme.ecn && scheme.discipline == Discipline::DropTail {
            return Err(format!(
                "scheme `{name}` cannot work: ECN needs a port law that marks; write red, codel or ecn_threshold, such as newreno+red+ecn"
            ));
        }
        Ok(scheme)
    }

    /// The sections of a scenario that hold this scheme's own settings.
    pub fn sections(&self) -> Vec<&'static str> {
        let mut sections = Vec::new();
        match self.base {
            Base::NewReno => {}
            Base::Cubic => sections.push("cubic"),
            Base::Dctcp | Base::D2tcp | Base::L2dct => sections.push("dctcp"),
        }
        if self.gss {
            sections.push("gss");
        }
        if self.m21 {
            sections.push("m21");
        }
        match self.discipline {
            Discipline::DropTail => {}
            Discipline::Red => sections.push("red"),
            Discipline::EcnThreshold => sections.push("ecn_threshold"),
            Discipline::CoDel => sections.push("codel"),
        }
        sections
    }
}

impl fmt::Display for Scheme {
    /// The canonical name: base, gss, m21, port law where it is not the base's own, ecn.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = BASES.iter().find(|(_, base)| *base == self.base).map_or("", |(word, _)| word);
        f.write_str(word)?;
        for (on, part) in [(self.gss, "+gss"), (self.m21, "+m21")] {
            if on {
                f.write_str(part)?;
            }
        }
        let dctcp = self.base.is_dctcp_like();
        let own = if dctcp { Discipline::EcnThreshold } else { Discipline::DropTail };
        if self.discipline != own {
            let word = DISCIPLINES.iter().find(|(_, d)| *d == self.discipline).map_or("", |(word, _)| word);
            write!(f, "+{word}")?;
        }
        if self.ecn && !dctcp { f.write_str("+ecn") } else { Ok(()) }
    }
}
