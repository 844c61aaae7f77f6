//! Reader of a plan's folder, as `fanin plan --out` writes it: `plan.json` names the cluster and the digest of `placement.csv`, which has
//! each key's server and, if known, its previous one.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use fanin_memcache::LONGEST_KEY;
use fanin_plan_files::key_name::KeyName;
use fanin_plan_files::placement::{self, Form};
use fanin_plan_files::plan::{self, PlanFile};
use fanin_plan_files::printable;

use super::Stage;
use super::moves::{Homes, Moves, Row};
use fanin_proxy_observe::log::Secret;
use fanin_proxy_routing::Router;

/// File with the target stage.
pub const STAGE: &str = "stage";
/// An invalid plan: file and problem.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {what}", path.display())]
pub struct InvalidPlan {
    /// The file.
    pub path: PathBuf,
    /// The problem.
    pub what: String,
}

/// A key of a table.
struct TableKey {
    /// Its first line.
    line: u64,
    name: Vec<u8>,
    new: Homes,
    was: Homes,
}

/// Pool for which a plan is read.
pub struct Reader<'a> {
    /// Names of the pool's servers.
    pub names: Vec<&'a str>,
    /// Placement by hash.
    pub router: &'a Router,
    /// Replicas of a key.
    pub replicas: usize,
    /// Secret by which the log hashes keys, if it does.
    pub secret: Option<Secret>,
    /// Secret for plain keys: the same for all plans of a pool, so they can be compared.
    pub drawn: Secret,
}

/// The target stage in a folder, if there is one.
///
/// # Errors
/// An unknown stage, or a file that cannot be read.
pub fn stage(folder: &Path) -> Result<Option<Stage>, InvalidPlan> {
    let path = folder.join(STAGE);
    let unfit = |what| InvalidPlan { path: path.clone(), what };
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unfit(error.to_string())),
    };
    let word = text.trim();
    let known = || Stage::WORDS.map(|(word, _)| word).join(", ");
    let wrong = || unfit(format!("`{}` is not a stage; use one of {}", printable(word.as_bytes()), known()));
    Stage::of_word(word).map(Some).ok_or_else(wrong)
}

impl Reader<'_> {
    /// Reads the moves of a folder's plan.
    pub fn read(&self, folder: &Path) -> Result<Moves, InvalidPlan> {
        let path = folder.join(plan::FILE);
        let digest = self.same(&path).map_err(|what| InvalidPlan { path, what })?;
        let path = folder.join(placement::FILE);
        let read = placement::read_verified(&path, &digest, |table| self.rows(table));
        let (rows, secret) = read.map_err(|what| InvalidPlan { path, what })?;
        Ok(Moves::new(rows, self.replicas, secret, digest))
    }

    /// Checks that the plan is for this cluster, and returns the digest of its table.
    fn same(&self, path: &Path) -> Result<String, String> {
        let PlanFile { servers, replicas, names, digest, .. } = PlanFile::read(path)?;
        if servers != self.names.len() as u64 {
            return Err(format!(
                "the plan is for another cluster with {servers} servers; this pool has {}",
                self.names.len()
            ));
        }
        if let Some((number, (theirs, ours))) =
            (1..).zip(names.iter().zip(&self.names)).find(|(_, (one, two))| one != *two)
        {
            return Err(format!(
                "the plan is for another cluster: its server {number} is {}, this pool's is {ours}",
                printable(theirs.as_bytes())
            ));
        }
        if replicas != self.replicas as u64 {
            return Err(format!(
                "the plan has {replicas} replicas per key, this pool has {}; use a plan made with `key_value.replicas` \
                 of {}",
                self.replicas, self.replicas
            ));
        }
        digest.ok_or_else(|| format!("it has no digest of {}; make the plan again", placement::FILE))
    }

    /// Reads the rows of keys that move or are not where their hashes say, and the secret by which they are hashed.
    pub(super) fn rows(&self, table: impl Read) -> Result<(Vec<Row>, Secret), String> {
        let mut reader = placement::Reader::new(table, Form::Written, self.names.len() as u32)?;
        let (mut rows, mut hashed) = (Vec::new(), None);
        let mut lines: Vec<(u128, u64)> = Vec::new();
        while let Some(TableKey { line, name, new, was }) = self.next_key(&mut reader)? {
            let at = |what: String| format!("line {line}: {what}");
            let name = KeyName::decode(&name);
            let is_hashed = matches!(name, KeyName::Hashed { .. });
            if *hashed.get_or_insert(is_hashed) != is_hashed {
                return Err(at("some keys are hashed and others are not; use logs of one kind".into()));
            }
            let (hash, old, new) = match name {
                KeyName::Hashed { secret, hash } => (self.known(secret, hash).map_err(at)?, was, new),
                // Not a valid memcached key.
                KeyName::Plain(key) if key.is_empty() || key.len() > LONGEST_KEY => continue,
                KeyName::Plain(key) => {
                    let servers = self.router.first_servers(&key, self.replicas);
                    let by_hash = Homes::of(&servers.iter().map(|server| *server as u32).collect::<Vec<_>>());
                    let canonical = |homes| if homes == by_hash { Homes::BY_HASH } else { homes };
                    (self.drawn.hash(&key), canonical(was), canonical(new))
                }
            };
            lines.push((hash, line));
            if is_hashed || (old, new) != (Homes::BY_HASH, Homes::BY_HASH) {
                rows.push(Row::new(hash, old, new));
            }
        }
        lines.sort_unstable();
        if let Some([(_, first), (_, second)]) = lines.array_windows().find(|[one, two]| one.0 == two.0) {
            return Err(format!("line {second}: duplicate of the key in line {first}"));
        }
        let secret = self.secret.filter(|_| hashed == Some(true)).unwrap_or(self.drawn);
        Ok((rows, secret))
    }

    /// The next key of a table, from a row for each replica.
    fn next_key<R: Read>(&self, table: &mut placement::Reader<R>) -> Result<Option<TableKey>, String> {
        let Some(placement::Row { line, key, server, was }) = table.next_row()? else { return Ok(None) };
        let (name, mut servers, mut old) = (key.to_vec(), vec![server], vec![was]);
        for _ in 1..self.replicas {
            let next = table.next_row()?.filter(|row| row.key == name).ok_or_else(|| {
                format!("line {line}: the key has fewer rows than its {} replicas; make the plan again", self.replicas)
            })?;
            servers.push(next.server);
            old.push(next.was);
        }
        let homes = |servers: Vec<Option<u32>>| {
            let known: Vec<u32> = servers.iter().copied().flatten().collect();
            let is_whole = known.is_empty() || known.len() == self.replicas;
            let differ = (1..known.len()).all(|place| !known[..place].contains(&known[place]));
            (is_whole && differ).then(|| Homes::of(&known)).ok_or_else(|| {
                format!(
                    "line {line}: the {} replicas of the key need as many servers; make the plan again",
                    self.replicas
                )
            })
        };
        Ok(Some(TableKey { line, name, new: homes(servers)?, was: homes(old)? }))
    }

    /// The hash, if it is by this front end's secret.
    fn known(&self, id: u32, hash: u128) -> Result<u128, String> {
        match self.secret {
            Some(secret) if secret.id() == id => Ok(hash),
            Some(secret) => Err(format!(
                "the key is hashed with the secret {id:08x}, but `[log]` has {:08x}; use the other secret's file",
                secret.id()
            )),
            None => Err(format!("the key is hashed with the secret {id:08x}; use a `[log]` with that `secret`")),
        }
    }
}

/// The servers that the hash of a logged key selects for this number of replicas, if the name contains the key.
pub fn by_hash(name: &[u8], replicas: usize, router: &Router) -> Option<Vec<u32>> {
    match KeyName::decode(name) {
        KeyName::Plain(key) => {
            Some(router.first_servers(&key, replicas).into_iter().map(|server| server as u32).collect())
        }
        KeyName::Hashed { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanin_proxy_routing::{Hash, Placement, Weighted};

    #[test]
    fn named_and_unnamed_hash_placement_agree() {
        let servers: Vec<Weighted> =
            (0..4).map(|number| Weighted { name: format!("10.0.0.{number}"), weight: 1 }).collect();
        let router = Router::new(Placement::WORDS[0].1, Hash::Fnv1a64, &servers);
        let drawn = Secret::of(b"sixteen bytes or more").unwrap();
        let names = servers.iter().map(|server| server.name.as_str()).collect();
        let reader = Reader { names, router: &router, replicas: 1, secret: None, drawn };
        let by_hash = router.server(b"1-key") as u32 + 1;
        let other = by_hash % 4 + 1;
        let read = |new: u32, was: &str| {
            let table = format!("key,server,was\n1-key,{new},{was}\n");
            reader.rows(table.as_bytes()).unwrap().0.first().map(|row| (row.old, row.new))
        };
        let at = |server: u32| Homes::of(&[server - 1]);
        assert_eq!(read(other, &by_hash.to_string()), Some((Homes::BY_HASH, at(other))));
        assert_eq!(read(other, ""), Some((Homes::BY_HASH, at(other))));
        assert_eq!(read(by_hash, &other.to_string()), Some((at(other), Homes::BY_HASH)));
        assert_eq!((read(by_hash, ""), read(by_hash, &by_hash.to_string())), (None, None));
        // Of two replicas, in any order.
        let reader = Reader { replicas: 2, ..reader };
        let read = |rows: &str| reader.rows(format!("key,server,was\n{rows}").as_bytes()).map(|(rows, _)| rows);
        let [one, two, three] = [0, 1, 2].map(|place| router.first_servers(b"1-key", 3)[place] as u32 + 1);
        let moved = Row::new(drawn.hash(b"1-key"), Homes::BY_HASH, Homes::of(&[one - 1, three - 1]));
        assert_eq!(read(&format!("1-key,{three},{two}\n1-key,{one},{one}\n")), Ok(vec![moved]));
        assert_eq!(read(&format!("1-key,{two},\n1-key,{one},\n")), Ok(Vec::new()));
        for rows in ["1-key,1,\n", "1-key,1,\n2-key,2,\n", "1-key,1,\n1-key,1,\n", "1-key,1,2\n1-key,2,\n"] {
            assert!(read(rows).unwrap_err().starts_with("line 2: the "), "{rows}");
        }
    }
}
