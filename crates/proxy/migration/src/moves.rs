//! Table of a plan: each key's old and new servers, found by the key's hash, and which of the two sides are known to be clear, that is,
//! hold nothing older than the key's last change.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use fanin_proxy_observe::log::Secret;
use fanin_proxy_routing::MOST_REPLICAS;

/// In place of a server: none.
const NONE: u32 = u32::MAX;

/// The servers of a key's replicas on one side of a plan, in ascending order, or those that the key's hash selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Homes([u32; MOST_REPLICAS]);

impl Homes {
    /// The servers that the key's hash selects.
    pub const BY_HASH: Homes = Homes([NONE; MOST_REPLICAS]);

    /// These servers; none for those that the key's hash selects.
    pub fn of(servers: &[u32]) -> Homes {
        let mut homes = Homes::BY_HASH;
        homes.0.iter_mut().zip(servers).for_each(|(home, server)| *home = *server);
        homes.0.sort_unstable();
        homes
    }

    /// The servers; none if the key's hash selects them.
    pub fn servers(&self) -> Option<Vec<usize>> {
        let servers: Vec<usize> =
            self.0.iter().take_while(|server| **server != NONE).map(|server| *server as usize).collect();
        (!servers.is_empty()).then_some(servers)
    }

    /// Its places in a table with this number of replicas.
    pub fn places(&self, replicas: usize) -> &[u32] {
        &self.0[..replicas]
    }

    /// The only server of a key without further replicas; none if the key's hash selects it.
    pub fn server(&self) -> Option<usize> {
        (self.0[0] != NONE).then_some(self.0[0] as usize)
    }
}

/// One of a key's two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The old servers.
    Old,
    /// The new servers.
    New,
}

/// A row of the table: the key's hash, its servers, and which sides are clear. Servers selected by the key's hash are
/// [`Homes::BY_HASH`], so rows of two plans can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    /// Hash of its name.
    pub hash: u128,
    /// Its old servers.
    pub old: Homes,
    /// Its new servers.
    pub new: Homes,
    /// Whether the old servers have no older value.
    pub old_clear: bool,
    /// The same of the new servers; with replicas, of those that are not old ones.
    pub new_clear: bool,
}

impl Row {
    /// A key of a new plan: the old servers are clear, the new ones may have an older value.
    pub fn new(hash: u128, old: Homes, new: Homes) -> Row {
        Row { hash, old, new, old_clear: true, new_clear: false }
    }

    /// Whether the key's current servers are clear: the new ones if the plan is `turned` and the key moves, else the old ones. With
    /// `replicas`, a new server may be an old one, too.
    fn is_clear(&self, turned: bool, replicas: usize) -> bool {
        match turned && self.old != self.new {
            true => self.new_clear && (self.old_clear || replicas == 1),
            false => self.old_clear,
        }
    }
}

/// Keys and their servers, sorted by hash.
pub struct Moves {
    /// Secret by which keys are hashed.
    pub secret: Secret,
    /// Identity of the plan.
    pub digest: String,
    /// Replicas of a key.
    replicas: usize,
    hashes: Vec<u128>,
    /// Start of a search, by the upper bits of the hash.
    begin: Vec<u32>,
    bits: u32,
    /// Old and new servers of each key, and whether they are clear.
    places: Vec<u32>,
    clear: Vec<[AtomicBool; 2]>,
}

impl std::fmt::Debug for Moves {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "moves of {} keys", self.len())
    }
}

impl Moves {
    /// Builds the table; each key must have only one row.
    pub fn new(mut rows: Vec<Row>, replicas: usize, secret: Secret, digest: String) -> Moves {
        rows.sort_unstable();
        let bits = (rows.len() + 1).next_power_of_two().trailing_zeros().max(1);
        let begin =
            (0..=1u128 << bits).map(|upper| match upper.checked_shl(128 - bits).filter(|_| upper >> bits == 0) {
                Some(least) => rows.partition_point(|row| row.hash < least) as u32,
                None => rows.len() as u32,
            });
        Moves {
            secret,
            digest,
            replicas,
            begin: begin.collect(),
            bits,
            hashes: rows.iter().map(|row| row.hash).collect(),
            places: rows
                .iter()
                .flat_map(|row| [row.old, row.new])
                .flat_map(|homes| homes.places(replicas).to_vec())
                .collect(),
            clear: rows.iter().map(|row| [row.old_clear, row.new_clear].map(AtomicBool::new)).collect(),
        }
    }

    /// No keys: replicas are read and filled as the servers of moving keys are, and all of them are clear.
    pub fn of_replicas() -> Moves {
        Moves::new(Vec::new(), 1, Secret::default(), String::new())
    }

    /// Replicas of a key.
    pub fn replicas(&self) -> usize {
        self.replicas
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Whether it has no keys.
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Whether both are the same plan.
    pub fn is(&self, other: &Moves) -> bool {
        self.digest == other.digest
    }

    /// Current rows.
    pub fn rows(&self) -> impl Iterator<Item = Row> + '_ {
        (0..self.len()).map(|index| self.row(index))
    }

    fn row(&self, index: usize) -> Row {
        let ([old, new], [old_clear, new_clear]) = (self.sides(index), &self.clear[index]);
        Row { hash: self.hashes[index], old, new, old_clear: old_clear.load(SeqCst), new_clear: new_clear.load(SeqCst) }
    }

    /// Old and new servers of a key by its index.
    fn sides(&self, index: usize) -> [Homes; 2] {
        let places = &self.places[2 * self.replicas * index..][..2 * self.replicas];
        [&places[..self.replicas], &places[self.replicas..]].map(Homes::of)
    }

    /// Index, old and new servers of a key.
    pub fn find(&self, key: &[u8]) -> Option<(u32, [Homes; 2])> {
        let index = self.index(self.secret.hash(key))?;
        Some((index as u32, self.sides(index)))
    }

    fn index(&self, hash: u128) -> Option<usize> {
        let upper = (hash >> (128 - self.bits)) as usize;
        let (from, to) = (*self.begin.get(upper)? as usize, *self.begin.get(upper + 1)? as usize);
        self.hashes[from..to].iter().position(|other| *other == hash).map(|place| from + place)
    }

    /// Whether a server is known to hold nothing older than the key's last change; all are for a key that is not in the table.
    pub fn is_clear(&self, index: u32, side: Side) -> bool {
        self.clear.get(index as usize).is_none_or(|sides| sides[side as usize].load(SeqCst))
    }

    /// Marks a server as clear for this key.
    pub fn cleared(&self, index: u32, side: Side) {
        self.clear.get(index as usize).into_iter().for_each(|sides| sides[side as usize].store(true, SeqCst));
    }

    /// Whether this plan starts from the other's current placement: its new servers if it is `turned`, else its old ones.
    pub fn follows(&self, other: &Moves, turned: bool) -> bool {
        if self.secret != other.secret {
            // The plans hash keys by different secrets, so all keys must be where their hashes say.
            let is_home = |row: Row| {
                (if turned { row.new } else { row.old }) == Homes::BY_HASH && row.is_clear(turned, self.replicas)
            };
            return self.rows().all(|row| row.old == Homes::BY_HASH) && other.rows().all(is_home);
        }
        let theirs = other.rows().all(|row| {
            let begins_at = self.index(row.hash).map_or(Homes::BY_HASH, |index| self.sides(index)[0]);
            begins_at == if turned { row.new } else { row.old }
        });
        theirs && self.rows().all(|row| row.old == Homes::BY_HASH || other.index(row.hash).is_some())
    }

    /// This plan as the successor of another. Servers that the other plan has not cleared stay unclear here, also for keys that only the
    /// other plan names.
    pub fn taking_over(&self, other: &Moves, turned: bool) -> Moves {
        let is_clear = |row: &Row| row.is_clear(turned, self.replicas);
        let mut rows: Vec<Row> = self.rows().collect();
        if self.secret == other.secret {
            for row in &mut rows {
                row.old_clear = other.index(row.hash).is_none_or(|index| is_clear(&other.row(index)));
            }
            let unnamed = other.rows().filter(|row| !is_clear(row) && self.index(row.hash).is_none());
            rows.extend(
                unnamed.map(|row| Row { old_clear: false, ..Row::new(row.hash, Homes::BY_HASH, Homes::BY_HASH) }),
            );
        }
        Moves::new(rows, self.replicas, self.secret, self.digest.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moves(rows: &[Row]) -> Moves {
        Moves::new(rows.to_vec(), 1, Secret::of(b"sixteen bytes or more").unwrap(), format!("{rows:?}"))
    }

    /// A key that moves between two servers, neither of them selected by its hash.
    fn row(hash: u128, old: u32, new: u32) -> Row {
        let home = |server| if server == 0 { Homes::BY_HASH } else { Homes::of(&[server]) };
        Row::new(hash << 64, home(old), home(new))
    }

    #[test]
    fn finds_only_its_keys() {
        let secret = Secret::of(b"sixteen bytes or more").unwrap();
        let names: Vec<String> = (0..1000).map(|number| format!("{number}-key")).collect();
        for count in [0, 1, 2, 3, 500] {
            let [old, new] = [1, 2].map(|server| Homes::of(&[server]));
            let rows = names[..count].iter().map(|name| Row::new(secret.hash(name.as_bytes()), old, new)).collect();
            let moves = Moves::new(rows, 1, secret, String::new());
            let found = |name: &&String| moves.find(name.as_bytes()).is_some();
            assert_eq!((moves.len(), names.iter().filter(found).count()), (count, count));
            assert!(names[..count].iter().all(|name| found(&name)));
        }
    }

    #[test]
    fn plan_follows_matching_placement() {
        let first = moves(&[row(1, 3, 1), row(2, 3, 2)]);
        // Before cutover keys are at their old servers, afterwards at the new ones.
        assert!(moves(&[row(1, 3, 4), row(2, 3, 4)]).follows(&first, false));
        assert!(!moves(&[row(1, 3, 4), row(2, 3, 4)]).follows(&first, true));
        assert!(moves(&[row(1, 1, 4), row(2, 2, 2)]).follows(&first, true));
        assert!(!moves(&[row(1, 1, 4), row(2, 2, 2)]).follows(&first, false));
        // Keys that a plan does not name are where their hashes say.
        assert!(!moves(&[row(1, 1, 4)]).follows(&first, true));
        assert!(moves(&[row(1, 1, 4), row(2, 2, 2), row(9, 0, 4)]).follows(&first, true));
        assert!(!moves(&[row(1, 1, 4), row(2, 2, 2), row(9, 5, 4)]).follows(&first, true));
    }

    #[test]
    fn plan_can_follow_return_to_hashes() {
        let out = moves(&[row(1, 0, 3)]);
        let back = moves(&[row(1, 3, 0)]);
        let again = moves(&[row(1, 0, 2)]);
        assert!(back.follows(&out, true) && again.follows(&back, true) && moves(&[]).follows(&back, true));
        assert!(!again.follows(&out, true) && !moves(&[]).follows(&out, true));
    }

    #[test]
    fn inherits_unclear_servers() {
        let first = moves(&[row(1, 3, 1), row(2, 3, 2), row(3, 3, 0), row(4, 3, 0)]);
        first.cleared(0, Side::New);
        first.cleared(2, Side::New);
        let second = moves(&[row(1, 1, 4), row(2, 2, 4)]);
        let clear = |moves: &Moves| moves.rows().map(|row| (row.hash >> 64, row.old_clear)).collect::<Vec<_>>();
        assert!(second.follows(&first, true));
        let second = second.taking_over(&first, true);
        assert_eq!(clear(&second), [(1, true), (2, false), (4, false)]);
        // A key that stays is cleared at its server.
        let third = moves(&[row(1, 1, 5), row(2, 2, 5), row(4, 0, 5)]).taking_over(&second, false);
        assert_eq!(clear(&third), [(1, true), (2, false), (4, false)]);
        second.cleared(2, Side::Old);
        assert_eq!(clear(&moves(&[]).taking_over(&second, false)), [(2, false)]);
    }

    #[test]
    fn keeps_homes_of_replicas() {
        let secret = Secret::of(b"sixteen bytes or more").unwrap();
        let row = |hash: u128, old: &[u32], new: &[u32]| Row::new(hash << 64, Homes::of(old), Homes::of(new));
        let moves = |rows: &[Row]| Moves::new(rows.to_vec(), 3, secret, format!("{rows:?}"));
        let first = moves(&[row(1, &[], &[4, 2, 1]), row(2, &[0, 1, 2], &[])]);
        assert!(first.rows().eq([row(1, &[], &[1, 2, 4]), row(2, &[2, 1, 0], &[])]));
        // The order of servers does not matter, but each of them does.
        assert!(moves(&[row(1, &[2, 4, 1], &[])]).follows(&first, true));
        assert!(!moves(&[row(1, &[2, 4, 3], &[])]).follows(&first, true));
        // A new server may be an old one, too: both sides must be clear.
        let back = moves(&[row(1, &[1, 2, 4], &[])]);
        for (old_clear, clear) in [(true, true), (false, false)] {
            let first = moves(&[Row { old_clear, ..row(1, &[], &[4, 2, 1]) }]);
            first.cleared(0, Side::New);
            assert_eq!(back.taking_over(&first, true).row(0).old_clear, clear);
        }
    }
}
