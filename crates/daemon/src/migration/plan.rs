//! Reader of a plan's folder, as `fanin plan --out` writes it: `plan.json` names the cluster and the digest of `placement.csv`, which has
//! each key's server and, if known, its previous one.

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use csv::{ByteRecord, ReaderBuilder};
use fanin_memcache::LONGEST_KEY;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::Stage;
use super::moves::{BY_HASH, Moves, Row};
use crate::log::Secret;
use crate::routing::Router;

/// Files of the folder.
pub const PLAN: &str = "plan.json";
pub const PLACEMENT: &str = "placement.csv";
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

/// Pool for which a plan is read.
pub struct Reader<'a> {
    /// Names of the pool's servers.
    pub names: Vec<&'a str>,
    /// Placement by hash.
    pub router: &'a Router,
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
    let wrong = || unfit(format!("`{}` is not a stage; use one of {}", shown(word.as_bytes()), known()));
    Stage::of_word(word).map(Some).ok_or_else(wrong)
}

impl Reader<'_> {
    /// Reads the moves of a folder's plan.
    pub fn read(&self, folder: &Path) -> Result<Moves, InvalidPlan> {
        let path = folder.join(PLAN);
        let digest = self.same(&path).map_err(|what| InvalidPlan { path, what })?;
        let path = folder.join(PLACEMENT);
        let unfit = |what: String| InvalidPlan { path: path.clone(), what };
        let file = File::open(&path).map_err(|error| unfit(error.to_string()))?;
        let mut digesting = Digesting { file: BufReader::new(file), digest: Sha256::new() };
        let read = self.rows(&mut digesting);
        io::copy(&mut digesting, &mut io::sink()).map_err(|error| unfit(error.to_string()))?;
        // This error explains all others.
        if digesting.hex() != digest {
            return Err(unfit(format!(
                "the digest does not match {PLAN}: the file is damaged or incomplete; use the folder of a plan's --out"
            )));
        }
        let (rows, secret) = read.map_err(&unfit)?;
        Ok(Moves::new(rows, secret, digest))
    }

    /// Checks that the plan is for this cluster, and returns the digest of its table.
    fn same(&self, path: &Path) -> Result<String, String> {
        let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
        let plan: Value = serde_json::from_str(&text).map_err(|error| format!("not a plan: {error}"))?;
        let number = |key: &str| plan.pointer(&format!("/cluster/{key}")).and_then(Value::as_u64);
        let (Some(servers), Some(replicas)) = (number("servers"), number("replicas")) else {
            return Err("the plan does not name its cluster; use a folder that `fanin plan --out` wrote".into());
        };
        if servers != self.names.len() as u64 {
            return Err(format!(
                "the plan is for another cluster with {servers} servers; this pool has {}",
                self.names.len()
            ));
        }
        let listed = plan.get("servers").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        if let Some((number, (theirs, ours))) = (1..).zip(listed.zip(&self.names)).find(|(_, (one, two))| one != *two) {
            return Err(format!(
                "the plan is for another cluster: its server {number} is {}, this pool's is {ours}",
                shown(theirs.as_bytes())
            ));
        }
        if replicas != 1 {
            return Err(format!(
                "the plan has {replicas} replicas per key, a front end has one; use a plan made with \
                 `key_value.replicas` of 1"
            ));
        }
        let digest = plan.get("placement_sha256").and_then(Value::as_str);
        digest.map(str::to_owned).ok_or_else(|| format!("it has no digest of {PLACEMENT}; make the plan again"))
    }

    /// Reads the rows of keys that move or are not where their hashes say, and the secret by which they are hashed.
    pub(super) fn rows(&self, table: impl Read) -> Result<(Vec<Row>, Secret), String> {
        let mut reader = ReaderBuilder::new().from_reader(table);
        let header = reader.byte_headers().map_err(|error| error.to_string())?;
        if header.iter().ne([&b"key"[..], b"server", b"was"]) {
            return Err("line 1: use the columns key,server,was".into());
        }
        let (mut rows, mut record, mut hashed) = (Vec::new(), ByteRecord::new(), None);
        let mut lines: Vec<(u128, u64)> = Vec::new();
        while reader.read_byte_record(&mut record).map_err(|error| error.to_string())? {
            let line = record.position().map_or(0, csv::Position::line);
            let at = |what: String| format!("line {line}: {what}");
            let name = hashed_name(&record[0]);
            if *hashed.get_or_insert(name.is_some()) != name.is_some() {
                return Err(at("some keys are hashed and others are not; use logs of one kind".into()));
            }
            let new = self.server(&record[1]).map_err(at)?;
            let was = if record[2].is_empty() { BY_HASH } else { self.server(&record[2]).map_err(at)? };
            let (hash, old, new) = match name {
                Some((id, hash)) => (self.known(id, hash).map_err(at)?, was, new),
                None => {
                    let key = plain(&record[0]);
                    // Not a valid memcached key.
                    if key.is_empty() || key.len() > LONGEST_KEY {
                        continue;
                    }
                    let router = self.router.server(&key) as u32;
                    let canonical = |server| if server == router { BY_HASH } else { server };
                    let (old, new) = (canonical(was), canonical(new));
                    lines.push((self.drawn.hash(&key), line));
                    if (old, new) == (BY_HASH, BY_HASH) {
                        continue;
                    }
                    (self.drawn.hash(&key), old, new)
                }
            };
            if name.is_some() {
                lines.push((hash, line));
            }
            rows.push(Row::new(hash, old, new));
        }
        lines.sort_unstable();
        if let Some([(_, first), (_, second)]) = lines.array_windows().find(|[one, two]| one.0 == two.0) {
            return Err(format!("line {second}: duplicate of the key in line {first}"));
        }
        let secret = self.secret.filter(|_| hashed == Some(true)).unwrap_or(self.drawn);
        Ok((rows, secret))
    }

    fn server(&self, text: &[u8]) -> Result<u32, String> {
        let number = str::from_utf8(text).ok().and_then(|text| text.parse::<u32>().ok());
        let servers = self.names.len() as u32;
        let found = number.filter(|number| (1..=servers).contains(number));
        found.map(|number| number - 1).ok_or_else(|| format!("`{}` is not a server: use 1 to {servers}", shown(text)))
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

/// Printable form of bytes.
fn shown(text: &[u8]) -> String {
    text.iter().take(40).map(|byte| byte.escape_ascii().to_string()).collect()
}

/// The secret's id and the hash of a name `~0123abcd~` with 32 digits.
fn hashed_name(name: &[u8]) -> Option<(u32, u128)> {
    let text = str::from_utf8(name).ok()?;
    let (id, hash) = text.strip_prefix('~')?.split_once('~')?;
    let hex = |text: &str, len| text.len() == len && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let right = hex(id, 8) && hex(hash, 32);
    right.then(|| Some((u32::from_str_radix(id, 16).ok()?, u128::from_str_radix(hash, 16).ok()?)))?
}

/// The server that the hash of a logged key selects, if the name contains the key.
pub fn by_hash(name: &[u8], router: &Router) -> Option<u32> {
    hashed_name(name).is_none().then(|| router.server(&plain(name)) as u32)
}

/// Decodes a key's name in a log: `%3A` is one byte.
fn plain(name: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some((byte, behind)) = rest.split_first() {
        let digits = behind.get(..2).filter(|digits| *byte == b'%' && digits.iter().all(u8::is_ascii_hexdigit));
        let coded = digits.and_then(|digits| u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok());
        key.push(coded.unwrap_or(*byte));
        rest = if coded.is_some() { &behind[2..] } else { behind };
    }
    key
}

/// A file whose digest is computed while it is read.
struct Digesting {
    file: BufReader<File>,
    digest: Sha256,
}

impl Digesting {
    fn hex(self) -> String {
        self.digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl Read for Digesting {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(into)?;
        self.digest.update(&into[..count]);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::{Hash, Placement, Weighted};

    #[test]
    fn named_and_unnamed_hash_placement_agree() {
        let servers: Vec<Weighted> =
            (0..4).map(|number| Weighted { name: format!("10.0.0.{number}"), weight: 1 }).collect();
        let router = Router::new(Placement::WORDS[0].1, Hash::Fnv1a64, &servers);
        let drawn = Secret::of(b"sixteen bytes or more").unwrap();
        let names = servers.iter().map(|server| server.name.as_str()).collect();
        let reader = Reader { names, router: &router, secret: None, drawn };
        let by_hash = router.server(b"1-key") as u32 + 1;
        let other = by_hash % 4 + 1;
        let read = |new: u32, was: &str| {
            let table = format!("key,server,was\n1-key,{new},{was}\n");
            reader.rows(table.as_bytes()).unwrap().0.first().map(|row| (row.old, row.new))
        };
        assert_eq!(read(other, &by_hash.to_string()), Some((BY_HASH, other - 1)));
        assert_eq!(read(other, ""), Some((BY_HASH, other - 1)));
        assert_eq!(read(by_hash, &other.to_string()), Some((other - 1, BY_HASH)));
        assert_eq!((read(by_hash, ""), read(by_hash, &by_hash.to_string())), (None, None));
    }

    #[test]
    fn decodes_key_names_of_a_log() {
        assert_eq!(plain(b"a%3Ab%20c%zz%4"), b"a:b c%zz%4");
        let right = (0x0123_abcd, 0x0001_0203_0405_0607_0809_0a0b_0c0d_0e0f);
        assert_eq!(hashed_name(b"~0123abcd~000102030405060708090a0b0c0d0e0f"), Some(right));
        for name in [&b"~0123abcd~00"[..], b"~+123abcd~000102030405060708090a0b0c0d0e0f", b"~", b"", b"\xff~"] {
            assert_eq!(hashed_name(name), None);
        }
    }
}
