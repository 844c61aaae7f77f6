//! Reading of files named by users. Limits protect against pipes without a writer and endless devices.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::Duration;

use fanin_lab::figures;

use crate::embedded;

/// Maximum size of a scenario or a paper's file.
pub const SCENARIO_MAX: usize = 16_000_000;
/// Maximum size of a list of flows or a table of sizes.
pub const NAMED_MAX: usize = 500_000_000;

/// Maximum time without data.
const SILENCE: Duration = Duration::from_secs(10);
const CHUNK: usize = 1 << 16;

/// Reads a text of at most `most` bytes.
///
/// # Errors
/// Errors of the file system, ten seconds without data, more than `most` bytes, or `InvalidData` for other encodings than UTF-8.
pub fn text(path: &Path, most: usize) -> io::Result<String> {
    String::from_utf8(bytes(path, most)?).map_err(|_| io::Error::new(ErrorKind::InvalidData, "not UTF-8"))
}

/// Reads a file of at most `most` bytes.
///
/// # Errors
/// As [`text`], but for any contents.
pub fn bytes(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    match embedded::text(path) {
        Some(text) => Ok(text.into()),
        None => bytes_within(path, most, SILENCE),
    }
}

fn bytes_within(path: &Path, most: usize, silence: Duration) -> io::Result<Vec<u8>> {
    let (tell, pieces) = mpsc::sync_channel(1);
    let path = path.to_path_buf();
    // Opening a pipe may block forever. The thread ends with the program if no reader is left.
    thread::spawn(move || {
        if let Err(error) = read(&path, &tell) {
            let _ = tell.send(Err(error));
        }
    });
    let mut contents = Vec::new();
    loop {
        match pieces.recv_timeout(silence) {
            Ok(piece) => contents.extend(piece?),
            Err(RecvTimeoutError::Timeout) => {
                let what = format!("no data for {} s", silence.as_secs());
                return Err(io::Error::new(ErrorKind::TimedOut, what));
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if contents.len() > most {
            return Err(io::Error::new(
                ErrorKind::FileTooLarge,
                format!("longer than {}", figures::bytes(most as f64)),
            ));
        }
    }
    Ok(contents)
}

/// Sends a file in pieces until its end, or until no reader is left.
fn read(path: &Path, tell: &SyncSender<io::Result<Vec<u8>>>) -> io::Result<()> {
    let mut file = File::open(path)?;
    loop {
        let mut piece = vec![0; CHUNK];
        match file.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(length) => {
                piece.truncate(length);
                if tell.send(Ok(piece)).is_err() {
                    return Ok(());
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn refused(path: impl AsRef<Path>) -> String {
        bytes_within(path.as_ref(), 1000, Duration::from_millis(200)).unwrap_err().to_string()
    }

    #[test]
    fn limits_the_size_of_a_text() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("text");
        std::fs::write(&file, "x".repeat(1000)).unwrap();
        assert_eq!(text(&file, 1000).unwrap().len(), 1000);
        std::fs::write(&file, "x".repeat(1001)).unwrap();
        assert_eq!(refused(&file), "longer than 1.00 KB");
        assert_eq!(refused("/dev/zero"), "longer than 1.00 KB");
        std::fs::write(&file, b"\xe9").unwrap();
        assert_eq!(text(&file, 1000).unwrap_err().to_string(), "not UTF-8");
    }

    #[test]
    fn gives_up_a_pipe_without_a_writer() {
        let folder = tempfile::tempdir().unwrap();
        // The thread of a pipe that was given up still waits, and could steal data of a second open.
        let [silent, pipe] = ["silent", "pipe"].map(|name| folder.path().join(name));
        assert!(Command::new("mkfifo").args([&silent, &pipe]).status().unwrap().success());
        assert_eq!(refused(&silent), "no data for 0 s");
        let writer = thread::spawn({
            let pipe = pipe.clone();
            move || std::fs::write(pipe, "late").unwrap()
        });
        assert_eq!(text(&pipe, 1000).unwrap(), "late");
        writer.join().unwrap();
    }
}
