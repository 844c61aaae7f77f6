//! Log thread, which writes rows into files.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

use nix::libc::O_NOFOLLOW;

use super::Settings;
use crate::messages;

/// Capacity of the queue, in batches of rows: about 8 MB.
const WAITING: usize = 256;
/// First line of a log.
pub const HEAD: &[u8] = b"time,query,key,size,server_by_hash\n";
/// Longest row, in bytes.
const LONGEST: u64 = 4096;

/// Formatted rows and their number.
#[derive(Debug, Default)]
pub struct Rows {
    /// Lines.
    pub text: Vec<u8>,
    /// Number of rows.
    pub count: u64,
}

/// Handle of the log's thread.
#[derive(Debug)]
pub struct Writer {
    /// Channel for rows.
    pub to: SyncSender<Rows>,
    files: Arc<Mutex<Files>>,
    thread: JoinHandle<()>,
}

impl Writer {
    /// Starts a log; an existing file becomes the previous one. `lost` hears of rows that could not be written.
    ///
    /// # Errors
    /// A file that cannot be created.
    pub fn start(settings: &Settings, lost: impl Fn(u64) + Send + 'static) -> io::Result<Writer> {
        let files = Arc::new(Mutex::new(Files::open(settings)?));
        let (to, rows) = sync_channel(WAITING);
        let its = files.clone();
        let work = move || write(&its, &rows, &lost);
        Ok(Writer { to, files, thread: Builder::new().name("fanin-log".to_owned()).spawn(work)? })
    }

    /// Writes nothing until this is dropped; rows wait.
    pub fn pause(&self) -> PausedLog<'_> {
        PausedLog(self.files.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits until all rows are written.
    pub fn end(self) {
        drop(self.to);
        // It ends after the last rows, and does not panic.
        let _ = self.thread.join();
    }
}

/// A log that another process may take over.
pub struct PausedLog<'a>(MutexGuard<'a, Files>);

impl PausedLog<'_> {
    /// Another process has begun new files: the remaining rows end the present one.
    pub fn end_files(&mut self) {
        self.0.size = u64::MAX;
    }
}

fn write(files: &Mutex<Files>, rows: &Receiver<Rows>, count_lost: &dyn Fn(u64)) {
    let mut loses = false;
    for rows in rows {
        let mut files = files.lock().unwrap_or_else(PoisonError::into_inner);
        // Disk full: later rows may fit again.
        let written = files.put(&rows.text);
        let (lost, path) = (written.is_err(), files.path.display());
        match written {
            Err(error) => {
                count_lost(rows.count);
                if !loses {
                    messages::warning(&format!("the log {path}: rows are lost: {error}; free space there"));
                }
            }
            Ok(()) if loses => messages::tell(&format!("the log {path}: rows are written again")),
            Ok(()) => {}
        }
        loses = lost;
    }
}

/// Files of a log.
#[derive(Debug)]
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

    fn put(&mut self, text: &[u8]) -> io::Result<()> {
        if self.written > 0 && self.written + text.len() as u64 > self.size {
            (self.file, self.written) = (turn(&self.path, self.count)?, 0);
        }
        if let Err(error) = self.file.write_all(text) {
            // The next row would be appended to a partial one.
            let _ = self.file.set_len(HEAD.len() as u64 + self.written);
            return Err(error);
        }
        self.written += text.len() as u64;
        Ok(())
    }
}

/// Removes an unfinished last row of a killed process; returns its length.
fn cut_off(path: &Path) -> io::Result<u64> {
    match fs::symlink_metadata(path) {
        Ok(there) if there.is_file() => {}
        Ok(_) => return Err(io::Error::new(ErrorKind::InvalidInput, "not a regular file; use another name")),
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
        return Err(io::Error::new(ErrorKind::InvalidData, "not a table of rows; use another name"));
    }
    if row > 0 {
        file.set_len(length - row)?;
    }
    Ok(row)
}

fn tell(path: &Path, cut: u64) {
    messages::tell(&format!("{}: removed {cut} B of an unfinished last row", path.display()));
}

/// Starts a new file and rotates the full one. The new file is created first; if that fails, all files stay.
fn turn(path: &Path, count: usize) -> io::Result<File> {
    let new = path.with_extension("csv.new");
    let file = begin(&new)?;
    if fs::symlink_metadata(path).is_ok_and(|there| there.len() > 0) {
        move_on(path, count)?;
    }
    fs::rename(new, path)?;
    Ok(file)
}

/// Creates a file that only its owner can read, since keys may be private.
fn begin(new: &Path) -> io::Result<File> {
    match fs::remove_file(new) {
        // Left by a killed process.
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let mut file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(new)?;
    let begun = file.write_all(HEAD);
    if begun.is_err() {
        // If this fails, the next step reports it.
        let _ = fs::remove_file(new);
    }
    begun.map(|()| file)
}

/// Name of a numbered file: `log.2.csv` for `log.csv`.
pub(super) fn numbered(path: &Path, number: usize) -> PathBuf {
    path.with_extension(format!("{number}.csv"))
}

/// Renames each file to the next number; the last one is deleted.
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
    fn bounds_size_and_number_of_files() {
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
    fn keeps_files_if_rotation_fails() {
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
    fn files_are_private_and_follow_no_links() {
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
    fn full_disk_leaves_whole_rows() {
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
