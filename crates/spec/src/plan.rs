//! A plan of placement: which replicas of objects lie elsewhere than they were put, as a table with the header
//! `object,from,to,reason`, in the order in which they are moved. Objects count from zero, hosts from the client, which is host 0.

use fanin_placement::{Move, Object, Reason, Server};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::problem::{Origin, Problem, excerpt};
use crate::rows::{Row, rows};

/// A plan as it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    name: String,
    #[serde(with = "crate::packed::moves")]
    moves: Vec<Move>,
    /// Where each stands in the file, counted from one.
    lines: Vec<usize>,
    digest: String,
}

/// A plan is at most so long.
const MOVES_MAX: usize = 10_000_000;
const HEADER: &str = "object,from,to,reason";
const FORM: &str = "expected `object,from,to,reason`, such as `17,3,20,popular`";
const REASONS: [(&str, Reason); 2] = [("popular", Reason::Popular), ("correlated", Reason::Correlated)];

impl Plan {
    /// Reads a plan; `name` is how the user calls the file. Blank lines are passed over.
    ///
    /// # Errors
    /// The first line that is not understood, and what was expected there.
    pub fn parse(name: &str, text: &str) -> Result<Plan, Problem> {
        let at = |line, what: String| Problem::new(&Origin::File { name: name.into(), line }, what);
        let mut rows = rows(text.trim_start_matches('\u{feff}'));
        match rows.next() {
            Some(header) if header.fields().join(",") == HEADER => {}
            Some(other) => {
                return Err(at(other.line, format!("expected the header `{HEADER}`; this is {}", excerpt(other.text))));
            }
            None => return Err(at(1, format!("expected the header `{HEADER}`"))),
        }
        let (mut moves, mut digest) = (Vec::new(), Sha256::new());
        let mut places = Vec::new();
        for row in rows {
            let of = read(&row).map_err(|what| at(row.line, what))?;
            if moves.len() == MOVES_MAX {
                return Err(at(row.line, format!("a plan has at most {MOVES_MAX} moves")));
            }
            digest.update(format!("{} {} {}\n", of.object.0, of.from.0, of.to.0));
            moves.push(of);
            places.push(row.line);
        }
        let digest = hex::encode(digest.finalize());
        Ok(Plan { name: name.into(), moves, lines: places, digest })
    }

    /// Its moves, in their order.
    pub fn moves(&self) -> &[Move] {
        &self.moves
    }

    /// What is wrong with one of its moves, by its place among them.
    pub fn problem(&self, number: usize, what: String) -> Problem {
        Problem::new(&Origin::File { name: self.name.clone(), line: self.lines[number] }, what)
    }

    /// SHA-256 over what it moves: what a run follows from, whatever the file's name and the reasons.
    pub(crate) fn digest(&self) -> &str {
        &self.digest
    }
}

/// A row's move, or what is wrong with it.
fn read(row: &Row) -> Result<Move, String> {
    let [object, from, to, reason] = row.fields()[..] else {
        return Err(format!("{FORM}; this is {}", excerpt(row.text)));
    };
    let number = |text: &str| {
        let number = text.parse::<u32>().ok().filter(|_| text.bytes().all(|b| b.is_ascii_digit()));
        number.ok_or_else(|| format!("{FORM}; {} is not a number of an object or a host", excerpt(text)))
    };
    let known = REASONS.iter().find(|(word, _)| *word == reason);
    let &(_, reason) = known
        .ok_or_else(|| format!("{FORM}; {} is no reason: right would be popular or correlated", excerpt(reason)))?;
    let (object, from, to) = (Object(number(object)?), Server(number(from)?), Server(number(to)?));
    if from == to {
        return Err(format!("object {} from host {} to itself is no move", object.0, from.0));
    }
    Ok(Move { object, from, to, reason })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_plan_is_its_moves_in_their_order() {
        let plan = Plan::parse("p.csv", "object,from,to,reason\n7,1,2,popular\n\n8, 3, 4, correlated\n").unwrap();
        let of = |object, from, to, reason| Move { object: Object(object), from: Server(from), to: Server(to), reason };
        assert_eq!(plan.moves(), [of(7, 1, 2, Reason::Popular), of(8, 3, 4, Reason::Correlated)]);
        assert_eq!(plan.problem(1, "wrong".into()).to_string(), "p.csv:4: wrong");
        assert_eq!(Plan::parse("p.csv", "object,from,to,reason\n").unwrap().moves(), [], "nothing has to move");
    }

    #[test]
    fn what_is_no_plan_is_told_with_its_line() {
        for (text, told) in [
            ("", "p.csv:1: expected the header `object,from,to,reason`"),
            ("object,from,to\n", "p.csv:1: expected the header `object,from,to,reason`; this is `object,from,to`"),
            ("object,from,to,reason\n1,2,3\n", "p.csv:2: expected `object,from,to,reason`, such as"),
            ("object,from,to,reason\n\n1,-2,3,popular\n", "p.csv:3: expected"),
            ("object,from,to,reason\n1,2,4294967296,popular\n", "`4294967296` is not a number of an object or a host"),
            ("object,from,to,reason\n1,2,3,liked\n", "`liked` is no reason: right would be popular or correlated"),
            ("object,from,to,reason\n1,2,2,popular\n", "p.csv:2: object 1 from host 2 to itself is no move"),
        ] {
            let message = Plan::parse("p.csv", text).unwrap_err().to_string();
            assert!(message.contains(told), "{text:?} says {message}");
        }
    }

    #[test]
    fn a_runs_hash_goes_by_what_a_plan_moves() {
        let digest = |text: &str| Plan::parse("p.csv", &format!("object,from,to,reason\n{text}")).unwrap().digest;
        assert_eq!(digest("1,2,3,popular\n"), digest("\n1, 2, 3, correlated"));
        assert_ne!(digest("1,2,3,popular\n"), digest("1,2,4,popular\n"));
    }

    proptest! {
        #[test]
        fn whatever_a_plan_holds_reading_it_ends_in_moves_or_in_one_message_with_its_line(pieces in prop::collection::vec(
            prop_oneof![
                8 => prop::sample::select(&[
                    "object,from,to,reason\n", "1,2,3,popular\n", "7,3,20,correlated\n", ",", "\n", " ", "0", "4294967295", "4294967296",
                    "-1", "+1", "1.5", "popular", "correlated", "liked", "\u{feff}", "\r\n", "\"",
                ][..]).prop_map(String::from),
                1 => ".{0,4}",
            ], 0..30))
        {
            let text = pieces.concat();
            match Plan::parse("p.csv", &text) {
                Ok(plan) => {
                    prop_assert_eq!(plan.moves.len(), plan.lines.len());
                    prop_assert!(plan.moves.iter().all(|of| of.from != of.to));
                    // Written again it is the same.
                    let word = |reason| REASONS.iter().find(|(_, of)| *of == reason).unwrap().0;
                    let row = |of: &Move| format!("{},{},{},{}\n", of.object.0, of.from.0, of.to.0, word(of.reason));
                    let again = format!("{HEADER}\n{}", plan.moves.iter().map(row).collect::<String>());
                    prop_assert_eq!(&Plan::parse("p.csv", &again).unwrap().moves, &plan.moves);
                }
                Err(Problem { origin: Origin::File { line, .. }, what }) => {
                    prop_assert!((1..=text.lines().count().max(1)).contains(&line), "line {line}: {what}");
                    prop_assert!(!what.is_empty() && !what.contains('\n'), "{what:?}");
                }
                Err(problem) => prop_assert!(false, "no line: {problem}"),
            }
        }
    }
}
