//! Files of hourly figures (`fanin watch --write`).

use std::collections::VecDeque;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::names::printable;
use crate::trouble::Trouble;
use crate::watch::figures::Figures;
use crate::watch::summary::{HOUR, HourRow};

/// Writes a host's figures of each hour to a file.
pub struct Hours {
    file: PathBuf,
    row: HourRow,
    /// Unix time from which the row's figures are.
    since: Duration,
    /// Rows that could not be written.
    lines: VecDeque<String>,
}

/// Rows that are kept until they can be written: those of a week.
const MOST_LINES: usize = 168;

impl Hours {
    /// Opens the file in a folder, which is created if it is missing.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn new(folder: &Path, device: &str, rack: Option<String>, now: Duration) -> Result<Hours, Trouble> {
        let host = printable(fs::read_to_string("/proc/sys/kernel/hostname")?.trim());
        let device = printable(device);
        let file = folder.join(format!("{host}-{device}.jsonl"));
        let created = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        created.and_then(|()| open(&file)).map_err(|error| {
            Trouble::Input(format!("--write {}: cannot write {}: {error}", folder.display(), file.display()))
        })?;
        let start_s = hour(now);
        let row = HourRow { host, device, rack, start_s, watched_s: 0.0, figures: Figures::default() };
        Ok(Hours { file, row, since: now, lines: VecDeque::new() })
    }

    /// The current hour's figures.
    pub fn figures(&mut self) -> &mut Figures {
        &mut self.row.figures
    }

    /// Writes the figures of an hour that has ended.
    ///
    /// # Errors
    /// They cannot be written, and are kept for the next time.
    pub fn tick(&mut self, now: Duration) -> Result<(), Trouble> {
        if hour(now) == self.row.start_s {
            return Ok(());
        }
        let written = self.write(now);
        self.row.start_s = hour(now);
        written
    }

    /// Writes the figures until now.
    ///
    /// # Errors
    /// They cannot be written, and are kept for the next time.
    pub fn write(&mut self, now: Duration) -> Result<(), Trouble> {
        self.row.watched_s = now.saturating_sub(self.since).as_secs_f64();
        let line = serde_json::to_string(&self.row).map_err(io::Error::from)? + "\n";
        self.row.figures = Figures::default();
        self.since = now;
        self.lines.push_back(line);
        if self.lines.len() > MOST_LINES {
            self.lines.pop_front();
        }
        while let Some(line) = self.lines.front() {
            append(&self.file, line)
                .map_err(|error| Trouble::kernel(&format!("write {}", self.file.display()), error))?;
            self.lines.pop_front();
        }
        Ok(())
    }
}

/// Appends a line, or nothing: a part of one would damage the next.
fn append(path: &Path, line: &str) -> io::Result<()> {
    let mut file = open(path)?;
    let length = file.metadata()?.len();
    file.write_all(line.as_bytes()).inspect_err(|_| {
        let _ = file.set_len(length);
    })
}

fn hour(unix: Duration) -> u64 {
    unix.as_secs() / HOUR * HOUR
}

/// Opens a file that only its owner can read, without following links.
fn open(file: &Path) -> io::Result<fs::File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600).custom_flags(nix::libc::O_NOFOLLOW).open(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::summary::read;

    #[test]
    fn each_hour_has_a_row() {
        let folder = tempfile::tempdir().unwrap();
        let time = |minutes: u64| Duration::from_secs(minutes * 60);
        let mut hours = Hours::new(folder.path(), "eth0", None, time(30)).unwrap();
        for (minutes, bursts) in [(31, 1), (61, 2), (62, 3)] {
            hours.tick(time(minutes)).unwrap();
            hours.figures().bursts += bursts;
        }
        hours.write(time(70)).unwrap();
        let text = fs::read_to_string(&hours.file).unwrap();
        let rows = read("file", &text).unwrap();
        let figures: Vec<_> = rows.iter().map(|row| (row.start_s, row.watched_s, row.figures.bursts)).collect();
        assert_eq!(figures, [(0, 31.0 * 60.0, 1), (3_600, 9.0 * 60.0, 5)]);
    }

    #[test]
    fn rows_wait_until_they_can_be_written() {
        let folder = tempfile::tempdir().unwrap();
        let time = |minutes: u64| Duration::from_secs(minutes * 60);
        let mut hours = Hours::new(folder.path(), "eth0", None, time(30)).unwrap();
        fs::remove_file(&hours.file).unwrap();
        // A folder has its place.
        fs::create_dir(&hours.file).unwrap();
        hours.tick(time(61)).unwrap_err();
        hours.tick(time(62)).unwrap();
        hours.tick(time(121)).unwrap_err();
        fs::remove_dir(&hours.file).unwrap();
        hours.write(time(150)).unwrap();
        let rows = read("file", &fs::read_to_string(&hours.file).unwrap()).unwrap();
        assert_eq!(rows.iter().map(|row| row.start_s).collect::<Vec<_>>(), [0, 3_600, 7_200]);
    }
}
