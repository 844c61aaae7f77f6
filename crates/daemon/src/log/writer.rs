//! The thread that writes rows into files.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use super::Settings;
use crate::shared::Shared;

/// Handfuls of rows that may wait to be written, all threads' together: some eight megabytes.
const WAITING: usize = 256;
/// What was written is seen by others no later than so.
const FLUSH: Duration = Duration::from_secs(1);
const HEAD: &[u8] = b"time,query,key,size\n";

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
    file: BufWriter<File>,
    written: u64,
}

impl Files {
    fn open(settings: &Settings) -> io::Result<Files> {
        let (path, count) = (settings.file.clone(), settings.files);
        if fs::metadata(&path).is_ok_and(|file| file.len() > 0) {
            move_on(&path, count)?;
        }
        Ok(Files { size: settings.size.0, count, file: begin(&path)?, written: 0, path })
    }

    fn write(&mut self, rows: &Receiver<Rows>, shared: &Shared) {
        loop {
            let told = match rows.recv_timeout(FLUSH) {
                Ok(rows) => self.put(&rows.text).map_err(|error| (rows.count, error)),
                Err(RecvTimeoutError::Timeout) => self.file.flush().map_err(|error| (0, error)),
                Err(RecvTimeoutError::Disconnected) => return drop(self.file.flush()),
            };
            // A full disk: what follows may find room.
            if let Err((count, _)) = told {
                shared.lost_of_log(count);
            }
        }
    }

    fn put(&mut self, text: &[u8]) -> io::Result<()> {
        if self.written > 0 && self.written + text.len() as u64 > self.size {
            self.file.flush()?;
            move_on(&self.path, self.count)?;
            (self.file, self.written) = (begin(&self.path)?, 0);
        }
        self.file.write_all(text)?;
        self.written += text.len() as u64;
        Ok(())
    }
}

fn begin(path: &Path) -> io::Result<BufWriter<File>> {
    let mut file = File::create(path)?;
    file.write_all(HEAD)?;
    Ok(BufWriter::new(file))
}

/// The file of a number: `log.2.csv` of `log.csv`.
fn numbered(path: &Path, number: usize) -> PathBuf {
    path.with_extension(format!("{number}.csv"))
}

/// Moves each file on by one; the last one goes.
fn move_on(path: &Path, count: usize) -> io::Result<()> {
    for number in (1..count.saturating_sub(1)).rev() {
        if numbered(path, number).exists() {
            fs::rename(numbered(path, number), numbered(path, number + 1))?;
        }
    }
    if count > 1 { fs::rename(path, numbered(path, 1)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use fanin_units::{Bytes, Share};

    use super::*;
    use crate::log::Naming;

    #[test]
    fn files_are_bounded_in_size_and_number_and_each_has_its_head() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("log.csv");
        let settings =
            Settings { file: file.clone(), share: Share::of(1, 1), naming: Naming::Plain, size: Bytes(20), files: 3 };
        fs::write(&file, "of before\n").unwrap();
        let mut files = Files::open(&settings).unwrap();
        assert_eq!(fs::read(numbered(&file, 1)).unwrap(), b"of before\n");
        for row in ["1,a,k,1\n", "2,a,k,1\n", "3,a,k,1\n", "4,a,k,1\n", "5,a,k,1\n"] {
            files.put(row.as_bytes()).unwrap();
        }
        files.file.flush().unwrap();
        let text = |path: PathBuf| fs::read_to_string(path).unwrap();
        assert_eq!(text(file.clone()), "time,query,key,size\n5,a,k,1\n");
        assert_eq!(text(numbered(&file, 1)), "time,query,key,size\n3,a,k,1\n4,a,k,1\n");
        assert_eq!(text(numbered(&file, 2)), "time,query,key,size\n1,a,k,1\n2,a,k,1\n");
        assert!(!numbered(&file, 3).exists());
    }
}
