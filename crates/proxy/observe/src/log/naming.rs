//! Names of keys in a log: plain, or hashed with a secret.

use std::fs::{File, OpenOptions};
use std::hash::Hasher;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use fanin_plan_files::key_name;
use rand::TryRng;
use rand::rngs::SysRng;
use sha2::{Digest, Sha256};
use siphasher::sip128::{Hasher128, SipHasher24};

/// Minimum length of a secret.
const LEAST: usize = 16;

/// Secret shared by front ends that write the same names.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Secret {
    key: [u8; 16],
    id: u32,
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "secret {:08x}", self.id)
    }
}

/// Checks that a file belongs to this user or to root: another one would know the secret.
fn is_own(file: &File) -> io::Result<()> {
    let owner = file.metadata()?.uid();
    if [0, nix::unistd::geteuid().as_raw()].contains(&owner) {
        return Ok(());
    }
    let why = format!("it belongs to another user ({owner}), who knows the secret: use a file of this user or of root");
    Err(io::Error::new(ErrorKind::PermissionDenied, why))
}

impl Secret {
    /// Derives it from bytes, ignoring surrounding white space; none if there are too few.
    pub fn of(bytes: &[u8]) -> Option<Secret> {
        let bytes = bytes.trim_ascii();
        let digest = Sha256::digest(bytes);
        let (key, rest) = digest.split_first_chunk::<16>()?;
        let id = u32::from_be_bytes(*rest.first_chunk::<4>()?);
        (bytes.len() >= LEAST).then_some(Secret { key: *key, id })
    }

    /// Derives it from a file, which is created if it does not exist.
    ///
    /// # Errors
    /// A file that cannot be read or created, or is too short.
    pub fn of_file(path: &Path) -> io::Result<Secret> {
        let bytes = match File::open(path) {
            Ok(mut file) => {
                is_own(&file)?;
                let mut bytes = Vec::new();
                file.read_to_end(&mut bytes)?;
                bytes
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let mut drawn = [0; 32];
                SysRng.try_fill_bytes(&mut drawn).map_err(io::Error::other)?;
                let text = drawn.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
                let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
                file.write_all(text.as_bytes())?;
                text.into_bytes()
            }
            Err(error) => return Err(error),
        };
        let short = || io::Error::new(ErrorKind::InvalidData, format!("a secret needs at least {LEAST} B"));
        Secret::of(&bytes).ok_or_else(short)
    }

    /// Draws a random one.
    ///
    /// # Errors
    /// The system has no randomness.
    pub fn drawn() -> io::Result<Secret> {
        let mut key = [0; 16];
        SysRng.try_fill_bytes(&mut key).map_err(io::Error::other)?;
        Ok(Secret { key, id: 0 })
    }

    /// Encodes it, for storage that only the owner can read.
    pub fn to_bytes(self) -> [u8; 20] {
        let mut bytes = [0; 20];
        bytes[..16].copy_from_slice(&self.key);
        bytes[16..].copy_from_slice(&self.id.to_le_bytes());
        bytes
    }

    /// Decodes it.
    pub fn from_bytes(bytes: &[u8; 20]) -> Secret {
        Secret {
            key: core::array::from_fn(|at| bytes[at]),
            id: u32::from_le_bytes(core::array::from_fn(|at| bytes[16 + at])),
        }
    }

    /// Its id, which hashed names contain.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Hash of a key: SipHash-2-4 with 128 bits.
    pub fn hash(&self, key: &[u8]) -> u128 {
        let mut hasher = SipHasher24::new_with_key(&self.key);
        hasher.write(key);
        hasher.finish128().as_u128()
    }
}

/// Format of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// The keys themselves, with unsafe bytes escaped.
    Plain,
    /// Their hashes by this secret.
    Hashed(Secret),
}

impl Naming {
    /// Writes a key's name.
    pub fn write(&self, key: &[u8], out: &mut Vec<u8>) {
        match self {
            Naming::Plain => key_name::write_plain(key, out),
            Naming::Hashed(secret) => key_name::write_hashed(secret.id, secret.hash(key), out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(naming: Naming, key: &[u8]) -> String {
        let mut out = Vec::new();
        naming.write(key, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn hash_depends_on_secret_and_names_it() {
        let one = Naming::Hashed(Secret::of(b"sixteen bytes or more\n").unwrap());
        let same = Naming::Hashed(Secret::of(b"  sixteen bytes or more").unwrap());
        let other = Naming::Hashed(Secret::of(b"sixteen bytes or less").unwrap());
        assert_eq!(named(one, b"key"), named(same, b"key"));
        assert_ne!(named(one, b"key")[..10], named(other, b"key")[..10]);
        assert_ne!(named(one, b"key"), named(one, b"kez"));
        assert_eq!((named(one, b"key").len(), Secret::of(b"too short")), (42, None));
    }

    #[test]
    fn hash_is_siphash_128() {
        // First vectors of the hash's authors: key 00 to 0f, empty input and the byte 00.
        let secret = Secret { key: core::array::from_fn(|byte| byte as u8), id: 0 };
        let bytes = |key: &[u8]| secret.hash(key).to_le_bytes();
        assert_eq!(bytes(b"")[..4], [0xa3, 0x81, 0x7f, 0x04]);
        assert_eq!(bytes(&[0])[..4], [0xda, 0x87, 0xc1, 0xd8]);
    }

    #[test]
    fn creates_missing_secret_for_owner_only() {
        use std::fs;
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        let made = Secret::of_file(&path).unwrap();
        assert_eq!(Secret::of_file(&path).unwrap(), made);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::write(&path, "short").unwrap();
        assert!(Secret::of_file(&path).unwrap_err().to_string().contains("at least 16 B"));
    }

    #[test]
    fn refuses_secret_of_another_user() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        Secret::of_file(&path).unwrap();
        if std::os::unix::fs::chown(&path, Some(65534), None).is_err() {
            return println!("skipped: only root can give files to other users");
        }
        assert_eq!(Secret::of_file(&path).unwrap_err().kind(), ErrorKind::PermissionDenied);
    }
}
