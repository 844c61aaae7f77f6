//! Captures as a stream of frames: pcap and pcapng. Keeps a bounded piece in memory, and records the byte up to which a damaged file was
//! readable.

use std::borrow::Cow;
use std::io::Read;

use pcap_file::pcap::PcapParser;
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::blocks::interface_statistics::InterfaceStatisticsOption;
use pcap_file::pcapng::{Block, PcapNgParser};
use pcap_file::{PcapError, TsResolution};

use crate::input::Kind;

/// Bytes per read.
const PIECE: usize = 256 << 10;
/// A larger packet or block means damage: no link has such frames.
const LARGEST: usize = 16 << 20;
/// Limits the memory that a crafted file can claim.
const MOST_INTERFACES: usize = 4096;

/// A captured frame.
#[derive(Debug)]
pub(crate) struct Frame<'a> {
    /// Nanoseconds since the epoch.
    pub at: u64,
    /// The interface's number in the file.
    pub interface: u32,
    /// The link type's number in tcpdump's list.
    pub link: u32,
    /// Length on the wire.
    pub length: u32,
    pub bytes: &'a [u8],
}

/// End of a capture, with the file's own statistics.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct End {
    /// Frames that were read.
    pub frames: u64,
    /// Offset up to which the unpacked capture was read.
    pub bytes: u64,
    /// Why reading stopped before the end of the file.
    pub broken: Option<String>,
    /// Packets that the capturing host dropped, if the file contains that number.
    pub dropped: Option<u64>,
    /// The largest captured length, if frames were truncated.
    pub snap: Option<u32>,
    /// Unknown blocks, which were skipped.
    pub skipped: u64,
}

/// Reads all frames.
pub(crate) fn frames(kind: Kind, stream: &mut dyn Read, see: &mut dyn FnMut(&Frame<'_>)) -> End {
    let mut source = Source { stream, buffer: Vec::new(), from: 0, ended: None };
    let mut end = End::default();
    let told = match kind {
        Kind::Pcap => plain(&mut source, &mut end, see),
        _ => blocks(&mut source, &mut end, see),
    };
    end.broken = told.err();
    end
}

/// Parses the beginning of some bytes; returns how many it used.
type Parse<'a, T> = dyn FnMut(&[u8]) -> Result<(usize, T), PcapError> + 'a;

/// A stream with its unused bytes.
struct Source<'a> {
    stream: &'a mut dyn Read,
    buffer: Vec<u8>,
    from: usize,
    /// Why there is no more input.
    ended: Option<String>,
}

impl Source<'_> {
    fn rest(&self) -> &[u8] {
        &self.buffer[self.from..]
    }

    /// Reads more. Returns false at the end.
    fn more(&mut self) -> bool {
        if self.ended.is_some() {
            return false;
        }
        self.buffer.drain(..self.from);
        self.from = 0;
        let before = self.buffer.len();
        if let Err(error) = self.stream.take(PIECE as u64).read_to_end(&mut self.buffer) {
            self.ended = Some(format!("cannot read further: {error}"));
        } else if self.buffer.len() == before {
            self.ended = Some(String::new());
        }
        self.buffer.len() > before
    }

    /// The error for input that ends within an item.
    fn cut(&self) -> String {
        match self.ended.as_deref() {
            Some("") | None => "it ends within a packet".into(),
            Some(why) => why.into(),
        }
    }

    /// At the end of a whole packet: success, unless reading failed.
    fn finish(&self) -> Result<(), String> {
        match self.ended.as_deref() {
            Some("") | None => Ok(()),
            Some(why) => Err(why.into()),
        }
    }

    /// Parses one item, reading more as needed; `None` at the end.
    fn next<T>(&mut self, parse: &mut Parse<'_, T>) -> Result<Option<T>, String> {
        loop {
            if self.rest().is_empty() && !self.more() {
                return self.finish().map(|()| None);
            }
            match parse(self.rest()) {
                Ok((used, thing)) => {
                    self.from += used;
                    return Ok(Some(thing));
                }
                Err(PcapError::IncompleteBuffer) if self.rest().len() > LARGEST => {
                    return Err("a packet claims to be larger than 16 MiB".into());
                }
                Err(PcapError::IncompleteBuffer) if self.more() => {}
                Err(PcapError::IncompleteBuffer) => return Err(self.cut()),
                Err(error) => return Err(error.to_string()),
            }
        }
    }
}

fn plain(source: &mut Source<'_>, end: &mut End, see: &mut dyn FnMut(&Frame<'_>)) -> Result<(), String> {
    let parser = source.next(&mut |bytes| {
        let (rest, parser) = PcapParser::new(bytes)?;
        Ok((bytes.len() - rest.len(), parser))
    })?;
    let Some(parser) = parser else { return Ok(()) };
    let header = parser.header();
    let fraction = if header.ts_resolution == TsResolution::MicroSecond { 1000 } else { 1 };
    // Ignore the upper bits: tcpdump's list does not use them for the link type.
    let link = u32::from(header.datalink) & 0xffff;
    end.bytes = 24;
    loop {
        let read = source.next(&mut |bytes| {
            // Check the announced lengths before waiting for all of the packet.
            let (rest, packet) = parser.next_raw_packet(bytes)?;
            if packet.incl_len as usize > LARGEST || u64::from(packet.ts_frac) * fraction >= 1_000_000_000 {
                return Err(PcapError::InvalidField("a packet has an invalid header"));
            }
            let at = u64::from(packet.ts_sec) * 1_000_000_000 + u64::from(packet.ts_frac) * fraction;
            see(&Frame { at, interface: 0, link, length: packet.orig_len, bytes: &packet.data });
            Ok((bytes.len() - rest.len(), (packet.incl_len, packet.orig_len)))
        })?;
        let Some((kept, length)) = read else { return Ok(()) };
        count(end, kept, length);
        end.bytes += 16 + u64::from(kept);
    }
}

fn count(end: &mut End, kept: u32, length: u32) {
    end.frames += 1;
    if kept < length {
        end.snap = end.snap.max(Some(kept));
    }
}

/// Effect of a block on the statistics.
enum BlockContent {
    Packet { kept: u32, length: u32 },
    Dropped(u64),
    Skipped,
    Nothing,
}

/// Properties of an interface.
#[derive(Clone, Copy)]
struct Port {
    link: u32,
    /// Clock ticks per second: a time in nanoseconds is ticks times 10^9 over this.
    ticks: u64,
    /// Seconds added to every timestamp.
    offset: i64,
}

fn blocks(source: &mut Source<'_>, end: &mut End, see: &mut dyn FnMut(&Frame<'_>)) -> Result<(), String> {
    let read = source.next(&mut |bytes| {
        let (rest, parser) = PcapNgParser::new(bytes)?;
        Ok((bytes.len() - rest.len(), (bytes.len() - rest.len(), parser)))
    })?;
    let Some((used, mut parser)) = read else { return Ok(()) };
    end.bytes = used as u64;
    let mut ports: Vec<Port> = Vec::new();
    // Numbers continue from earlier sections, so that every interface has its own.
    let mut base = 0u32;
    loop {
        let read = source.next(&mut |bytes| {
            if bytes.len() >= 4 && bytes[..4] == [0x0a, 0x0d, 0x0d, 0x0a] {
                base = base.wrapping_add(ports.len() as u32);
                ports.clear();
            }
            let (used, told) = match parser.next_block(bytes) {
                Ok((rest, block)) => (bytes.len() - rest.len(), read_block(&block, &ports, base, see)),
                Err(PcapError::IncompleteBuffer) => return Err(PcapError::IncompleteBuffer),
                Err(_) => {
                    // Skip a complete block of unknown content.
                    let (rest, _) = parser.next_raw_block(bytes)?;
                    (bytes.len() - rest.len(), BlockContent::Skipped)
                }
            };
            for interface in &parser.interfaces()[ports.len().min(parser.interfaces().len())..] {
                ports.push(port(u32::from(interface.linktype), &interface.options));
            }
            if ports.len() > MOST_INTERFACES {
                return Err(PcapError::InvalidField("more than 4096 interfaces"));
            }
            Ok((used, (used, told)))
        })?;
        let Some((used, told)) = read else { return Ok(()) };
        end.bytes += used as u64;
        match told {
            BlockContent::Packet { kept, length } => count(end, kept, length),
            BlockContent::Dropped(packets) => end.dropped = Some(end.dropped.unwrap_or(0).saturating_add(packets)),
            BlockContent::Skipped => end.skipped += 1,
            BlockContent::Nothing => {}
        }
    }
}

fn port(link: u32, options: &[InterfaceDescriptionOption<'_>]) -> Port {
    let mut port = Port { link, ticks: 1_000_000, offset: 0 };
    for option in options {
        match option {
            InterfaceDescriptionOption::IfTsResol(power) if power & 0x80 != 0 => {
                port.ticks = 1 << (power & 0x7f).min(62);
            }
            InterfaceDescriptionOption::IfTsResol(power) => port.ticks = 10u64.pow(u32::from(*power).min(18)),
            InterfaceDescriptionOption::IfTsOffset(seconds) => port.offset = *seconds as i64,
            _ => {}
        }
    }
    port
}

fn read_block(block: &Block<'_>, ports: &[Port], base: u32, see: &mut dyn FnMut(&Frame<'_>)) -> BlockContent {
    let mut packet = |interface: u32, ticks: u64, length: u32, data: &Cow<'_, [u8]>| {
        let Some(port) = ports.get(interface as usize) else { return BlockContent::Skipped };
        let at = u128::from(ticks) * 1_000_000_000 / u128::from(port.ticks);
        let at = i128::try_from(at).unwrap_or(i128::MAX).saturating_add(i128::from(port.offset) * 1_000_000_000);
        let at = u64::try_from(at.max(0)).unwrap_or(u64::MAX);
        see(&Frame { at, interface: base.wrapping_add(interface), link: port.link, length, bytes: data });
        BlockContent::Packet { kept: data.len() as u32, length }
    };
    match block {
        // The parser assumes a clock of nanoseconds: its result is in ticks.
        Block::EnhancedPacket(one) => {
            let ticks = u64::try_from(one.timestamp.as_nanos()).unwrap_or(u64::MAX);
            packet(one.interface_id, ticks, one.original_len, &one.data)
        }
        Block::Packet(one) => packet(u32::from(one.interface_id), one.timestamp, one.original_len, &one.data),
        // It has no timestamp, so it is useless here.
        Block::SimplePacket(_) => BlockContent::Skipped,
        Block::InterfaceStatistics(one) => {
            let drops = one.options.iter().filter_map(|option| match option {
                InterfaceStatisticsOption::IsbIfDrop(packets) | InterfaceStatisticsOption::IsbOsDrop(packets) => {
                    Some(*packets)
                }
                _ => None,
            });
            BlockContent::Dropped(drops.fold(0, u64::saturating_add))
        }
        _ => BlockContent::Nothing,
    }
}
