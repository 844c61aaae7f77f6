//! Finished runs, kept by their spec and the engine that ran them.
//!
//! One file a run, `<folder>/<engine>/<digest of the spec>.run`: a mark of the form, the SHA-256 of what follows, and
//! the tables in postcard. A file is written beside its place and then moved there, so that none is ever half-written;
//! one that is damaged all the same is thrown away.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use fanin_spec::{RunSpec, RunTables};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::Done;

/// The first bytes of an entry; the last is the form's version.
const MARK: &[u8; 8] = b"fanin-r\x01";
const DIGEST: usize = 32;
const SUFFIX: &str = "run";

/// A folder of finished runs.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
    engine: String,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    cpu_us: u64,
    tables: RunTables,
}

/// What a look into the cache gives.
#[derive(Debug)]
pub enum Found {
    /// The run, with the CPU time that it took when it was run.
    Run(Box<Done>),
    /// Nothing.
    Nothing,
    /// An entry that was damaged, and is gone now.
    Damaged(PathBuf),
}

/// What one engine's runs take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage {
    /// The engine's name.
    pub engine: String,
    /// Whether this program is that engine: the others' runs are of no use to it.
    pub current: bool,
    /// Runs kept.
    pub runs: usize,
    /// Bytes on disk.
    pub bytes: u64,
}

impl Cache {
    /// A cache in `folder`, which need not exist yet, for runs of `engine`.
    pub fn new(folder: impl Into<PathBuf>, engine: &str) -> Cache {
        Cache { folder: folder.into(), engine: engine.into() }
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn place(&self, spec: &RunSpec) -> PathBuf {
        let digest = Sha256::digest(spec.canonical());
        let name: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        self.folder.join(&self.engine).join(name).with_extension(SUFFIX)
    }

    /// Looks for a finished run.
    pub fn get(&self, spec: &RunSpec) -> Found {
        let place = self.place(spec);
        let Ok(bytes) = fs::read(&place) else { return Found::Nothing };
        match decode(&bytes) {
            Some(entry) => {
                Found::Run(Box::new(Done { tables: entry.tables, cpu: Duration::from_micros(entry.cpu_us) }))
            }
            None => {
                // Where it cannot be removed, the next write takes its place.
                let _ = fs::remove_file(&place);
                Found::Damaged(place)
            }
        }
    }

    /// Keeps a finished run.
    ///
    /// # Errors
    /// The folder cannot be written to, or the disk is full.
    pub fn put(&self, spec: &RunSpec, done: &Done) -> io::Result<()> {
        let place = self.place(spec);
        let folder = place.parent().unwrap_or(&self.folder);
        fs::create_dir_all(folder)?;
        let entry = Entry { cpu_us: done.cpu.as_micros() as u64, tables: done.tables.clone() };
        let payload = postcard::to_stdvec(&entry).map_err(io::Error::other)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(MARK)?;
        file.write_all(&Sha256::digest(&payload))?;
        file.write_all(&payload)?;
        file.persist(place)?;
        Ok(())
    }

    /// What is kept, by engine.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn usage(&self) -> io::Result<Vec<Usage>> {
        let mut found = Vec::new();
        for folder in subfolders(&self.folder)? {
            let engine = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let files = runs(&folder)?;
            let bytes = files.iter().filter_map(|file| fs::metadata(file).ok()).map(|m| m.len()).sum();
            found.push(Usage { current: engine == self.engine, engine, runs: files.len(), bytes });
        }
        Ok(found)
    }

    /// Removes other engines' runs, or with `all` this one's too. Gives what was removed.
    ///
    /// # Errors
    /// Something cannot be read or removed.
    pub fn prune(&self, all: bool) -> io::Result<Vec<Usage>> {
        let gone: Vec<Usage> = self.usage()?.into_iter().filter(|usage| all || !usage.current).collect();
        for usage in &gone {
            let folder = self.folder.join(&usage.engine);
            for file in runs(&folder)? {
                fs::remove_file(file)?;
            }
            // Whatever else lies there is not the cache's.
            let _ = fs::remove_dir(folder);
        }
        Ok(gone)
    }
}

fn decode(bytes: &[u8]) -> Option<Entry> {
    let rest = bytes.strip_prefix(MARK)?;
    let (digest, payload) = rest.split_at_checked(DIGEST)?;
    (Sha256::digest(payload).as_slice() == digest).then_some(())?;
    postcard::from_bytes(payload).ok()
}

fn subfolders(folder: &Path) -> io::Result<Vec<PathBuf>> {
    listed(folder, |path| path.is_dir())
}

fn runs(folder: &Path) -> io::Result<Vec<PathBuf>> {
    listed(folder, |path| path.extension().is_some_and(|e| e == SUFFIX))
}

/// What a folder holds, sorted; nothing where there is none.
fn listed(folder: &Path, keep: impl Fn(&Path) -> bool) -> io::Result<Vec<PathBuf>> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if keep(&path) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use fanin_spec::{Scheme, Settings};

    use super::*;

    fn spec(seed: u64) -> RunSpec {
        let scheme = Scheme::parse("newreno").unwrap();
        RunSpec { label: "any".into(), scheme, settings: Settings::default(), fan_in: 8, seed }
    }

    fn done(goodput: u64) -> Done {
        let mut tables = RunTables::default();
        tables.totals.payload_bytes = goodput;
        Done { tables, cpu: Duration::from_micros(1234) }
    }

    fn cache(folder: &Path) -> Cache {
        Cache::new(folder.join("cache"), "engine-a")
    }

    #[test]
    fn what_is_put_is_found_again_under_any_label() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(folder.path());
        assert!(matches!(cache.get(&spec(1)), Found::Nothing));
        cache.put(&spec(1), &done(7)).unwrap();
        let Found::Run(found) = cache.get(&RunSpec { label: "other".into(), ..spec(1) }) else { panic!("not found") };
        assert_eq!((found.tables, found.cpu), (done(7).tables, done(7).cpu));
        assert!(matches!(cache.get(&spec(2)), Found::Nothing));
    }

    #[test]
    fn another_engine_finds_nothing() {
        let folder = tempfile::tempdir().unwrap();
        cache(folder.path()).put(&spec(1), &done(7)).unwrap();
        let other = Cache::new(folder.path().join("cache"), "engine-b");
        assert!(matches!(other.get(&spec(1)), Found::Nothing));
    }

    #[test]
    fn every_damaged_entry_is_thrown_away() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(folder.path());
        cache.put(&spec(1), &done(7)).unwrap();
        let place = cache.place(&spec(1));
        let whole = fs::read(&place).unwrap();
        let cut = |n: usize| whole[..n].to_vec();
        let flipped = |i: usize| whole.iter().enumerate().map(|(j, b)| if i == j { !b } else { *b }).collect();
        for damaged in
            [cut(0), cut(5), cut(20), cut(whole.len() - 1), flipped(0), flipped(12), flipped(whole.len() - 1)]
        {
            fs::write(&place, &damaged).unwrap();
            assert!(matches!(cache.get(&spec(1)), Found::Damaged(_)), "{} bytes", damaged.len());
            assert!(!place.exists());
            assert!(matches!(cache.get(&spec(1)), Found::Nothing));
        }
    }

    #[test]
    fn pruning_leaves_this_engines_runs_unless_all_are_meant() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(folder.path());
        cache.put(&spec(1), &done(7)).unwrap();
        Cache::new(folder.path().join("cache"), "engine-b").put(&spec(1), &done(7)).unwrap();
        let engines = |usage: Vec<Usage>| usage.into_iter().map(|u| (u.engine, u.runs)).collect::<Vec<_>>();
        assert_eq!(engines(cache.prune(false).unwrap()), [("engine-b".to_string(), 1)]);
        assert_eq!(engines(cache.usage().unwrap()), [("engine-a".to_string(), 1)]);
        cache.prune(true).unwrap();
        assert!(cache.usage().unwrap().is_empty());
    }
}
