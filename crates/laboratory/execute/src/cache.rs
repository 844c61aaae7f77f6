//! Cache of finished runs by spec and engine.
//!
//! One file per run, `<folder>/<engine>/<digest of the spec>.run`: a format mark, the SHA-256 of the rest, and in postcard the SHA-256
//! of engine and spec, and the tables. Files are written next to their place and then moved, so none is ever half-written; damaged
//! files and those of other specs are discarded. Only folders that no other user can write to are read, since anybody with write access
//! could create valid entries.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use fanin_lab::Done;
use fanin_spec::RunSpec;
use fanin_tables::RunTables;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::draft::{self, Draft};
use crate::ownership;

/// The first bytes of an entry; the last byte is the format's version.
const MARK: &[u8; 8] = b"fanin-r\x02";
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
    /// Digest of engine and spec, to detect copied files, whose names have only half of it.
    spec: [u8; DIGEST],
    cpu_us: u64,
    tables: RunTables,
}

/// Result of a lookup.
#[derive(Debug)]
pub enum Found {
    /// The run, with its original CPU time.
    Run(Box<Done>),
    /// Nothing.
    Nothing,
    /// An entry that was damaged or another run's, now removed.
    Damaged(PathBuf),
}

/// Cache use of one engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage {
    /// The engine's name.
    pub engine: String,
    /// Whether this program is that engine; it cannot use other engines' runs.
    pub current: bool,
    /// Number of cached runs.
    pub runs: usize,
    /// Bytes on disk.
    pub bytes: u64,
}

impl Cache {
    /// A cache in `folder`, created on demand, for runs of `engine`.
    pub fn new(folder: impl Into<PathBuf>, engine: &str) -> Cache {
        Cache { folder: folder.into(), engine: engine.into() }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn of_engine(&self) -> PathBuf {
        self.folder.join(&self.engine)
    }

    fn place(&self, digest: &[u8; DIGEST]) -> PathBuf {
        self.of_engine().join(hex::encode(&digest[..16])).with_extension(SUFFIX)
    }

    /// Digest of this engine and a spec.
    fn digest(&self, spec: &RunSpec) -> [u8; DIGEST] {
        Sha256::new().chain_update(&self.engine).chain_update([0]).chain_update(spec.canonical()).finalize().into()
    }

    /// Looks for a finished run; ignores folders that others can write to.
    pub fn get(&self, spec: &RunSpec) -> Found {
        if spec.scheme.foreign().is_some() || trusted(&[&self.folder, &self.of_engine()]).is_err() {
            return Found::Nothing;
        }
        let digest = self.digest(spec);
        let place = self.place(&digest);
        let Some(bytes) = whole(&place) else { return Found::Nothing };
        match decode(&bytes).filter(|entry| entry.spec == digest) {
            Some(entry) => {
                Found::Run(Box::new(Done { tables: entry.tables, cpu: Duration::from_micros(entry.cpu_us) }))
            }
            None => {
                // If it cannot be removed, the next write replaces it.
                let _ = fs::remove_file(&place);
                Found::Damaged(place)
            }
        }
    }

    /// Stores a finished run, unless it uses an algorithm supplied by the caller, which has no digest.
    ///
    /// # Errors
    /// The folder cannot be written to, others can, or the disk is full.
    pub fn put(&self, spec: &RunSpec, done: &Done) -> io::Result<()> {
        if spec.scheme.foreign().is_some() {
            return Ok(());
        }
        let spec = self.digest(spec);
        let place = self.place(&spec);
        let of_engine = self.of_engine();
        trusted(&[&self.folder, &of_engine])?;
        fs::DirBuilder::new().recursive(true).mode(0o700).create(of_engine)?;
        let entry = Entry { spec, cpu_us: done.cpu.as_micros() as u64, tables: done.tables.clone() };
        let payload = postcard::to_stdvec(&entry).map_err(io::Error::other)?;
        let draft = Draft::beside(place)?;
        for part in [&MARK[..], Sha256::digest(&payload).as_slice(), &payload] {
            draft.file().write_all(part)?;
        }
        draft.publish()
    }

    /// Contents by engine.
    ///
    /// # Errors
    /// The folder cannot be read, or others can write to it.
    pub fn usage(&self) -> io::Result<Vec<Usage>> {
        trusted(&[&self.folder])?;
        let mut found = Vec::new();
        for folder in subfolders(&self.folder)? {
            let engine = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let files = runs(&folder)?;
            let bytes = files.iter().filter_map(|file| fs::metadata(file).ok()).map(|m| m.len()).sum();
            found.push(Usage { current: engine == self.engine, engine, runs: files.len(), bytes });
        }
        Ok(found)
    }

    /// Removes runs as `pruning` says, and always those of other engines. Returns the removed ones.
    ///
    /// # Errors
    /// Something cannot be read or removed, or others can write to the folder.
    pub fn prune(&self, pruning: Pruning) -> io::Result<Vec<Usage>> {
        let before = self.usage()?;
        for usage in &before {
            let folder = self.folder.join(&usage.engine);
            trusted(&[&folder])?;
            let mut files = aged(&folder)?;
            if usage.current {
                files = pruning.of(files);
            }
            for file in files {
                fs::remove_file(file.path)?;
            }
            // Drafts of killed processes: no write takes this long.
            for left in listed(&folder, is_draft)?.into_iter().filter(|left| age(left).is_some_and(|a| a > UNFINISHED))
            {
                fs::remove_file(left)?;
            }
            // Fails, as intended, if other files are left.
            let _ = fs::remove_dir(folder);
        }
        let after = self.usage()?;
        let left =
            |engine: &str| after.iter().find(|usage| usage.engine == engine).map_or((0, 0), |u| (u.runs, u.bytes));
        let gone = before.into_iter().map(|usage| {
            let (runs, bytes) = left(&usage.engine);
            Usage { runs: usage.runs.saturating_sub(runs), bytes: usage.bytes.saturating_sub(bytes), ..usage }
        });
        Ok(gone.filter(|usage| usage.runs > 0).collect())
    }
}

/// Which of this engine's runs to remove.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruning {
    /// All.
    pub all: bool,
    /// Runs older than this.
    pub older_than: Option<Duration>,
    /// The oldest, until the rest take at most this many bytes.
    pub to_bytes: Option<u64>,
}

/// A run on disk.
struct Aged {
    path: PathBuf,
    age: Duration,
    bytes: u64,
}

/// Maximum duration of a write.
const UNFINISHED: Duration = Duration::from_hours(1);

impl Pruning {
    /// The runs of an engine to remove.
    fn of(self, mut files: Vec<Aged>) -> Vec<Aged> {
        files.sort_by(|a, b| a.age.cmp(&b.age).then_with(|| a.path.cmp(&b.path)));
        let (mut kept, mut full) = (0, false);
        files.retain(|file| {
            let old = self.older_than.is_some_and(|most| file.age > most);
            // The first run that does not fit, and all older ones, go.
            full |= self.to_bytes.is_some_and(|most| kept + file.bytes > most);
            let stays = !self.all && !old && !full;
            kept += if stays { file.bytes } else { 0 };
            !stays
        });
        files
    }
}

fn aged(folder: &Path) -> io::Result<Vec<Aged>> {
    let file = |path: PathBuf| {
        let bytes = fs::metadata(&path).ok()?.len();
        Some(Aged { age: age(&path)?, bytes, path })
    };
    Ok(runs(folder)?.into_iter().filter_map(file).collect())
}

/// Age of a file; a file from the future is new.
#[expect(clippy::disallowed_methods, reason = "cached runs have an age, which no result depends on")]
fn age(path: &Path) -> Option<Duration> {
    let written = fs::metadata(path).and_then(|there| there.modified()).ok()?;
    Some(SystemTime::now().duration_since(written).unwrap_or_default())
}

fn is_draft(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains(draft::MARK))
}

/// Refuses folders that others can write to; a missing folder is empty.
fn trusted(folders: &[&Path]) -> io::Result<()> {
    let why =
        folders.iter().filter_map(|folder| fs::metadata(folder).ok()).find_map(|there| ownership::distrust(&there));
    why.map_or(Ok(()), |why| Err(io::Error::new(io::ErrorKind::PermissionDenied, why)))
}

/// Contents of a regular file; `None` for devices, FIFOs and the like.
fn whole(place: &Path) -> Option<Vec<u8>> {
    let there = fs::metadata(place).ok().filter(fs::Metadata::is_file)?;
    let (mut file, mut bytes) = (fs::File::open(place).ok()?, vec![0; MARK.len()]);
    // Read the rest only after a valid mark.
    if file.read_exact(&mut bytes).is_ok() && bytes == MARK {
        file.take(there.len()).read_to_end(&mut bytes).ok()?;
    }
    Some(bytes)
}

fn decode(bytes: &[u8]) -> Option<Entry> {
    let rest = bytes.strip_prefix(MARK)?;
    let (digest, payload) = rest.split_at_checked(DIGEST)?;
    (Sha256::digest(payload).as_slice() == digest).then_some(())?;
    postcard::from_bytes(payload).ok()
}

fn subfolders(folder: &Path) -> io::Result<Vec<PathBuf>> {
    // A link may lead to a folder outside the cache.
    listed(folder, |path| path.is_dir() && !path.is_symlink())
}

fn runs(folder: &Path) -> io::Result<Vec<PathBuf>> {
    listed(folder, |path| path.extension().is_some_and(|e| e == SUFFIX))
}

/// Entries of a folder, sorted; empty if it does not exist.
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
    found.sort_unstable();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown};

    use fanin_spec::{Scenario, Variant};

    use super::*;

    fn spec(seed: u64) -> RunSpec {
        let text = "schemes = [\"newreno\"]\n[workload]\nfragment = \"256 KiB\"\n[sweep]\nfan_in = [8]\n";
        let variants = Scenario::parse("sample.toml", text).and_then(|scenario| scenario.variants()).unwrap();
        variants[0].run(8, seed).unwrap()
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
    fn finds_stored_runs_under_any_label() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(folder.path());
        assert!(matches!(cache.get(&spec(1)), Found::Nothing));
        cache.put(&spec(1), &done(7)).unwrap();
        let other = Variant::new("other", spec(1).scheme, spec(1).settings.clone()).unwrap();
        let Found::Run(found) = cache.get(&other.run(8, 1).unwrap()) else { panic!("not found") };
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
    fn discards_damaged_entries() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(folder.path());
        cache.put(&spec(1), &done(7)).unwrap();
        let place = cache.place(&cache.digest(&spec(1)));
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
    fn discards_entries_of_another_spec() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(folder.path());
        cache.put(&spec(1), &done(7)).unwrap();
        let [one, two] = [1, 2].map(|seed| cache.place(&cache.digest(&spec(seed))));
        fs::copy(&one, &two).unwrap();
        assert!(matches!(cache.get(&spec(2)), Found::Damaged(path) if path == two));
        assert!(matches!(cache.get(&spec(2)), Found::Nothing));
        assert!(matches!(cache.get(&spec(1)), Found::Run(_)));
    }

    #[test]
    fn discards_entries_of_another_engine() {
        let folder = tempfile::tempdir().unwrap();
        let [one, other] = ["engine-a", "engine-b"].map(|engine| Cache::new(folder.path().join("cache"), engine));
        one.put(&spec(1), &done(7)).unwrap();
        other.put(&spec(1), &done(8)).unwrap();
        let [from, to] = [&one, &other].map(|cache| cache.place(&cache.digest(&spec(1))));
        fs::copy(from, &to).unwrap();
        assert!(matches!(other.get(&spec(1)), Found::Damaged(path) if path == to));
    }

    #[test]
    fn ignores_folders_that_others_can_write_to() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(folder.path());
        cache.put(&spec(1), &done(7)).unwrap();
        for open in [cache.folder.clone(), cache.of_engine()] {
            let mode = |mode| fs::set_permissions(&open, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(fs::metadata(&open).unwrap().permissions().mode() & 0o777, 0o700);
            mode(0o777);
            assert!(matches!(cache.get(&spec(1)), Found::Nothing));
            assert!(cache.put(&spec(2), &done(8)).is_err());
            assert!(cache.prune(Pruning { all: true, ..Pruning::default() }).is_err());
            mode(0o755);
            assert!(matches!(cache.get(&spec(1)), Found::Run(_)));
            mode(0o700);
        }
        assert!(matches!(cache.get(&spec(2)), Found::Nothing));
    }

    #[test]
    fn ignores_folders_of_another_user() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(folder.path());
        cache.put(&spec(1), &done(7)).unwrap();
        if chown(cache.folder(), Some(54_321), None).is_err() {
            println!("skipped: only root can give a folder to another user");
            return;
        }
        assert!(matches!(cache.get(&spec(1)), Found::Nothing));
        assert!(cache.put(&spec(2), &done(8)).is_err() && cache.usage().is_err());
    }

    #[test]
    fn ignores_special_and_oversized_files() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(folder.path());
        cache.put(&spec(1), &done(7)).unwrap();
        let place = cache.place(&cache.digest(&spec(1)));
        let fifo = folder.path().join("fifo");
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        for endless in [Path::new("/dev/zero"), &fifo] {
            fs::remove_file(&place).unwrap();
            std::os::unix::fs::symlink(endless, &place).unwrap();
            assert!(matches!(cache.get(&spec(1)), Found::Nothing), "{}", endless.display());
            // A run takes its place.
            cache.put(&spec(1), &done(7)).unwrap();
            assert!(matches!(cache.get(&spec(1)), Found::Run(_)));
        }
        // A terabyte of zeros that takes no room.
        fs::File::create(&place).unwrap().set_len(1 << 40).unwrap();
        assert!(matches!(cache.get(&spec(1)), Found::Damaged(_)));
    }

    fn engines(usage: Vec<Usage>) -> Vec<(String, usize)> {
        usage.into_iter().map(|u| (u.engine, u.runs)).collect()
    }

    #[test]
    fn prunes_other_engines_unless_all_are_requested() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(folder.path());
        cache.put(&spec(1), &done(7)).unwrap();
        Cache::new(folder.path().join("cache"), "engine-b").put(&spec(1), &done(7)).unwrap();
        assert_eq!(engines(cache.prune(Pruning::default()).unwrap()), [("engine-b".to_string(), 1)]);
        assert_eq!(engines(cache.usage().unwrap()), [("engine-a".to_string(), 1)]);
        cache.prune(Pruning { all: true, ..Pruning::default() }).unwrap();
        assert!(cache.usage().unwrap().is_empty());
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "files are made older")]
    fn prunes_the_oldest_by_age_and_size() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(folder.path());
        let day = Duration::from_hours(24);
        let places = [0, 10, 20, 30].map(|days| {
            cache.put(&spec(days), &done(7)).unwrap();
            let place = cache.place(&cache.digest(&spec(days)));
            let file = fs::File::options().write(true).open(&place).unwrap();
            file.set_modified(SystemTime::now() - day * days as u32).unwrap();
            place
        });
        let left = || places.iter().map(|place| place.exists()).collect::<Vec<_>>();
        let half_written = places[0].with_file_name(format!(".a.run{}x", draft::MARK));
        fs::write(&half_written, "").unwrap();
        let older = cache.prune(Pruning { older_than: Some(25 * day), ..Pruning::default() }).unwrap();
        assert_eq!((engines(older), left()), (vec![("engine-a".into(), 1)], vec![true, true, true, false]));
        assert!(half_written.exists(), "it may be another process's");
        let file = fs::File::options().write(true).open(&half_written).unwrap();
        file.set_modified(SystemTime::now() - day).unwrap();
        let one = fs::metadata(&places[0]).unwrap().len();
        cache.prune(Pruning { to_bytes: Some(2 * one + 1), ..Pruning::default() }).unwrap();
        assert_eq!(left(), [true, true, false, false]);
        assert!(!half_written.exists());
        cache.prune(Pruning { to_bytes: Some(0), ..Pruning::default() }).unwrap();
        assert_eq!(left(), [false; 4]);
    }
}
