//! Progress of a plan on disk, from which a restarted front end resumes.
//!
//! The folder `carried/POOL@ADDRESS/` beside the plan has `state.json` with the current table and stage. It also has the table itself,
//! since the plan in the folder may have changed, and the list of clear servers. Each file is replaced by a rename, and is on disk before
//! threads act on it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::moves::{Homes, Row};
use super::plan::{InvalidPlan, Reader};
use super::{MigrationState, Moves, Stage};
use fanin_proxy_net::Address;
use fanin_proxy_observe::log::Secret;

/// Subfolder of a plan's folder.
const EMBEDDED: &str = "carried";
const STATE: &str = "state.json";
/// Bytes of a row of the table: a hash, and the old and new servers of its replicas.
const fn row_bytes(replicas: usize) -> usize {
    16 + 2 * 4 * replicas
}

/// Progress of one pool.
#[derive(Debug, Clone)]
pub struct Progress {
    folder: PathBuf,
    /// Number of the current table; each table has its own files.
    table: u64,
    /// The clear servers, as last written.
    clear: Vec<u8>,
    /// Whether the state was last written as settled.
    settled: bool,
}

/// Contents of `state.json`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct State {
    table: u64,
    placement_sha256: String,
    stage: String,
    #[serde(default = "one")]
    replicas: usize,
    /// Whether no requests of earlier stages are open.
    #[serde(default)]
    settled: bool,
    /// The placement by hash depends on these.
    servers: Vec<String>,
    router: String,
}

/// Replicas of a key in files of versions that knew no others.
fn one() -> usize {
    1
}

impl Progress {
    /// The progress of a pool at a listening address, in a plan's folder.
    pub fn new(plan: &Path, pool: &str, listen: &Address) -> Progress {
        let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
        let listen = match listen {
            Address::Ip(address) => address.to_string(),
            Address::Unix(path) => path.display().to_string().chars().map(plain).collect(),
        };
        let name = format!("{}@{listen}", pool.chars().map(plain).collect::<String>());
        Progress { folder: plan.join(EMBEDDED).join(name), table: 0, clear: Vec::new(), settled: false }
    }

    /// Reads the state reached, if a plan was begun.
    ///
    /// # Errors
    /// Files that are damaged, or for other servers.
    pub fn read(&mut self, reader: &Reader<'_>) -> Result<Option<MigrationState>, InvalidPlan> {
        let path = self.folder.join(STATE);
        let unfit = |path: &Path, what: String| InvalidPlan { path: path.to_owned(), what };
        let state: State = match fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text).map_err(|error| unfit(&path, damaged(&error)))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unfit(&path, error.to_string())),
        };
        let stage = Stage::of_word(&state.stage).ok_or_else(|| unfit(&path, damaged(&"unknown stage")))?;
        let is_same = state.servers == reader.names && state.replicas == reader.replicas;
        if !is_same || state.router != reader.router.fingerprint() {
            let what = "the current plan is for other servers, replicas or another hash than this pool's; restore the \
                        pool's `servers`, `replicas`, `hash` and `placement`";
            return Err(unfit(&path, what.to_owned()));
        }
        (self.table, self.settled) = (state.table, state.settled);
        let (table, clear) = (self.path("table"), self.path("clear"));
        let rows = fs::read(&table).map_err(|error| unfit(&table, error.to_string()))?;
        self.clear = fs::read(&clear).map_err(|error| unfit(&clear, error.to_string()))?;
        let (secret, rows) =
            parse(&rows, &self.clear, state.replicas).ok_or_else(|| unfit(&table, damaged(&"incomplete")))?;
        if secret.id() != 0 && reader.secret != Some(secret) {
            let what =
                format!("its keys are hashed with the secret {:08x}; set that secret's file in `[log]`", secret.id());
            return Err(unfit(&table, what));
        }
        Ok(Some(MigrationState {
            moves: Arc::new(Moves::new(rows, state.replicas, secret, state.placement_sha256)),
            stage,
        }))
    }

    /// Writes a new state, before threads act on it; with `new`, also its table.
    ///
    /// # Errors
    /// The files cannot be written.
    pub fn reach(&mut self, plan_state: &MigrationState, reader: &Reader<'_>, new: bool) -> io::Result<()> {
        let last = self.table;
        if new {
            DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
            self.table += 1;
            write(&self.path("table"), &table(&plan_state.moves))?;
            self.clear = clear(&plan_state.moves);
            write(&self.path("clear"), &self.clear)?;
        }
        self.keep_clear(&plan_state.moves)?;
        self.write_state(plan_state, reader, false)?;
        if new && last > 0 {
            // Unused now; it does no harm if they stay.
            let old = Progress { table: last, ..self.clone() };
            let _ = ["table", "clear"].map(|name| fs::remove_file(old.path(name)));
        }
        Ok(())
    }

    /// Writes that no requests of earlier stages are open.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn settle(&mut self, plan_state: &MigrationState, reader: &Reader<'_>) -> io::Result<()> {
        self.write_state(plan_state, reader, true)
    }

    /// Whether the state on disk is settled.
    pub fn is_settled(&self) -> bool {
        self.settled
    }

    fn write_state(&mut self, plan_state: &MigrationState, reader: &Reader<'_>, settled: bool) -> io::Result<()> {
        let state = State {
            table: self.table,
            placement_sha256: plan_state.moves.digest.clone(),
            stage: plan_state.stage.word().to_owned(),
            replicas: plan_state.moves.replicas(),
            settled,
            servers: reader.names.iter().map(|name| (*name).to_owned()).collect(),
            router: reader.router.fingerprint(),
        };
        write(&self.folder.join(STATE), &serde_json::to_vec_pretty(&state)?)?;
        self.settled = settled;
        Ok(())
    }

    /// Writes the clear servers, if they have changed.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep_clear(&mut self, moves: &Moves) -> io::Result<()> {
        let clear = clear(moves);
        if clear != self.clear {
            write(&self.path("clear"), &clear)?;
            self.clear = clear;
        }
        Ok(())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}-{}", self.table))
    }
}

/// Progress of a front end, as others see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrontEndProgress {
    /// Its pool and address.
    pub name: String,
    /// Digest of its plan.
    pub digest: String,
    /// The stage.
    pub stage: Stage,
    /// Whether no requests of earlier stages are open.
    pub settled: bool,
}

/// Progress of all front ends that have begun a plan of this folder.
///
/// # Errors
/// Files that cannot be read or are damaged.
pub fn of_front_ends(plan: &Path) -> Result<Vec<FrontEndProgress>, InvalidPlan> {
    let folder = plan.join(EMBEDDED);
    let unfit = |path: &Path, what: String| InvalidPlan { path: path.to_owned(), what };
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unfit(&folder, error.to_string())),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| unfit(&folder, error.to_string()))?;
        let path = entry.path().join(STATE);
        let text = match fs::read(&path) {
            Ok(text) => text,
            // It has not begun yet.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(unfit(&path, error.to_string())),
        };
        let state: State = serde_json::from_slice(&text).map_err(|error| unfit(&path, damaged(&error)))?;
        let stage = Stage::of_word(&state.stage).ok_or_else(|| unfit(&path, damaged(&"unknown stage")))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        found.push(FrontEndProgress { name, digest: state.placement_sha256, stage, settled: state.settled });
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(found)
}

fn damaged(why: &dyn std::fmt::Display) -> String {
    format!("damaged ({why}): restore it from a backup; without it the location of keys is unknown")
}

/// Encodes the clear servers.
fn clear(moves: &Moves) -> Vec<u8> {
    moves.rows().map(|row| u8::from(row.old_clear) | u8::from(row.new_clear) << 1).collect()
}

/// Encodes the secret and the rows.
fn table(moves: &Moves) -> Vec<u8> {
    let mut bytes = moves.secret.to_bytes().to_vec();
    for row in moves.rows() {
        bytes.extend_from_slice(&row.hash.to_le_bytes());
        for homes in [row.old, row.new] {
            bytes.extend(homes.places(moves.replicas()).iter().flat_map(|server| server.to_le_bytes()));
        }
    }
    bytes
}

/// Decodes both.
fn parse(table: &[u8], clear: &[u8], replicas: usize) -> Option<(Secret, Vec<Row>)> {
    let (secret, rest) = table.split_first_chunk()?;
    if rest.len() != row_bytes(replicas) * clear.len() {
        return None;
    }
    let row = |(bytes, clear): (&[u8], &u8)| {
        let (hash, rest) = bytes.split_first_chunk()?;
        let servers: Vec<u32> = rest.as_chunks().0.iter().map(|server| u32::from_le_bytes(*server)).collect();
        let (hash, (old, new)) = (u128::from_le_bytes(*hash), servers.split_at(replicas));
        let [old, new] = [old, new].map(Homes::of);
        Some(Row { hash, old, new, old_clear: clear & 1 > 0, new_clear: clear & 2 > 0 })
    };
    let rows = rest.chunks_exact(row_bytes(replicas)).zip(clear);
    Some((Secret::from_bytes(secret), rows.map(row).collect::<Option<_>>()?))
}

/// Replaces a file, readable by its owner only; the bytes are on disk when this returns.
pub(super) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = path.with_extension("new");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Side;
    use fanin_proxy_routing::{Hash, Placement, Router, Weighted};

    #[test]
    fn restores_stage_and_clear_servers() {
        let folder = tempfile::tempdir().unwrap();
        let servers = [Weighted { name: "a".into(), weight: 1 }, Weighted { name: "b".into(), weight: 1 }];
        let router = Router::new(Placement::WORDS[0].1, Hash::Fnv1a64, &servers);
        let secret = Secret::drawn().unwrap();
        let reader = Reader { names: vec!["a", "b"], router: &router, replicas: 1, secret: None, drawn: secret };
        let progress = || Progress::new(folder.path(), "p/q", &Address::Ip("127.0.0.1:1".parse().unwrap()));
        let mut writes = progress();
        assert!(progress().read(&reader).unwrap().is_none());
        for (count, stage) in [(3u32, Stage::Begin), (0, Stage::Begin), (2, Stage::Over)] {
            let [old, new] = [0, 1].map(|server| Homes::of(&[server]));
            let rows = (0..count).map(|number| Row::new(u128::from(number), old, new)).collect();
            let moves = Moves::new(rows, 1, secret, format!("digest {count}"));
            let plan_state = MigrationState { moves: Arc::new(moves), stage };
            writes.reach(&plan_state, &reader, true).unwrap();
            if count > 0 {
                plan_state.moves.cleared(1, Side::New);
                writes.keep_clear(&plan_state.moves).unwrap();
            }
            let read = progress().read(&reader).unwrap().unwrap();
            assert_eq!((read.stage, &read.moves.digest), (stage, &plan_state.moves.digest));
            assert!(read.moves.rows().eq(plan_state.moves.rows()) && read.moves.secret == secret);
        }
        let other = Reader { names: vec!["b", "a"], ..reader };
        assert!(progress().read(&other).unwrap_err().what.contains("other servers"));
        let other = Reader { names: vec!["a", "b"], replicas: 2, ..reader };
        assert!(progress().read(&other).unwrap_err().what.contains("replicas"));
        let place = folder.path().join("carried/p_q@127.0.0.1:1");
        assert_eq!(fs::read_dir(&place).unwrap().count(), 3, "files of tables that are over are removed");
        fs::write(place.join("table-3"), [0; 25]).unwrap();
        assert!(progress().read(&reader).unwrap_err().what.contains("damaged"));
        // Several replicas, some by the keys' hashes.
        let rows =
            vec![Row::new(5, Homes::BY_HASH, Homes::of(&[1, 0])), Row::new(7, Homes::of(&[0, 1]), Homes::BY_HASH)];
        let moves = Arc::new(Moves::new(rows.clone(), 2, secret, "digest".to_owned()));
        let mut writes = Progress::new(folder.path(), "two", &Address::Ip("127.0.0.1:1".parse().unwrap()));
        writes.reach(&MigrationState { moves, stage: Stage::Move }, &other, true).unwrap();
        assert!(writes.read(&other).unwrap().unwrap().moves.rows().eq(rows));
    }
}
