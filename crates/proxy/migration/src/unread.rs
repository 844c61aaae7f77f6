//! Keys of a plan that clients may not read while copies are made. In stage `move` the coordinator passes them on, a few at a time, and a
//! thread copies them as if a client had read them.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use fanin_memcache::LONGEST_KEY;
use fanin_plan_files::key_name::KeyName;
use fanin_plan_files::placement::{self, Form};

use super::Moves;

/// Keys passed on at once.
const AT_ONCE: usize = 250;

/// The keys in a plan's table that are still to be copied.
pub struct UnreadKeys(placement::Reader<BufReader<File>>);

impl UnreadKeys {
    /// The keys in the table of a folder, if there are any; none if the table is another plan's by now. Hashed keys are unknown here.
    pub fn of_folder(folder: &Path, moves: &Moves, servers: u32) -> Option<UnreadKeys> {
        if moves.is_empty() {
            return None;
        }
        let path = folder.join(placement::FILE);
        let file = File::open(&path).ok()?;
        placement::read_verified(&path, &moves.digest, |_| Ok::<_, fanin_plan_files::Error>(())).ok()?;
        placement::Reader::new(BufReader::new(file), Form::Written, servers).ok().map(UnreadKeys)
    }

    /// The next keys; none at the end.
    pub fn next_keys(&mut self, moves: &Moves) -> Vec<Vec<u8>> {
        let mut keys = Vec::new();
        // A table that has become unreadable ends here: these keys are only missing once after cutover.
        while keys.len() < AT_ONCE
            && let Ok(Some(row)) = self.0.next_row()
        {
            if let KeyName::Plain(key) = KeyName::decode(row.key)
                && key.len() <= LONGEST_KEY
                && moves.find(&key).is_some_and(|(_, [old, new])| old != new)
                // A key has a row for each replica.
                && keys.last() != Some(&key)
            {
                keys.push(key);
            }
        }
        keys
    }
}
