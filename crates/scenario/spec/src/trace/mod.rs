//! Traces: for each rank of a parallel program, sends, receives, computations and collective operations that wait for one another. Read from
//! Chakra's execution traces, SimAI's workload files, and GOAL's binary and text form (Hoefler, Siebert, Lumsdaine: "Group Operation
//! Assembly Language", ICPP 2009), as the tools of LogGOPSim and ATLAHS write it:
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

mod binary;
mod chakra;
mod goal;
mod operation;
mod progress;
mod protobuf;
mod ranks;
mod simai;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::flows::whole;
use crate::problem::{Origin, Problem};
use crate::range::FAN_IN_MAX;
use goal::Reader;
pub use operation::{Collective, CollectiveKind, On, Operation, Work};
pub use progress::Progress;
use progress::find_deadlock;
use ranks::{Fault, Ranks};

/// Operations by rank, from one file or from a file of each rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    name: String,
    ranks: Vec<Vec<Operation>>,
    collectives: Vec<Collective>,
    groups: Vec<Vec<u32>>,
    digest: String,
}

/// Reads a file: returns its name for messages, and its contents.
type ReadFile<'a> = dyn Fn(&str) -> Result<(String, Vec<u8>), Problem> + 'a;

/// Where a form of file says that an operation is.
type Place = fn(String, &Fault) -> Origin;

/// A number of GOAL's binary form.
fn numbered(name: String, fault: &Fault) -> Origin {
    let entry = match fault.place {
        Some(number) => format!("rank {}, operation {number}", fault.rank),
        None => format!("rank {}", fault.rank),
    };
    Origin::Entry { name, entry }
}

/// An id of Chakra's nodes.
fn identified(name: String, fault: &Fault) -> Origin {
    let entry = fault.place.map_or_else(|| format!("rank {}", fault.rank), |id| format!("node {id}"));
    Origin::Entry { name, entry }
}

impl Trace {
    /// Reads a trace from these paths: `read` returns a file's name for messages and its contents. A name that ends with `.et` is Chakra's,
    /// and there may be one for each rank; another file is GOAL's, binary or text.
    ///
    /// # Errors
    /// Files that cannot be read, and those of [`Trace::parse`], with the file and the operation.
    pub fn read(paths: &[String], read: &ReadFile) -> Result<Trace, Problem> {
        if let [path] = paths
            && !path.ends_with(".et")
        {
            let (name, file) = read(path)?;
            if binary::is_binary(&file) {
                let of = |fault: Fault| Problem::new(&numbered(name.clone(), &fault), fault.what);
                let ranks = binary::read(&file).map_err(of)?;
                return Trace::joined(&[name], ranks, numbered, Sha256::new_with_prefix(file));
            }
            return match String::from_utf8(file) {
                Ok(text) => Trace::parse(&name, &text),
                Err(_) => Err(Problem::new(&Origin::Default, format!("{name} is neither text nor GOAL's binary form"))),
            };
        }
        let (mut names, mut digest) = (Vec::new(), Sha256::new());
        let many = |what: String| Problem::new(&Origin::Default, what);
        let mut reader = chakra::Reader::new(paths.len() as u64).map_err(many)?;
        for (rank, path) in (0..).zip(paths) {
            let (name, file) = read(path)?;
            let of = |fault: Fault| Problem::new(&identified(name.clone(), &fault), fault.what);
            reader.read(rank, &file).map_err(of)?;
            digest.update(&file);
            names.push(name);
        }
        let ranks = reader.finish();
        if ranks.is_empty() {
            return Err(Problem::new(&Origin::Default, format!("{}: the trace has no operations", names[0])));
        }
        Trace::joined(&names, ranks, identified, digest)
    }

    /// Parses a trace in GOAL's text form, or a workload file of SimAI's; `name` is the file's path as the user gave it. The n-th send from one rank to another with a tag
    /// is for the n-th receive of that tag there.
    ///
    /// # Errors
    /// The first invalid line, a message without its counterpart, or an operation that can never start.
    pub fn parse(name: &str, text: &str) -> Result<Trace, Problem> {
        let at =
            |(line, what): (u64, String)| Problem::new(&Origin::File { name: name.into(), line: line as usize }, what);
        let line = |name, fault: &Fault| Origin::File { name, line: fault.place.unwrap_or(1) as usize };
        let digest = Sha256::new_with_prefix(text);
        if simai::is_simai(text) {
            return Trace::joined(&[name.into()], simai::read(text).map_err(at)?, line, digest);
        }
        let mut reader = Reader::default();
        for (line, row) in (1..).zip(text.lines()) {
            reader.read(line, row.trim()).map_err(|what| at((line, what)))?;
        }
        let ranks = reader.finish(text.lines().count().max(1) as u64).map_err(at)?;
        Trace::joined(&[name.into()], ranks, line, digest)
    }

    /// A trace of one file, or one for each rank, whose messages have counterparts and whose operations all start.
    fn joined(names: &[String], mut ranks: Ranks, place: Place, digest: Sha256) -> Result<Trace, Problem> {
        let refused = |fault: Fault| {
            let name = names.get(fault.rank as usize).unwrap_or(&names[0]);
            Problem::new(&place(name.clone(), &fault), fault.what)
        };
        ranks.join_messages().map_err(refused)?;
        find_deadlock(&ranks).map_err(refused)?;
        let Ranks { operations, collectives, groups, .. } = ranks;
        let digest = hex::encode(digest.finalize());
        Ok(Trace { name: names[0].clone(), ranks: operations, collectives, groups, digest })
    }

    /// The file's name, as given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Operations by rank; ranks are hosts.
    pub fn ranks(&self) -> &[Vec<Operation>] {
        &self.ranks
    }

    /// Collective operations, by number.
    pub fn collectives(&self) -> &[Collective] {
        &self.collectives
    }

    /// Ranks of a collective operation, in ascending order.
    pub fn members(&self, collective: &Collective) -> &[u32] {
        &self.groups[collective.group as usize]
    }

    /// SHA-256 of the files, for the run's name.
    pub(crate) fn digest(&self) -> &str {
        &self.digest
    }

    /// Number of hosts: at least two.
    pub(crate) fn hosts(&self) -> u32 {
        self.ranks.len().max(2) as u32
    }

    /// Number of sends, and their bytes together.
    pub(crate) fn sums(&self) -> (f64, f64) {
        let sent = |operation: &Operation| match operation.work {
            Work::Send { bytes, .. } => Some(bytes as f64),
            Work::Calc { .. } | Work::Receive | Work::Collective(_) => None,
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

/// The paths of a trace: `step.{0..7}.et` is a file for each of eight ranks.
pub(crate) fn paths(path: &str) -> Result<Vec<String>, String> {
    let Some((before, rest)) = path.split_once("{0..") else { return Ok(vec![path.into()]) };
    let named = rest.split_once('}').and_then(|(last, after)| Some((whole(last)?, after)));
    match named.filter(|&(last, _)| last <= u64::from(FAN_IN_MAX)) {
        Some((last, after)) if after.ends_with(".et") => {
            Ok((0..=last).map(|rank| format!("{before}{rank}{after}")).collect())
        }
        Some(_) => Err("several files are a trace of Chakra's: use a name that ends with `.et`".into()),
        None => {
            Err(format!("use `{{0..N}}` with the last rank, up to {FAN_IN_MAX}, in a name such as step.{{0..7}}.et"))
        }
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
            (4, "num_ranks 1\nrank 0 {\ncalc 1 /* and\n}\n"),
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
    fn comments_have_no_effect() {
        let commented = PING
            .replace("}\n// then\n", "/* b\nrequires a */ } // then /*\n")
            .replace("a: calc 1000", "a: /* 1 */ calc 1000 # us");
        let ranks = |text: &str| Trace::parse("x.goal", text).unwrap().ranks().to_vec();
        let works = |text: &str| ranks(text).iter().flatten().map(|operation| operation.work).collect::<Vec<_>>();
        assert_eq!(works(&commented), works(PING));
    }

    #[test]
    fn starts_are_enough_for_irequires() {
        let text = "num_ranks 2\nrank 0 {\na: recv 1b from 1\nb: send 1b to 1\nb irequires a\n}\nrank 1 {\nc: recv 1b from 0\nd: send 1b to 0\n\
                    d irequires c\n}\n";
        assert!(Trace::parse("x.goal", text).is_ok());
    }
}
