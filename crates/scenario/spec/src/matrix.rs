//! Bytes that hosts send one another in all-to-alls: a CSV file with a line for each pair of hosts.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::flows::{BYTES_MAX, whole};
use crate::problem::{Origin, Problem, excerpt};
use crate::range::FAN_IN_MAX;
use crate::rows::rows;

/// Bytes that one host sends to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// Source host, counted from zero.
    pub from: u32,
    /// Destination host.
    pub to: u32,
    /// Bytes, at least one.
    pub bytes: u64,
}

/// A file with one or several matrices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Matrix {
    name: String,
    operations: Vec<Vec<Cell>>,
    /// Largest host, and its line.
    largest: (u32, usize),
    digest: String,
}

const ONE: &str = "src,dst,bytes";
const SEVERAL: &str = "operation,src,dst,bytes";
/// Most lines.
const LINES_MAX: usize = 10_000_000;

impl Matrix {
    /// Parses matrices; `name` is the file's path as the user gave it. Skips blank lines, lines with 0 bytes, and bytes that stay at their host.
    ///
    /// # Errors
    /// The first invalid line, or an operation that moves nothing.
    pub fn parse(name: &str, text: &str) -> Result<Matrix, Problem> {
        let at = |line, what: String| Problem::new(&Origin::File { name: name.into(), line }, what);
        let mut rows = rows(text.trim_start_matches('\u{feff}'));
        let (first, header) = rows.next().map_or((1, String::new()), |row| (row.line, row.fields().join(",")));
        let several = match header.as_str() {
            ONE => false,
            SEVERAL => true,
            other => {
                return Err(at(
                    first,
                    format!("expected the header `{ONE}` or `{SEVERAL}`; this is {}", excerpt(other)),
                ));
            }
        };
        let mut matrix =
            Matrix { name: name.into(), operations: Vec::new(), largest: (0, first), digest: String::new() };
        let mut operations = 0;
        for (count, row) in rows.enumerate() {
            let numbers: Option<Vec<u64>> = row.fields().iter().map(|field| whole(field)).collect();
            let numbers = numbers.filter(|numbers| numbers.len() == 3 + usize::from(several)).unwrap_or_default();
            let (operation, cell) = match *numbers.as_slice() {
                [from, to, bytes] => (0, [from, to, bytes]),
                [operation, from, to, bytes] => (operation, [from, to, bytes]),
                _ => {
                    let header = if several { SEVERAL } else { ONE };
                    let what = format!("expected whole numbers `{header}`; this is {}", excerpt(row.text));
                    return Err(at(row.line, what));
                }
            };
            if count == LINES_MAX {
                return Err(at(row.line, format!("use at most {LINES_MAX} lines")));
            }
            operations = match operation {
                of if of + 1 == operations || of == operations => of + 1,
                of => {
                    let what = format!(
                        "operation {of} follows {operations} operations: count from 0, in the order of the lines"
                    );
                    return Err(at(row.line, what));
                }
            };
            matrix.operations.resize(operations as usize, Vec::new());
            matrix.add(operation as usize, cell, row.line).map_err(|what| at(row.line, what))?;
        }
        match matrix.operations.iter().position(|cells| cells.is_empty()) {
            _ if matrix.operations.is_empty() => Err(at(first, "the table has no lines".into())),
            Some(empty) => Err(at(first, format!("operation {empty} moves nothing between hosts"))),
            None => Ok(matrix.digested()),
        }
    }

    fn add(&mut self, operation: usize, [from, to, bytes]: [u64; 3], line: usize) -> Result<(), String> {
        let largest = from.max(to);
        if largest > FAN_IN_MAX.into() {
            return Err(format!("host {largest}: use at most {}", FAN_IN_MAX));
        }
        if bytes > BYTES_MAX {
            return Err(format!("{bytes} B: use at most {BYTES_MAX}"));
        }
        if largest as u32 > self.largest.0 {
            self.largest = (largest as u32, line);
        }
        if from != to && bytes > 0 {
            self.operations[operation].push(Cell { from: from as u32, to: to as u32, bytes });
        }
        Ok(())
    }

    fn digested(mut self) -> Matrix {
        let mut digest = Sha256::new();
        for (operation, cells) in self.operations.iter().enumerate() {
            cells.iter().for_each(|c| digest.update(format!("{operation} {} {} {}\n", c.from, c.to, c.bytes)));
        }
        self.digest = hex::encode(digest.finalize());
        self
    }

    /// The file's name, as given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The cells of each operation, with no pair of hosts that sends nothing.
    pub fn operations(&self) -> &[Vec<Cell>] {
        &self.operations
    }

    /// Number of hosts: one more than the largest.
    pub(crate) fn hosts(&self) -> u32 {
        self.largest.0 + 1
    }

    /// SHA-256 of all cells, for the run's name.
    pub(crate) fn digest(&self) -> &str {
        &self.digest
    }

    /// Mean number of flows of an operation, and mean of their bytes together.
    pub(crate) fn mean(&self) -> (f64, f64) {
        let (cells, operations) = (self.operations.iter().flatten(), self.operations.len() as f64);
        (cells.clone().count() as f64 / operations, cells.map(|cell| cell.bytes as f64).sum::<f64>() / operations)
    }

    /// Refuses a host that does not exist.
    pub(crate) fn fit(&self, hosts: u32) -> Result<(), Problem> {
        let (largest, line) = self.largest;
        if largest < hosts {
            return Ok(());
        }
        let what = format!("host {largest} does not exist: the cluster has hosts 0 to {}", hosts - 1);
        Err(Problem::new(&Origin::File { name: self.name.clone(), line }, what))
    }
}
