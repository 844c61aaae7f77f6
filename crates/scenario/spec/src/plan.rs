//! A placement plan, as a file in one of two formats. A table with the header `object,from,to,reason` lists moves in order. A table
//! with the header `key,server` lists replicas, one per line; objects are numbered in the order of their keys. Further columns are
//! ignored, so `plan.csv` and `placement.csv` of `fanin plan` can be used. Objects count from zero; hosts from the client, host 0.

use std::collections::BTreeMap;

use fanin_placement::{Move, Object, Reason, Server};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::problem::{Origin, Problem, excerpt};
use crate::rows::{Row, rows};

/// A placement plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    name: String,
    #[serde(with = "crate::packed::moves")]
    moves: Vec<Move>,
    /// The hosts of the first objects' replicas.
    homes: Vec<Vec<u32>>,
    /// Line of each move or object in the file, from one.
    lines: Vec<usize>,
    digest: String,
}

/// Maximum number of rows.
const ROWS_MAX: usize = 10_000_000;
const HEADER: &str = "object,from,to,reason";
const PLACES: &str = "key,server";
const FORM: &str = "expected `object,from,to,reason`, such as `17,3,20,popular`";
const REASONS: [(&str, Reason); 2] = [("popular", Reason::Popular), ("correlated", Reason::Correlated)];

impl Plan {
    /// Parses a plan; `name` is the file's path as the user gave it. Skips blank lines.
    ///
    /// # Errors
    /// The first invalid line.
    pub fn parse(name: &str, text: &str) -> Result<Plan, Problem> {
        let at = |line, what: String| Problem::new(&Origin::File { name: name.into(), line }, what);
        let mut rows = rows(text.trim_start_matches('\u{feff}'));
        let expected = || format!("expected the header `{HEADER}` or `{PLACES}`");
        let header = rows.next().ok_or_else(|| at(1, expected()))?;
        let columns = header.fields().join(",") + ",";
        let begins = |with: &str| columns.starts_with(&format!("{with},"));
        let mut plan =
            Plan { name: name.into(), moves: Vec::new(), homes: Vec::new(), lines: Vec::new(), digest: String::new() };
        let mut rows = rows.zip(1..).map(|(row, count)| match count > ROWS_MAX {
            true => Err(at(row.line, format!("a plan has at most {ROWS_MAX} rows"))),
            false => Ok(row),
        });
        let told = |(line, what)| at(line, what);
        if begins(HEADER) {
            rows.try_for_each(|row| plan.moved(&row?).map_err(told))?;
        } else if begins(PLACES) {
            let mut numbers = BTreeMap::new();
            rows.try_for_each(|row| plan.placed(&row?, &mut numbers).map_err(told))?;
        } else {
            return Err(at(header.line, format!("{}; this is {}", expected(), excerpt(header.text))));
        }
        plan.digest = plan.digested();
        Ok(plan)
    }

    /// Adds a row's move.
    fn moved(&mut self, row: &Row) -> Result<(), (usize, String)> {
        self.moves.push(read(row).map_err(|what| (row.line, what))?);
        self.lines.push(row.line);
        Ok(())
    }

    /// Adds a replica's server; assigns numbers to new keys.
    fn placed(&mut self, row: &Row, numbers: &mut BTreeMap<String, usize>) -> Result<(), (usize, String)> {
        let fields = row.fields();
        let host = fields.get(1).and_then(|host| host.parse::<u32>().ok());
        let (Some(&key), Some(host)) = (fields.first(), host) else {
            let what = format!(
                "expected a key and the number of its server, such as `user:7,3`; this is {}",
                excerpt(row.text)
            );
            return Err((row.line, what));
        };
        let next = self.homes.len();
        let number = *numbers.entry(key.to_string()).or_insert(next);
        if number == next {
            self.homes.push(Vec::new());
            self.lines.push(row.line);
        }
        self.homes[number].push(host);
        Ok(())
    }

    fn digested(&self) -> String {
        let mut digest = Sha256::new();
        for of in &self.moves {
            digest.update(format!("{} {} {}\n", of.object.0, of.from.0, of.to.0));
        }
        for hosts in &self.homes {
            digest.update(format!("{hosts:?}\n"));
        }
        hex::encode(digest.finalize())
    }

    /// Hosts of the first objects' replicas, by object; empty for a list of moves.
    pub fn homes(&self) -> &[Vec<u32>] {
        &self.homes
    }

    /// The moves, in order.
    pub fn moves(&self) -> &[Move] {
        &self.moves
    }

    /// An error in a move or object, by its number.
    pub fn problem(&self, number: usize, what: String) -> Problem {
        Problem::new(&Origin::File { name: self.name.clone(), line: self.lines[number] }, what)
    }

    /// SHA-256 of its moves, independent of the file's name and the reasons, for the run's name.
    pub(crate) fn digest(&self) -> &str {
        &self.digest
    }
}

/// A row's move, or the error in it.
fn read(row: &Row) -> Result<Move, String> {
    let [object, from, to, reason, ..] = row.fields()[..] else {
        return Err(format!("{FORM}; this is {}", excerpt(row.text)));
    };
    let number = |text: &str| {
        let number = text.parse::<u32>().ok().filter(|_| text.bytes().all(|b| b.is_ascii_digit()));
        number.ok_or_else(|| format!("{FORM}; {} is not a number of an object or a host", excerpt(text)))
    };
    let known = REASONS.iter().find(|(word, _)| *word == reason);
    let &(_, reason) =
        known.ok_or_else(|| format!("{FORM}; {} is not a reason: use popular or correlated", excerpt(reason)))?;
    let (object, from, to) = (Object(number(object)?), Server(number(from)?), Server(number(to)?));
    if from == to {
        return Err(format!("object {} moves from host {} to itself", object.0, from.0));
    }
    Ok(Move { object, from, to, reason })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parses_moves_in_order() {
        let plan = Plan::parse("p.csv", "object,from,to,reason\n7,1,2,popular\n\n8, 3, 4, correlated\n").unwrap();
        let of = |object, from, to, reason| Move { object: Object(object), from: Server(from), to: Server(to), reason };
        assert_eq!(plan.moves(), [of(7, 1, 2, Reason::Popular), of(8, 3, 4, Reason::Correlated)]);
        assert_eq!(plan.problem(1, "wrong".into()).to_string(), "p.csv:4: wrong");
        assert_eq!(Plan::parse("p.csv", "object,from,to,reason\n").unwrap().moves(), [], "nothing has to move");
    }

    #[test]
    fn ignores_further_columns() {
        let plan = Plan::parse("plan.csv", "object,from,to,reason,key\n7,1,2,popular,\"user:7,x\"\n").unwrap();
        assert_eq!((plan.moves().len(), plan.homes()), (1, &[][..]));
    }

    #[test]
    fn numbers_objects_in_order_of_their_keys() {
        let text = "key,server,was\nb,3,\nb,1,2\na,2,\n\"c,d\",4,\na,5,1\n";
        let plan = Plan::parse("placement.csv", text).unwrap();
        assert_eq!((plan.homes(), plan.moves()), (&[vec![3, 1], vec![2, 5], vec![4]][..], &[][..]));
        assert_eq!(plan.problem(2, "wrong".into()).to_string(), "placement.csv:5: wrong");
        let other = Plan::parse("placement.csv", &text.replace("a,5,1", "a,6,1")).unwrap();
        assert_ne!(plan.digest, other.digest);
    }

    #[test]
    fn reports_the_line_of_an_error() {
        for (text, told) in [
            ("", "p.csv:1: expected the header `object,from,to,reason` or `key,server`"),
            (
                "object,from,to\n",
                "p.csv:1: expected the header `object,from,to,reason` or `key,server`; this is `object,from,to`",
            ),
            ("keys,server\n", "p.csv:1: expected the header"),
            ("key,server\na,1\na,first\n", "p.csv:3: expected a key and the number of its server"),
            ("object,from,to,reason\n1,2,3\n", "p.csv:2: expected `object,from,to,reason`, such as"),
            ("object,from,to,reason\n\n1,-2,3,popular\n", "p.csv:3: expected"),
            ("object,from,to,reason\n1,2,4294967296,popular\n", "`4294967296` is not a number of an object or a host"),
            ("object,from,to,reason\n1,2,3,liked\n", "`liked` is not a reason: use popular or correlated"),
            ("object,from,to,reason\n1,2,2,popular\n", "p.csv:2: object 1 moves from host 2 to itself"),
        ] {
            let message = Plan::parse("p.csv", text).unwrap_err().to_string();
            assert!(message.contains(told), "{text:?} says {message}");
        }
    }

    #[test]
    fn names_runs_by_the_moves() {
        let digest = |text: &str| Plan::parse("p.csv", &format!("object,from,to,reason\n{text}")).unwrap().digest;
        assert_eq!(digest("1,2,3,popular\n"), digest("\n1, 2, 3, correlated"));
        assert_ne!(digest("1,2,3,popular\n"), digest("1,2,4,popular\n"));
    }

    proptest! {
        #![proptest_config(fanin_testing::cases(256))]

        #[test]
        fn parses_any_text_or_names_a_line(pieces in prop::collection::vec(
            prop_oneof![
                8 => prop::sample::select(&[
                    "object,from,to,reason\n", "key,server\n", "a,1\n", "1,2,3,popular\n", "7,3,20,correlated\n", ",", "\n", " ", "0", "4294967295", "4294967296",
                    "-1", "+1", "1.5", "popular", "correlated", "liked", "\u{feff}", "\r\n", "\"",
                ][..]).prop_map(String::from),
                1 => ".{0,4}",
            ], 0..30))
        {
            let text = pieces.concat();
            match Plan::parse("p.csv", &text) {
                Ok(plan) => {
                    prop_assert_eq!(plan.moves.len() + plan.homes.len(), plan.lines.len());
                    prop_assert!(plan.homes.iter().all(|hosts| !hosts.is_empty()));
                    prop_assert!(plan.moves.iter().all(|of| of.from != of.to));
                // Printing and parsing gives the same plan.
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
