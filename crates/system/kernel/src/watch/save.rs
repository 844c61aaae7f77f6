//! The second around a burst, saved for a diagnosis: headers of its packets, and counters before and after.

use std::collections::VecDeque;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use libbpf_rs::Object;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::{DataLink, Endianness, TsResolution};

use crate::device;
use crate::trouble::Trouble;
use crate::watch::anonymous::Key;
use crate::watch::heads::{self, Head};
use crate::watch::row::{BurstRow, SavedRow, Threshold};

/// Time before and after a burst in its capture, and the longest capture.
const BEFORE: Duration = Duration::from_millis(400);
const AFTER: Duration = Duration::from_millis(600);
const LONGEST: Duration = Duration::from_secs(2);
/// Shortest time between two captures.
const REST: Duration = Duration::from_secs(10);
/// Time between two readings of the counters, and readings that are kept.
const READING: Duration = Duration::from_millis(200);
const READINGS: usize = 16;
/// Start of the names of the folders.
const PREFIX: &str = "burst-";

/// Which bursts are saved, and where.
#[derive(Clone, Debug)]
pub struct SaveOptions {
    /// Folder of the folders.
    pub folder: PathBuf,
    /// Figures that a burst must reach.
    pub threshold: Threshold,
    /// Bursts that are kept.
    pub keep: usize,
}

/// Counters at a time of CLOCK_MONOTONIC.
#[derive(Debug)]
struct Reading {
    at: Duration,
    netstat: String,
    device: String,
}

impl Reading {
    fn take(at: Duration, device: &str) -> Result<Reading, Trouble> {
        let netstat = fs::read_to_string("/proc/thread-self/net/netstat")?;
        let mut counters: Vec<String> =
            device::counters(device)?.iter().map(|(name, value)| format!("     {name}: {value}")).collect();
        counters.sort_unstable();
        Ok(Reading { at, netstat, device: format!("NIC statistics:\n{}\n", counters.join("\n")) })
    }
}

/// A burst whose capture ends later.
#[derive(Debug)]
struct Pending {
    row: BurstRow,
    from: Duration,
    to: Duration,
}

/// Saves bursts.
pub struct Saver {
    options: SaveOptions,
    device: String,
    key: Option<Key>,
    /// Unix time at zero of CLOCK_MONOTONIC.
    zero: Duration,
    readings: VecDeque<Reading>,
    pending: Option<Pending>,
    rests_until: Duration,
}

impl Saver {
    /// Creates the folder if it is missing.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn new(options: &SaveOptions, device: &str, key: Option<Key>, zero: Duration) -> Result<Saver, Trouble> {
        let folder = options.folder.display();
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&options.folder)
            .map_err(|error| Trouble::Input(format!("--save {folder}: cannot create the folder: {error}")))?;
        Ok(Saver {
            options: options.clone(),
            device: device.into(),
            key,
            zero,
            readings: VecDeque::new(),
            pending: None,
            rests_until: Duration::ZERO,
        })
    }

    /// Takes a burst, with its begin and end in CLOCK_MONOTONIC.
    pub fn offer(&mut self, row: &BurstRow, began: Duration, ended: Duration) {
        if self.pending.is_some() || began < self.rests_until || !self.options.threshold.is_reached_by(row) {
            return;
        }
        let to = ended + AFTER;
        let from = began.saturating_sub(BEFORE).max(to.saturating_sub(LONGEST));
        self.pending = Some(Pending { row: row.clone(), from, to });
    }

    /// Reads counters, and saves a burst whose time has come.
    ///
    /// # Errors
    /// Files cannot be read or written.
    pub fn tick(&mut self, now: Duration, object: &Object) -> Result<Option<SavedRow>, Trouble> {
        if self.readings.back().is_none_or(|last| now >= last.at + READING) {
            self.readings.push_back(Reading::take(now, &self.device)?);
            if self.readings.len() > READINGS {
                self.readings.pop_front();
            }
        }
        match self.pending.take_if(|pending| now >= pending.to) {
            None => Ok(None),
            Some(pending) => self.take(&pending, now, object).map(Some),
        }
    }

    /// Saves a burst whose time has not come yet.
    ///
    /// # Errors
    /// Files cannot be written.
    pub fn finish(&mut self, now: Duration, object: &Object) -> Result<Option<SavedRow>, Trouble> {
        self.readings.push_back(Reading::take(now, &self.device)?);
        self.pending.take().map(|pending| self.take(&pending, now, object)).transpose()
    }

    fn take(&mut self, pending: &Pending, now: Duration, object: &Object) -> Result<SavedRow, Trouble> {
        self.rests_until = now + REST;
        let heads = heads::between(object, nanos(pending.from), nanos(pending.to))?;
        self.save(pending, heads)
    }

    fn save(&self, pending: &Pending, heads: Vec<Head>) -> Result<SavedRow, Trouble> {
        let began = Duration::from_secs_f64(pending.row.start_s);
        let folder = self.options.folder.join(format!("{PREFIX}{}", began.as_millis()));
        let failed = |error: io::Error| Trouble::kernel(&format!("write {}", folder.display()), error);
        DirBuilder::new().mode(0o700).create(&folder).map_err(failed)?;
        let before = self.readings.iter().rfind(|reading| reading.at <= pending.from).or(self.readings.front());
        let (before, after) = (before.into_iter(), self.readings.back());
        let readings: Vec<&Reading> = before.chain(after).collect();
        let netstat: String = readings.iter().map(|reading| reading.netstat.as_str()).collect();
        let device: String = readings.iter().map(|reading| reading.device.as_str()).collect();
        let row = serde_json::to_string(&pending.row).map_err(io::Error::from)? + "\n";
        let packets = heads.len() as u64;
        let unix = |head: Option<&Head>, else_: Duration| {
            (self.zero + head.map_or(else_, |head| Duration::from_nanos(head.at))).as_secs_f64()
        };
        let (from_s, to_s) = (unix(heads.first(), pending.from), unix(heads.last(), pending.to));
        let capture = self.capture(heads).map_err(failed)?;
        let files = [
            ("packets.pcap", capture),
            ("netstat.txt", netstat.into()),
            ("device.txt", device.into()),
            ("burst.json", row.into()),
        ];
        for (name, content) in &files {
            // A part of a burst would be diagnosed as a whole one.
            write(&folder.join(name), content).map_err(|error| {
                let _ = fs::remove_dir_all(&folder);
                failed(error)
            })?;
        }
        let names = files[..3].iter().map(|(name, _)| folder.join(name).display().to_string()).collect();
        self.remove_oldest().map_err(failed)?;
        Ok(SavedRow { start_s: pending.row.start_s, files: names, packets, from_s, to_s })
    }

    fn capture(&self, heads: Vec<Head>) -> io::Result<Vec<u8>> {
        let header = PcapHeader {
            datalink: DataLink::ETHERNET,
            endianness: Endianness::native(),
            ts_resolution: TsResolution::NanoSecond,
            ..PcapHeader::default()
        };
        let mut writer = PcapWriter::with_header(Vec::new(), header).map_err(io::Error::other)?;
        for mut head in heads {
            if let Some(key) = &self.key {
                key.hide(&mut head.bytes);
            }
            let at = self.zero + Duration::from_nanos(head.at);
            writer.write_packet(&PcapPacket::new_owned(at, head.length, head.bytes)).map_err(io::Error::other)?;
        }
        Ok(writer.into_writer())
    }

    /// Keeps the latest folders.
    fn remove_oldest(&self) -> io::Result<()> {
        let mut kept: Vec<(u64, PathBuf)> = Vec::new();
        for entry in fs::read_dir(&self.options.folder)? {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_prefix(PREFIX));
            kept.extend(name.and_then(|name| name.parse().ok()).map(|began| (began, path.clone())));
        }
        kept.sort_unstable();
        let surplus = kept.len().saturating_sub(self.options.keep);
        kept.iter().take(surplus).try_for_each(|(_, folder)| fs::remove_dir_all(folder))
    }
}

/// Writes a new file that only its owner can read.
fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    let mut writer = BufWriter::new(file);
    writer.write_all(content)?;
    writer.flush()
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
