//! Traces: for each rank of a parallel program, sends, receives and computations that wait for one another. Read from GOAL's text form
//! (Hoefler, Siebert, Lumsdaine: "Group Operation Assembly Language", ICPP 2009), as the tools of LogGOPSim and ATLAHS write it:
//!
//! ```text
//! num_ranks 2
//! rank 0 {
//! a: calc 1000
//! b: send 4096b to 1 tag 7
//! b requires a
//! }
//! rank 1 {
//! recv 4096b from 0 tag 7
//! }
//! ```

mod goal;
mod operation;
mod progress;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::problem::{Origin, Problem};
use goal::{Reader, join_messages};
pub use operation::{On, Operation, Work};
pub use progress::Progress;
use progress::find_deadlock;

/// A file of operations by rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    name: String,
    ranks: Vec<Vec<Operation>>,
    digest: String,
}

impl Trace {
    /// Parses a trace; `name` is the file's path as the user gave it. The n-th send from one rank to another with a tag is for the n-th
    /// receive of that tag there.
    ///
    /// # Errors
    /// The first invalid line, a message without its counterpart, or an operation that can never start.
    pub fn parse(name: &str, text: &str) -> Result<Trace, Problem> {
        let mut reader = Reader::default();
        for (line, row) in (1..).zip(text.lines()) {
            let at = |what: String| Problem::new(&Origin::File { name: name.into(), line }, what);
            reader.read(line, row.trim()).map_err(at)?;
        }
        let of = |(line, what): (usize, String)| Problem::new(&Origin::File { name: name.into(), line }, what);
        let mut ranks = reader.finish(text.lines().count().max(1)).map_err(of)?;
        join_messages(&mut ranks.operations, &ranks.messages).map_err(of)?;
        find_deadlock(&ranks.operations).map_err(of)?;
        let digest = hex::encode(Sha256::digest(text.as_bytes()));
        Ok(Trace { name: name.into(), ranks: ranks.operations, digest })
    }

    /// The file's name, as given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Operations by rank; ranks are hosts.
    pub fn ranks(&self) -> &[Vec<Operation>] {
        &self.ranks
    }

    /// SHA-256 of the file, for the run's name.
    pub(crate) fn digest(&self) -> &str {
        &self.digest
    }

    /// Number of hosts: at least two.
    pub(crate) fn hosts(&self) -> u32 {
        self.ranks.len().max(2) as u32
    }

    /// Number of messages, and their bytes together.
    pub(crate) fn sums(&self) -> (f64, f64) {
        let sent = |operation: &Operation| match operation.work {
            Work::Send { bytes, .. } => Some(bytes as f64),
            Work::Calc { .. } | Work::Receive => None,
        };
        self.ranks.iter().flatten().filter_map(sent).fold((0.0, 0.0), |(count, sum), bytes| (count + 1.0, sum + bytes))
    }

    /// Refuses ranks without hosts.
    pub(crate) fn fit(&self, hosts: u32) -> Result<(), Problem> {
        if self.ranks.len() <= hosts as usize {
            return Ok(());
        }
        let what = format!("{} ranks, but the cluster has {hosts} hosts", self.ranks.len());
        Err(Problem::new(&Origin::File { name: self.name.clone(), line: 1 }, what))
    }
}

#[cfg(test)]
mod tests {
    use fanin_units::Time;

    use super::*;

    const PING: &str = "num_ranks 2\nrank 0 {\na: calc 1000\nb: send 4096b to 1 tag 7 cpu 0 nic 0\nb requires a\n}\n// then\nrank 1 {\n\
                        recv 4096b from 0 tag 7\n}\n";

    fn refused(text: &str) -> (usize, String) {
        match Trace::parse("x.goal", text).unwrap_err() {
            Problem { origin: Origin::File { line, name }, what } => {
                assert_eq!(name, "x.goal");
                (line, what)
            }
            other => panic!("{other}"),
        }
    }

    #[test]
    fn sends_know_their_receives() {
        let trace = Trace::parse("x.goal", PING).unwrap();
        assert_eq!(trace.ranks()[0][0].work, Work::Calc { time: Time::from_micros(1), cpu: 0 });
        assert_eq!(trace.ranks()[0][1].work, Work::Send { to: 1, bytes: 4_096, at: 0 });
        assert_eq!(trace.ranks()[0][1].waits, [(0, On::End)]);
        assert_eq!((trace.hosts(), trace.sums()), (2, (1.0, 4_096.0)));
    }

    #[test]
    fn messages_of_a_tag_meet_in_their_order() {
        let text = "num_ranks 2\nrank 0 {\nsend 1b to 1 tag 1\nsend 2b to 1 tag 1\nsend 3b to 1\n}\nrank 1 {\nrecv 3b from 0\nrecv 1b from 0 tag 1\n\
                    recv 2b from 0 tag 1\n}\n";
        let trace = Trace::parse("x.goal", text).unwrap();
        let at = |operation: &Operation| match operation.work {
            Work::Send { at, .. } => at,
            _ => panic!("{operation:?}"),
        };
        assert_eq!(trace.ranks()[0].iter().map(at).collect::<Vec<_>>(), [1, 2, 0]);
    }

    #[test]
    fn refuses_with_the_line() {
        for (line, text) in [
            (1, ""),
            (1, "rank 0 {\n}\n"),
            (1, "num_ranks 0\n"),
            (2, "num_ranks 1\nrank 1 {\n"),
            (3, "num_ranks 1\nrank 0 {\n}\n"),
            (3, "num_ranks 1\nrank 0 {\ncalc 1\n"),
            (3, "num_ranks 1\nrank 0 {\ncalc -1\n}\n"),
            (3, "num_ranks 2\nrank 0 {\nsend 1 to 1\n}\n"),
            (3, "num_ranks 2\nrank 0 {\nsend 1b to 0\n}\n"),
            (3, "num_ranks 2\nrank 0 {\nsend 1b to 2\n}\n"),
            (3, "num_ranks 2\nrank 0 {\nsend 1b to 1 tag\n}\n"),
            (3, "num_ranks 2\nrank 0 {\nsend 99999999999999999999b to 1\n}\n"),
            (4, "num_ranks 1\nrank 0 {\na: calc 1\na: calc 2\n}\n"),
            (4, "num_ranks 1\nrank 0 {\na: calc 1\na requires b\n}\n"),
            // A send without a receive, a receive without a send, and one of other bytes.
            (3, "num_ranks 2\nrank 0 {\nsend 1b to 1\n}\n"),
            (3, "num_ranks 2\nrank 1 {\nrecv 1b from 0\n}\n"),
            (6, "num_ranks 2\nrank 0 {\nsend 1b to 1\n}\nrank 1 {\nrecv 2b from 0\n}\n"),
            // Operations that wait for one another: of one rank, and of two.
            (3, "num_ranks 1\nrank 0 {\na: calc 10\nb: calc 10\na requires b\nb requires a\n}\n"),
            (
                4,
                "num_ranks 2\nrank 0 {\na: recv 1b from 1\nb: send 1b to 1\nb requires a\n}\nrank 1 {\nc: recv 1b from 0\nd: send 1b to 0\n\
                 d requires c\n}\n",
            ),
        ] {
            assert_eq!(refused(text).0, line, "{text}: {}", refused(text).1);
        }
    }

    #[test]
    fn starts_are_enough_for_irequires() {
        let text = "num_ranks 2\nrank 0 {\na: recv 1b from 1\nb: send 1b to 1\nb irequires a\n}\nrank 1 {\nc: recv 1b from 0\nd: send 1b to 0\n\
                    d irequires c\n}\n";
        assert!(Trace::parse("x.goal", text).is_ok());
    }
}
