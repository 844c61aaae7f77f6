//! One budget for all processes of a host: slots that processes lock as files, in a folder.
//!
//! A slot is a 64th of the budget. A process holds a slot by an exclusive lock on its file, which the kernel releases when the process ends,
//! however it ends. Each process has a file of its own, too, which says how many slots it needs and holds. A process takes free slots as it
//! needs them, keeps them while no other process lacks its share, and gives back those above its share when one does.

use std::format;
use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::string::String;
use std::time::Duration;
use std::vec::Vec;

use crate::folder::Folder;
use crate::{Figures, Settings};

/// Slots of the budget, and maximum number of processes.
const SLOTS: u8 = 64;

/// Time between two calls of [`Share::adjust`] while requests wait.
const ADJUST: Duration = Duration::from_millis(5);

/// A process's part of a budget that all processes of the host share which use the same folder, such as one in `/dev/shm`.
///
/// [`Limit::with_shared_budget`](crate::Limit::with_shared_budget) has one; this is for limiters without a [`Limit`](crate::Limit).
#[derive(Debug)]
pub struct Share {
    folder: Folder,
    budget: u64,
    /// This process's file, which it locks.
    own: File,
    index: u8,
    written: Option<Record>,
    slots: Vec<File>,
}

/// Contents of a process's file: slots that it needs, and slots that it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Record {
    needed: u8,
    held: u8,
}

impl Share {
    /// Joins the processes that share a folder, with the same settings.
    ///
    /// # Errors
    ///
    /// If the settings have no budget, if other users may open the folder or put files into it, except members of the settings' group, if its
    /// files cannot be written and locked, or if 64 processes use it.
    pub fn join(folder: &Path, settings: &Settings) -> io::Result<Share> {
        let Some(budget) = settings.budget else {
            let why = "a shared budget needs the setting `budget`; write a size such as \"1 MiB\"";
            return Err(io::Error::new(ErrorKind::InvalidInput, why));
        };
        let folder = Folder::open(folder, settings.group)?;
        let names = |kind: &'static str| (0..SLOTS).map(move |index| name(kind, index));
        folder.replace_distrusted(names("process").chain(names("slot")))?;
        for index in 0..SLOTS {
            if let Some(own) = locked(&folder, "process", index)? {
                let share = Share { folder, budget, own, index, written: None, slots: Vec::new() };
                return Ok(share);
            }
        }
        let why = format!("{SLOTS} processes share the budget, which is the maximum; use another folder");
        Err(io::Error::new(ErrorKind::QuotaExceeded, why))
    }

    /// Adapts this process's part to its requests. Returns its budget, for [`Limiter::set_budget`](crate::Limiter::set_budget).
    ///
    /// # Errors
    ///
    /// If files of the folder cannot be written and locked; the process keeps its part.
    pub fn adjust(&mut self, figures: &Figures) -> io::Result<u64> {
        let waiting = u64::from(figures.waiting).saturating_mul(figures.mean.max(1));
        self.adjust_to(figures.in_flight.saturating_add(waiting), figures.in_flight)
    }

    /// Time until the next [`adjust`](Share::adjust).
    pub fn period(figures: &Figures) -> Duration {
        if figures.waiting > 0 { ADJUST } else { ADJUST * 4 }
    }

    /// Bytes of one slot.
    fn slot_bytes(&self) -> u64 {
        (self.budget / u64::from(SLOTS)).max(1)
    }

    /// Takes or gives back slots so that these bytes fit, or this process's share of them. Bytes in flight keep their slots. Returns the budget
    /// of this process.
    fn adjust_to(&mut self, wanted: u64, in_flight: u64) -> io::Result<u64> {
        let slots = |bytes: u64| bytes.div_ceil(self.slot_bytes()).clamp(1, SLOTS.into()) as u8;
        let (needed, used) = (slots(wanted), slots(in_flight));
        let others = self.others()?;
        let held = self.slots.len() as u8;
        let target = target(needed, held, &others);
        let mut index = 0;
        while (self.slots.len() as u8) < target && index < SLOTS {
            self.slots.extend(locked(&self.folder, "slot", index)?);
            index += 1;
        }
        // The lock ends with its file.
        self.slots.truncate(self.slots.len().min(target.max(used).into()));
        let record = Record { needed, held: self.slots.len() as u8 };
        if self.written != Some(record) {
            self.own.write_all_at(&[record.needed, record.held], 0)?;
            self.written = Some(record);
        }
        let permitted = record.held.min(target);
        Ok(if permitted == SLOTS { self.budget } else { u64::from(permitted) * self.slot_bytes() })
    }

    /// Records of other processes. The files of processes are created in order.
    fn others(&self) -> io::Result<Vec<Record>> {
        let mut found = Vec::new();
        for index in (0..SLOTS).filter(|index| *index != self.index) {
            let Some(file) = self.folder.file(&name("process", index))? else { break };
            match file.try_lock() {
                // Its process has ended.
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let mut bytes = [1, 0];
                    let _ = file.read_at(&mut bytes, 0)?;
                    found.push(Record { needed: bytes[0].clamp(1, SLOTS), held: bytes[1].min(SLOTS) });
                }
                Err(TryLockError::Error(why)) => return Err(why),
            }
        }
        Ok(found)
    }
}

/// Number of slots that a process should hold.
fn target(needed: u8, held: u8, others: &[Record]) -> u8 {
    let fair = (SLOTS / (others.len() as u8 + 1)).max(1);
    let lacks = others.iter().any(|other| other.held < other.needed.min(fair));
    if !lacks {
        return needed.max(held);
    }
    // Each may be up to `fair`, so that the sum is at most all slots.
    let unused: u8 = others.iter().map(|other| fair - other.needed.min(fair)).sum();
    needed.min(fair + unused).max(1)
}

fn name(kind: &str, index: u8) -> String {
    format!("{kind}-{index:02}")
}

/// A file, locked by this process, if no other has it.
fn locked(folder: &Folder, kind: &str, index: u8) -> io::Result<Option<File>> {
    let file = folder.create(&name(kind, index))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(why)) => Err(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(needed: u8, held: u8) -> Record {
        Record { needed, held }
    }

    #[test]
    fn process_alone_takes_as_it_needs_and_keeps() {
        assert_eq!([target(5, 1, &[]), target(1, 5, &[]), target(64, 5, &[])], [5, 5, 64]);
    }

    #[test]
    fn satisfied_processes_leave_others_alone() {
        // Half is fair; the other one needs 10 and has them.
        assert_eq!(target(50, 54, &[record(10, 10)]), 54);
        // It has less than it needs, but its fair share.
        assert_eq!(target(60, 32, &[record(40, 32)]), 60);
    }

    #[test]
    fn process_above_its_share_gives_back_when_another_lacks_its_own() {
        assert_eq!(target(64, 64, &[record(64, 0)]), 32);
        assert_eq!(target(64, 64, &[record(10, 0)]), 54);
        assert_eq!(target(3, 64, &[record(64, 0)]), 3);
        // Thirds are 21, of which the second leaves 20.
        assert_eq!(target(64, 64, &[record(64, 0), record(1, 1)]), 41);
        assert_eq!(target(64, 1, &[record(1, 0); 63]), 1);
    }

    #[test]
    fn targets_of_all_processes_fit_the_slots_once_each_needs_its_share() {
        for count in 1..SLOTS {
            let others = std::vec![record(64, 0); count.into()];
            assert!(u16::from(target(64, 64, &others)) * (u16::from(count) + 1) <= SLOTS.into());
        }
    }
}
