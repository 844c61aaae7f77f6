//! Files of hourly figures (`fanin watch --write`).

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::trouble::Trouble;
use crate::watch::figures::Figures;
use crate::watch::summary::{HOUR, HourRow};

/// Writes a host's figures of each hour to a file.
pub struct Hours {
    file: PathBuf,
    row: HourRow,
    /// Unix time from which the row's figures are.
    since: Duration,
}

impl Hours {
    /// Opens the file in a folder, which is created if it is missing.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn new(folder: &Path, device: &str, rack: Option<String>, now: Duration) -> Result<Hours, Trouble> {
        let host = fs::read_to_string("/proc/sys/kernel/hostname")?.trim().to_string();
        let file = folder.join(format!("{host}-{device}.jsonl"));
        let created = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        created.and_then(|()| open(&file)).map_err(|error| {
            Trouble::Input(format!("--write {}: cannot write {}: {error}", folder.display(), file.display()))
        })?;
        let (device, start_s) = (device.into(), hour(now));
        let row = HourRow { host, device, rack, start_s, watched_s: 0.0, figures: Figures::default() };
        Ok(Hours { file, row, since: now })
    }

    /// The current hour's figures; those of the last one are written.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn figures(&mut self, now: Duration) -> Result<&mut Figures, Trouble> {
        if hour(now) != self.row.start_s {
            self.write(now)?;
            self.row.start_s = hour(now);
        }
        Ok(&mut self.row.figures)
    }

    /// Writes the figures until now.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn write(&mut self, now: Duration) -> Result<(), Trouble> {
        self.row.watched_s = now.saturating_sub(self.since).as_secs_f64();
        let line = serde_json::to_string(&self.row).map_err(io::Error::from)? + "\n";
        let written = open(&self.file).and_then(|mut file| file.write_all(line.as_bytes()));
        written.map_err(|error| Trouble::kernel(&format!("write {}", self.file.display()), error))?;
        self.row.figures = Figures::default();
        self.since = now;
        Ok(())
    }
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
        hours.figures(time(31)).unwrap().bursts += 1;
        hours.figures(time(61)).unwrap().bursts += 2;
        hours.figures(time(62)).unwrap().bursts += 3;
        hours.write(time(70)).unwrap();
        let text = fs::read_to_string(&hours.file).unwrap();
        let rows = read("file", &text).unwrap();
        let figures: Vec<_> = rows.iter().map(|row| (row.start_s, row.watched_s, row.figures.bursts)).collect();
        assert_eq!(figures, [(0, 31.0 * 60.0, 1), (3_600, 9.0 * 60.0, 5)]);
    }
}
