//! The thread that writes rows into files.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

use nix::libc::O_NOFOLLOW;

use super::Settings;
use crate::shared::Shared;

/// Handfuls of rows that may wait to be written, all threads' together: some eight megabytes.
const WAITING: usize = 256;
const HEAD: &[u8] = b"time,query,key,size,server_by_hash\n";
/// No row has more bytes.
const LONGEST: u64 = 4096;

/// Rows as they are written, and how many.
#[derive(Debug, Default)]
pub struct Rows {
    /// Lines.
    pub text: Vec<u8>,
    /// How many.
    pub count: u64,
}

/// The log's thread.
#[derive(Debug)]
pub struct Writer {
    /// Where rows go.
    pub to: SyncSender<Rows>,
    thread: JoinHandle<()>,
}

impl Writer {
    /// Begins a log; what stands in its file from before is the one before it.
    ///
    /// # Errors
    /// A file that cannot be made.
    pub fn start(settings: &Settings, shared: Arc<Shared>) -> io::Result<Writer> {
        let mut files = Files::open(settings)?;
        let (to, rows) = sync_channel(WAITING);
        let work = move || files.write(&rows, &shared);
        Ok(Writer { to, thread: Builder::new().name("fanin-log".to_owned()).spawn(work)? })
    }

    /// Waits until all is written that threads have handed on.
    pub fn end(self) {
        drop(self.to);
        // It ends with its last rows, and does not panic.
        let _ = self.thread.join();
    }
}

/// The files of a log.
struct Files {
    path: PathBuf,
    size: u64,
    count: usize,
    file: File,
    /// Bytes of rows in it.
    written: u64,
}

impl Files {
    fn open(settings: &Settings) -> io::Result<Files> {
        let (path, count) = (settings.file.clone(), settings.files);
        let told = |error: io::Error| io::Error::new(error.kind(), format!("the log {}: {error}", path.display()));
        let cut = cut_off(&path).map_err(told)?;
        if cut > 0 {
            tell(&path, cut);
        }
        let file = turn(&path, count).map_err(told)?;
        Ok(Files { size: settings.size.0, count, file, written: 0, path })
    }

    fn write(&mut self, rows: &Receiver<Rows>, shared: &Shared) {
        for rows in rows {
            // A full disk: what follows may find room.
            if self.put(&rows.text).is_err() {
                shared.lost_of_log(rows.count);
            }
        }
    }

    fn put(&mut self, text: &[u8]) -> io::Result<()> {
        if self.written > 0 && self.written + text.len() as u64 > self.size {
            (self.file, self.written) = (turn(&self.path, self.count)?, 0);
        }
        if let Err(error) = self.file.write_all(text) {
            // The next row would be read as one with the rest of this one.
            let _ = self.file.set_len(HEAD.len() as u64 + self.written);
            return Err(error);
        }
        self.written += text.len() as u64;
        Ok(())
    }
}

/// Cuts off a last row that a killed process did not finish: how many bytes it had.
fn cut_off(path: &Path) -> io::Result<u64> {
    match fs::symlink_metadata(path) {
        Ok(there) if there.is_file() => {}
        Ok(_) => return Err(io::Error::new(ErrorKind::InvalidInput, "it is no regular file; give another name")),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(error),
    }
    let mut file = OpenOptions::new().read(true).write(true).custom_flags(O_NOFOLLOW).open(path)?;
    let length = file.metadata()?.len();
    let mut end = Vec::new();
    file.seek(SeekFrom::Start(length.saturating_sub(LONGEST)))?;
    file.read_to_end(&mut end)?;
    let row = end.iter().rev().take_while(|byte| **byte != b'\n').count() as u64;
    if row >= LONGEST {
        return Err(io::Error::new(ErrorKind::InvalidData, "it is no table of rows; give another name"));
    }
    if row > 0 {
        file.set_len(length - row)?;
    }
    Ok(row)
}

#[expect(clippy::print_stderr, reason = "who starts a front end looks there")]
fn tell(path: &Path, cut: u64) {
    eprintln!("{}: cut off {cut} B of an unfinished last row", path.display());
}

/// Begins a new file in place of a full one, which moves on. The new one is there before anything moves: where it cannot be made, all
/// files stay as they are.
fn turn(path: &Path, count: usize) -> io::Result<File> {
    let new = path.with_extension("csv.new");
    let file = begin(&new)?;
    if fs::symlink_metadata(path).is_ok_and(|there| there.len() > 0) {
        move_on(path, count)?;
    }
    fs::rename(new, path)?;
    Ok(file)
}

/// A file that is new, and its owner's alone: keys say what people read.
fn begin(new: &Path) -> io::Result<File> {
    match fs::remove_file(new) {
        // A killed process left it.
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let mut file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(new)?;
    let begun = file.write_all(HEAD);
    if begun.is_err() {
        // Where it cannot be removed, the next one is.
        let _ = fs::remove_file(new);
    }
    begun.map(|()| file)
}

/// The file of a number: `log.2.csv` of `log.csv`.
fn numbered(path: &Path, number: usize) -> PathBuf {
    path.with_extension(format!("{number}.csv"))
}

/// Moves each file on by one; the last one goes.
fn move_on(path: &Path, count: usize) -> io::Result<()> {
    for number in (1..count.saturating_sub(1)).rev() {
        if fs::symlink_metadata(numbered(path, number)).is_ok() {
            fs::rename(numbered(path, number), numbered(path, number + 1))?;
        }
    }
    if count > 1 { fs::rename(path, numbered(path, 1)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::process::Command;

    use fanin_units::{Bytes, Share};

    use super::*;
    use crate::log::Naming;

    fn settings(file: &Path, size: u64) -> Settings {
        Settings { file: file.into(), share: Share::of(1, 1), naming: Naming::Plain, size: Bytes(size), files: 3 }
    }

    fn text(path: impl AsRef<Path>) -> String {
        fs::read_to_string(path).unwrap()
    }

    #[test]
    fn files_are_bounded_in_size_and_number_and_each_has_its_head() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("log.csv");
        fs::write(&file, "of before\n").unwrap();
        let mut files = Files::open(&settings(&file, 20)).unwrap();
        assert_eq!(fs::read(numbered(&file, 1)).unwrap(), b"of before\n");
        for row in ["1,a,k,1\n", "2,a,k,1\n", "3,a,k,1\n", "4,a,k,1\n", "5,a,k,1\n"] {
            files.put(row.as_bytes()).unwrap();
        }
        assert_eq!(text(&file), "time,query,key,size,server_by_hash\n5,a,k,1\n");
        assert_eq!(text(numbered(&file, 1)), "time,query,key,size,server_by_hash\n3,a,k,1\n4,a,k,1\n");
        assert_eq!(text(numbered(&file, 2)), "time,query,key,size,server_by_hash\n1,a,k,1\n2,a,k,1\n");
        assert!(!numbered(&file, 3).exists());
    }

    #[test]
    fn keeps_every_file_in_its_place_where_no_new_one_can_be_made() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("log.csv");
        let mut files = Files::open(&settings(&file, 20)).unwrap();
        for row in ["1,a,k,1\n", "2,a,k,1\n", "3,a,k,1\n"] {
            files.put(row.as_bytes()).unwrap();
        }
        let [first, second] = [text(&file), text(numbered(&file, 1))];
        // A folder in the way.
        let new = folder.path().join("log.csv.new");
        fs::create_dir(&new).unwrap();
        for _ in 0..3 {
            assert!(files.put(b"4,a,k,1\n5,a,k,1\n").is_err());
            assert_eq!([text(&file), text(numbered(&file, 1))], [first.clone(), second.clone()]);
        }
        fs::remove_dir(new).unwrap();
        files.put(b"4,a,k,1\n5,a,k,1\n").unwrap();
        assert_eq!([text(numbered(&file, 1)), text(numbered(&file, 2))], [first, second]);
    }

    #[test]
    fn cuts_off_an_unfinished_last_row() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("log.csv");
        for (before, kept, cut) in [
            ("time,query,key,size,server_by_hash\n1,a,k,1\n2,a,", "time,query,key,size,server_by_hash\n1,a,k,1\n", 4),
            ("time,query,key,size,server_by_hash\n1,a,k,1\n", "time,query,key,size,server_by_hash\n1,a,k,1\n", 0),
            ("time,qu", "", 7),
        ] {
            fs::write(&file, before).unwrap();
            assert_eq!((cut_off(&file).unwrap(), text(&file).as_str()), (cut, kept));
        }
        fs::write(&file, "x".repeat(10_000)).unwrap();
        assert!(Files::open(&settings(&file, 20)).is_err());
        assert_eq!(text(&file).len(), 10_000, "what is no log stays");
    }

    #[test]
    fn files_are_their_owners_alone_and_no_link_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let [file, target] = ["log.csv", "target"].map(|name| folder.path().join(name));
        fs::write(&target, "precious").unwrap();
        symlink(&target, &file).unwrap();
        assert!(Files::open(&settings(&file, 20)).is_err());
        fs::remove_file(&file).unwrap();
        symlink(&target, folder.path().join("log.csv.new")).unwrap();
        drop(Files::open(&settings(&file, 20)).unwrap());
        assert_eq!(text(&target), "precious");
        assert_eq!(fs::symlink_metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_full_disk_leaves_whole_rows() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"]).arg(folder.path()).output();
        if !disk.is_ok_and(|output| output.status.success()) {
            println!("skipped: no small disk can be mounted here (only root can)");
            return;
        }
        let file = folder.path().join("log.csv");
        let mut files = Files::open(&settings(&file, 1 << 20)).unwrap();
        let rows = "1,a,k,1\n".repeat(1_000);
        let put: Vec<bool> = (0..20).map(|_| files.put(rows.as_bytes()).is_ok()).collect();
        let left = text(&file);
        files.put(b"2,a,k,1\n").unwrap();
        let after = text(&file);
        drop(files);
        assert!(Command::new("umount").arg(folder.path()).status().unwrap().success());
        let kept = put.iter().filter(|put| **put).count();
        assert!(0 < kept && kept < put.len(), "{put:?}");
        assert_eq!(left, format!("time,query,key,size,server_by_hash\n{}", rows.repeat(kept)));
        assert_eq!(after, left + "2,a,k,1\n");
    }
}
