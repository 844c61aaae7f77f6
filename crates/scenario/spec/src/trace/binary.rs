//! Reading of GOAL's binary form, as LogGOPSim's `txt2bin` writes it: a table of the ranks' places, and for each rank its operations, each with
//! the operations that wait for it. Integers are little-endian and not aligned.

use fanin_units::Time;

use super::operation::On;
use super::ranks::{Described, Fault, Ranks};

/// The first eight bytes.
const MAGIC: [u8; 8] = 4_223_u64.to_le_bytes();
/// Bytes of an operation.
const OPERATION: usize = 39;

/// Whether a file begins as this form does.
pub(super) fn is_binary(file: &[u8]) -> bool {
    file.starts_with(&MAGIC)
}

/// A rank's part of the file.
struct Part<'a> {
    operations: &'a [u8],
    /// Numbers of operations that wait for others.
    followers: &'a [u8],
}

/// All ranks.
pub(super) fn read(file: &[u8]) -> Result<Ranks, Fault> {
    let of_file = |what: String| Fault { rank: 0, place: None, what };
    let (_, body) = file.split_at(MAGIC.len());
    let cut = || of_file("the file ends within the table of ranks".into());
    let count = u32_at(body, 0).ok_or_else(cut)?;
    // Two places for each rank.
    if body.len() / 16 < count as usize {
        return Err(cut());
    }
    let mut ranks = Ranks::new(count.into()).map_err(of_file)?;
    let mut last_end = 0;
    for rank in 0..count {
        let of_rank = |what: &str| Fault { rank, place: None, what: what.into() };
        let at = 6 + 16 * rank as usize;
        let ends = u64_at(body, at).zip(u64_at(body, at + 8)).ok_or_else(cut)?;
        if ends.0 < last_end || ends.1 < ends.0 {
            return Err(of_rank("the table of ranks is not in ascending order"));
        }
        last_end = ends.1;
        let part = usize::try_from(ends.0).ok().zip(usize::try_from(ends.1).ok());
        let part = part.and_then(|(start, end)| body.get(start..end));
        let part = part.and_then(part_of).ok_or_else(|| of_rank("the file ends within this rank"))?;
        read_rank(&mut ranks, rank, &part)?;
    }
    Ok(ranks)
}

/// Divides a rank's part.
fn part_of(part: &[u8]) -> Option<Part<'_>> {
    let (count, roots) = (u32_at(part, 0)? as usize, u32_at(part, 4)? as usize);
    let operations = part.get(8 + 4 * roots..)?;
    let (operations, followers) = operations.split_at_checked(OPERATION * count)?;
    Some(Part { operations, followers })
}

fn read_rank(ranks: &mut Ranks, rank: u32, part: &Part) -> Result<(), Fault> {
    let fault = |number: usize, what: String| Fault { rank, place: Some(number as u64), what };
    for (number, bytes) in part.operations.chunks_exact(OPERATION).enumerate() {
        let described =
            described(bytes).ok_or_else(|| fault(number, format!("no operation has the type {}", bytes[4])))?;
        ranks.add(rank, number as u64, described).map_err(|what| fault(number, what))?;
    }
    let count = ranks.operations[rank as usize].len();
    let mut left = part.followers.len() / 4;
    for (number, bytes) in part.operations.chunks_exact(OPERATION).enumerate() {
        for (at, on) in [(23, On::End), (31, On::Start)] {
            let [followers, first] = [at, at + 4].map(|at| u32_at(bytes, at).unwrap_or(0) as usize);
            // Lists that overlap could name more operations than the file has bytes.
            left = left
                .checked_sub(followers)
                .ok_or_else(|| fault(number, "lists of waiting operations overlap".into()))?;
            for place in first..first + followers {
                let follower = u32_at(part.followers, 4 * place);
                let follower = follower.filter(|&follower| (follower as usize) < count);
                let follower =
                    follower.ok_or_else(|| fault(number, "an operation that does not exist waits for this".into()))?;
                ranks.wait(rank, follower, number as u32, on);
            }
        }
    }
    Ok(())
}

/// An operation: waits, type, other rank, size, tag, processor, card, and the lists of operations that wait for it.
fn described(bytes: &[u8]) -> Option<Described> {
    let (other, size, tag) = (u32_at(bytes, 5)?.into(), u64_at(bytes, 9)?, u32_at(bytes, 17)?.into());
    match bytes[4] {
        1 => Some(Described::Send { to: other, bytes: size, tag }),
        2 => Some(Described::Receive { from: other, bytes: size, tag }),
        3 => Some(Described::Calc { time: size.checked_mul(1_000).map(Time), cpu: bytes[21].into() }),
        _ => None,
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes)
}
