//! The packets of one run, as pcapng.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fanin_lab::Broken;
use fanin_sim::{CapturedPacket, TapPoint};
use fanin_spec::RunSpec;
use fanin_tables::RunError;
use fanin_units::Time;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use pcap_file::{DataLink, PcapError};

use crate::frame::Frames;
use crate::simulator::under_its_law;
use crate::{Error, Lab, Resolved};

/// Packets that crossed the links at a host or a port in one run.
pub struct Capture {
    spec: RunSpec,
    caught: Vec<CapturedPacket>,
    stop: Arc<AtomicBool>,
}

impl Lab {
    /// Runs the only run of a scenario, and records every packet at a host (`client`, `server3`) or at a port (`switch>client`).
    ///
    /// # Errors
    /// [`Error::Asked`] if a key is swept or there is no such place, [`Error::Broken`], [`Error::Stopped`].
    pub fn trace(&self, scenario: &Resolved, at: &str) -> Result<Capture, Error> {
        let spec = scenario.one_run()?;
        let point = if at.contains('>') { TapPoint::Port(at.into()) } else { TapPoint::Host(at.into()) };
        let stop = &*self.stop;
        match under_its_law(&spec, || fanin_simulate::tap(&spec, &point, stop)) {
            Ok(Some((_, caught))) => Ok(Capture { spec, caught, stop: Arc::clone(&self.stop) }),
            Ok(None) => {
                let (hosts, ports) = fanin_simulate::tap_points(&spec);
                let last = hosts.last().map_or("", String::as_str);
                let port = ports.first().map_or("", String::as_str);
                Err(Error::Asked(format!(
                    "--at {at}: unknown host or port; use client, server1 to {last}, or a port such as {port}"
                )))
            }
            Err(RunError::Stopped) => Err(Error::Stopped),
            Err(RunError::Broken(what)) => Err(Broken::new(&spec, what).into()),
            Err(RunError::Raised(what)) => Err(Error::Raised(Broken::new(&spec, what))),
        }
    }
}

impl Capture {
    /// The number of packets.
    pub fn len(&self) -> usize {
        self.caught.len()
    }

    /// Whether there are no packets.
    pub fn is_empty(&self) -> bool {
        self.caught.is_empty()
    }

    /// The time of the last packet.
    pub fn last(&self) -> Option<Time> {
        self.caught.last().map(|caught| caught.time)
    }

    /// Writes one interface per link, in the order of their first packets, and every packet with a timestamp in nanoseconds.
    ///
    /// # Errors
    /// [`Error::Unwritten`], [`Error::Stopped`].
    pub fn write(&self, file: impl Write) -> Result<(), Error> {
        let unwritten = |error| {
            Error::Unwritten(match error {
                PcapError::IoError(error) => error.to_string(),
                other => other.to_string(),
            })
        };
        let mut writer = PcapNgWriter::new(file).map_err(unwritten)?;
        let mut interfaces: BTreeMap<&str, u32> = BTreeMap::new();
        let (mut ids, mut frames): (BTreeMap<u32, u16>, _) = (BTreeMap::new(), Frames::new(&self.spec));
        for one in &self.caught {
            if self.stop.load(Ordering::Relaxed) {
                return Err(Error::Stopped);
            }
            let next = interfaces.len() as u32;
            let interface_id = *interfaces.entry(&one.port).or_insert(next);
            if interface_id == next {
                writer.write_pcapng_block(interface(&one.port)).map_err(unwritten)?;
            }
            let id = ids.entry(one.from.0).or_default();
            for data in frames.of(one, id).map_err(Error::Unwritten)? {
                let block = EnhancedPacketBlock {
                    interface_id,
                    timestamp: Duration::from_nanos(one.time.0 / 1000),
                    original_len: data.len() as u32,
                    data: Cow::Owned(data),
                    options: Vec::new(),
                };
                writer.write_pcapng_block(block).map_err(unwritten)?;
            }
        }
        writer.into_inner().flush().map_err(|error| Error::Unwritten(error.to_string()))
    }
}

/// Raw IP packets, stamped in nanoseconds.
fn interface(name: &str) -> InterfaceDescriptionBlock<'_> {
    InterfaceDescriptionBlock {
        linktype: DataLink::RAW,
        snaplen: 0,
        options: vec![
            InterfaceDescriptionOption::IfName(Cow::Borrowed(name)),
            InterfaceDescriptionOption::IfTsResol(9),
        ],
    }
}
