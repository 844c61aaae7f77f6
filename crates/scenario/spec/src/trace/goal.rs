//! Reading of GOAL's text form.

use std::collections::BTreeMap;

use fanin_units::Time;

use super::operation::On;
use super::ranks::{Described, Ranks};
use crate::flows::whole;
use crate::problem::excerpt;

const FORM: &str = "expected `[label:] calc NS [cpu N]`, `[label:] send BYTESb to RANK [tag N]`, `[label:] recv BYTESb from RANK [tag N]`, or \
                    `label requires label` or `irequires`";

/// Reader of a file's lines.
#[derive(Default)]
pub(super) struct Reader {
    ranks: Option<Ranks>,
    /// The rank whose operations follow, with its labels.
    current: Option<(u32, BTreeMap<String, u32>)>,
    /// Ranks that were described.
    seen: Vec<bool>,
    /// Within `/* ... */`.
    in_comment: bool,
}

impl Reader {
    /// Takes a line.
    pub fn read(&mut self, line: u64, row: &str) -> Result<(), String> {
        let words = self.words(row);
        match (words.as_slice(), &mut self.current, &mut self.ranks) {
            ([], ..) => Ok(()),
            (["num_ranks", count], None, None) => {
                let ranks = Ranks::new(whole(count).unwrap_or(0))?;
                self.seen = vec![false; ranks.operations.len()];
                self.ranks = Some(ranks);
                Ok(())
            }
            (_, _, None) => Err(format!("expected `num_ranks N` first; this is {}", excerpt(row))),
            (["rank", number, "{"], None, Some(_)) => {
                let number = self.rank_number(number)?;
                if std::mem::replace(&mut self.seen[number as usize], true) {
                    return Err(format!("rank {number} is described twice"));
                }
                self.current = Some((number, BTreeMap::new()));
                Ok(())
            }
            (["}"], Some(_), _) => {
                self.current = None;
                Ok(())
            }
            (_, Some(_), Some(_)) => self.operation_or_wait(line, &words).map_err(|what| match what {
                Some(what) => what,
                None => format!("{FORM}; this is {}", excerpt(row)),
            }),
            _ => Err(format!("expected `rank N {{`; this is {}", excerpt(row))),
        }
    }

    /// Words outside comments.
    fn words<'a>(&mut self, mut row: &'a str) -> Vec<&'a str> {
        let mut words = Vec::new();
        loop {
            let mark = if self.in_comment { "*/" } else { "/*" };
            let (before, after) = row.split_once(mark).map_or((row, None), |(before, after)| (before, Some(after)));
            if !self.in_comment {
                for word in before.split_whitespace() {
                    if word.starts_with("//") || word.starts_with('#') {
                        return words;
                    }
                    words.push(word);
                }
            }
            let Some(after) = after else { return words };
            self.in_comment = !self.in_comment;
            row = after;
        }
    }

    fn rank_number(&self, text: &str) -> Result<u32, String> {
        let count = self.seen.len();
        let number = whole(text).filter(|&number| number < count as u64);
        number.map(|number| number as u32).ok_or_else(|| format!("use ranks 0 to {}, not {}", count - 1, excerpt(text)))
    }

    /// `None` is a line of another form.
    fn operation_or_wait(&mut self, line: u64, words: &[&str]) -> Result<(), Option<String>> {
        let (label, rest) = match words {
            [label, rest @ ..] if label.ends_with(':') => (Some(label.trim_end_matches(':')), rest),
            _ => (None, words),
        };
        if let ([one, how @ ("requires" | "irequires"), other], None) = (rest, label) {
            let on = if *how == "requires" { On::End } else { On::Start };
            return self.wait(one, other, on).map_err(Some);
        }
        let (kind, first, options) = match rest {
            [kind, first, options @ ..] => (*kind, *first, options),
            _ => return Err(None),
        };
        let size = || first.strip_suffix('b').and_then(whole).ok_or(None);
        let option = |options: &[&str], name: &str| option(options, name).ok_or(None);
        let described = match (kind, options) {
            ("calc", options) => {
                let ns = whole(first).ok_or(None)?;
                Described::Calc { time: ns.checked_mul(1_000).map(Time), cpu: option(options, "cpu")? }
            }
            ("send", ["to", other, options @ ..]) => {
                Described::Send { to: self.other(other)?, bytes: size()?, tag: option(options, "tag")? }
            }
            ("recv", ["from", other, options @ ..]) => {
                Described::Receive { from: self.other(other)?, bytes: size()?, tag: option(options, "tag")? }
            }
            _ => return Err(None),
        };
        self.add(line, label, described).map_err(Some)
    }

    fn other(&self, text: &str) -> Result<u64, Option<String>> {
        self.rank_number(text).map(u64::from).map_err(Some)
    }

    fn add(&mut self, line: u64, label: Option<&str>, described: Described) -> Result<(), String> {
        let (Some((rank, labels)), Some(ranks)) = (&mut self.current, &mut self.ranks) else { return Ok(()) };
        let number = ranks.add(*rank, line, described)?;
        match label.and_then(|label| labels.insert(label.into(), number)) {
            Some(_) => Err(format!("rank {rank} has two operations {}", excerpt(label.unwrap_or_default()))),
            None => Ok(()),
        }
    }

    fn wait(&mut self, one: &str, other: &str, on: On) -> Result<(), String> {
        let (Some((rank, labels)), Some(ranks)) = (&self.current, &mut self.ranks) else { return Ok(()) };
        let named = |label: &str| {
            labels
                .get(label)
                .copied()
                .ok_or_else(|| format!("rank {rank} has no operation {} above this", excerpt(label)))
        };
        ranks.wait(*rank, named(one)?, named(other)?, on);
        Ok(())
    }

    /// All operations, after this number of lines.
    pub fn finish(self, lines: u64) -> Result<Ranks, (u64, String)> {
        match (self.ranks, self.current) {
            _ if self.in_comment => Err((lines, "the file ends within a comment: `*/` is missing".into())),
            (_, Some((rank, _))) => Err((lines, format!("the file ends within rank {rank}: `}}` is missing"))),
            (None, None) => Err((lines, "expected `num_ranks N`".into())),
            (Some(ranks), None) if ranks.is_empty() => Err((lines, "the trace has no operations".into())),
            (Some(ranks), None) => Ok(ranks),
        }
    }
}

/// A number after a word; zero without it. Other words of LogGOPSim's have no meaning here.
fn option(words: &[&str], name: &str) -> Option<u64> {
    let pairs = words.chunks_exact(2);
    if !pairs.remainder().is_empty() || !pairs.clone().all(|pair| matches!(pair[0], "tag" | "cpu" | "nic")) {
        return None;
    }
    pairs.clone().find(|pair| pair[0] == name).map_or(Some(0), |pair| whole(pair[1]))
}
