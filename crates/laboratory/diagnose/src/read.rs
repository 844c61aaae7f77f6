//! Reading of all inputs: captures and counters.

use std::fmt;
use std::io::Read;

use crate::capture::frames;
use crate::captured::Capture;
use crate::counters::Counters;
use crate::diagnosis::Diagnosis;
use crate::dissect::{Seen, look};
use crate::input::{Kind, open};
use crate::judge::judge;

/// A recording.
pub struct Input<'a> {
    /// Name for messages.
    pub name: String,
    /// Content.
    pub stream: Box<dyn Read + 'a>,
}

/// An error: no input permits a diagnosis.
#[derive(Clone, Debug, PartialEq)]
pub struct Unread(pub String);

impl fmt::Display for Unread {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for Unread {}

/// Reads and diagnoses all inputs.
///
/// # Errors
/// An input that is neither a capture nor counters, or that contains no usable data.
pub fn diagnose(inputs: Vec<Input<'_>>) -> Result<Diagnosis, Unread> {
    let (mut captures, mut counters): (Vec<Capture>, Vec<Counters>) = (Vec::new(), Vec::new());
    for Input { name, stream } in inputs {
        let (kind, mut stream) = open(stream).map_err(|error| Unread(format!("{name}: cannot read: {error}")))?;
        match kind {
            Kind::Pcap | Kind::PcapNg => captures.push(capture(&name, kind, stream.as_mut())?),
            Kind::Text => counters.push(Counters::read(&name, stream.as_mut()).map_err(Unread)?),
            Kind::Unknown => {
                return Err(Unread(format!(
                    "{name}: neither a capture nor counters; use pcap or pcapng, or the output of nstat, ss, ethtool -S, tc -s \
                     or a switch, optionally compressed with gzip or zstd"
                )));
            }
        }
    }
    let tcp: u64 = captures.iter().map(|capture| capture.tcp).sum();
    let rdma = captures.iter().any(|capture| capture.rdma.found().is_some());
    if tcp == 0 && counters.is_empty() && !rdma {
        let frames: u64 = captures.iter().map(|capture| capture.end.frames).sum();
        let names: Vec<&str> = captures.iter().map(|capture| capture.name.as_str()).collect();
        let ends =
            captures.iter().find_map(|one| Some(format!(" ({} at byte {})", one.end.broken.as_ref()?, one.end.bytes)));
        let unclear: u64 = captures.iter().map(|capture| capture.unclear).sum();
        let cut =
            if unclear > frames / 2 { "; headers are incomplete: use a snap length of at least 120 B" } else { "" };
        return Err(Unread(format!(
            "{}: no TCP packets found, and none of RDMA: {frames} packets{}{cut}",
            names.join(", "),
            ends.unwrap_or_default()
        )));
    }
    Ok(judge(captures, &counters))
}

fn capture(name: &str, kind: Kind, stream: &mut dyn Read) -> Result<Capture, Unread> {
    let kind_word = if kind == Kind::Pcap { "pcap" } else { "pcapng" };
    let mut capture = Capture::new(name, kind_word);
    let end = frames(kind, stream, &mut |frame| match look(frame) {
        Seen::Tcp(segment) => {
            capture.tcp += 1;
            let now = capture.time(frame.at);
            capture.watch.see(now, &segment);
        }
        Seen::Rdma(packet) => {
            let now = capture.time(frame.at);
            capture.rdma.see(now, &packet);
        }
        Seen::Pause => capture.rdma.pause(),
        Seen::Other => {}
        Seen::Unclear => capture.unclear += 1,
    });
    capture.watch.end();
    if end.frames == 0
        && let Some(why) = &end.broken
    {
        return Err(Unread(format!("{name}: no readable packet: {why}, at byte {}", end.bytes)));
    }
    capture.end = end;
    Ok(capture)
}
