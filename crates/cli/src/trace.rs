//! `fanin trace`: the packets of one run as pcapng.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fanin_execute::{Draft, is_special};
use fanin_lab::plan;
use fanin_sim::{Caught, TapPoint};
use fanin_spec::{RunError, RunSpec};
use pcap_file::DataLink;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};

use crate::arguments::TraceArguments;
use crate::failure::Failure;
use crate::figures::{clean, large};
use crate::frame::{Stack, packet};
use crate::load::{load, warn};
use crate::run::{one_point, one_run};
use crate::stop::{self, STOP, listen};
use crate::terminal::{fold, say};

/// Runs it and writes what crossed the tapped links.
pub fn trace(arguments: &TraceArguments) -> Result<(), Failure> {
    let wishes = one_run(&arguments.scheme, arguments.fan_in.as_deref(), arguments.seed.as_deref())?;
    let loaded = load(&arguments.scenario, &arguments.set, None, &wishes)?;
    one_point(&loaded)?;
    let Some(spec) = plan(&loaded.contenders).into_iter().next() else { return Ok(()) };
    if !is_special(&arguments.out) {
        // A FIFO waits for its reader; that wait a signal ends as it always does.
        listen()?;
    }
    let draft = Draft::open(&arguments.out)
        .map_err(|error| Failure::Input(format!("--out {}: it cannot be written: {error}", arguments.out.display())))?;
    listen()?;
    let caught = tapped(&spec, &arguments.at)?;
    let count = write(&spec, &caught, draft.file()).map_err(|error| match STOP.load(Ordering::Relaxed) {
        true => stopped(),
        false => unwritten(&arguments.out, error),
    })?;
    draft.publish().map_err(|error| unwritten(&arguments.out, error))?;
    warn(&loaded.warnings);
    let shown = clean(&arguments.out.display().to_string());
    let last = caught.last().map_or(String::new(), |c| format!(", to {}", c.time));
    say(&fold(&format!("{shown}: {} packets at {}{last}\n", large(count as f64), arguments.at)))
}

fn stopped() -> Failure {
    Failure::Stopped(format!("stopped by {}; nothing was written", stop::what()))
}

fn unwritten(out: &Path, error: impl std::fmt::Display) -> Failure {
    Failure::Environment(format!("--out {}: {error}", out.display()))
}

fn tapped(spec: &RunSpec, at: &str) -> Result<Vec<Caught>, Failure> {
    let point = if at.contains('>') { TapPoint::Port(at.into()) } else { TapPoint::Host(at.into()) };
    match fanin_sim::tap(spec, &point, &STOP) {
        Ok(Some((_, caught))) => Ok(caught),
        Ok(None) => {
            let (hosts, ports) = fanin_sim::tap_points(spec);
            let last = hosts.last().map_or("", String::as_str);
            let port = ports.first().map_or("", String::as_str);
            Err(Failure::Input(format!(
                "--at {at}: there is no such host or port; hosts are client, server1 to {last}, ports such as {port}"
            )))
        }
        Err(RunError::Stopped) => Err(stopped()),
        Err(RunError::Broken(what)) => Err(Failure::fault(&what)),
    }
}

/// Writes one interface a link, in the order in which packets first crossed them, and every packet, unless it is stopped. Gives
/// their number.
fn write(spec: &RunSpec, caught: &[Caught], file: &File) -> Result<usize, String> {
    let text = |error: pcap_file::PcapError| error.to_string();
    let mut writer = PcapNgWriter::new(BufWriter::new(file)).map_err(text)?;
    let mut interfaces: BTreeMap<&str, u32> = BTreeMap::new();
    let mut ids: BTreeMap<u32, u16> = BTreeMap::new();
    let stack = stack(spec);
    for one in caught {
        if STOP.load(Ordering::Relaxed) {
            return Err("stopped".into());
        }
        let next = interfaces.len() as u32;
        let interface_id = *interfaces.entry(&one.port).or_insert(next);
        if interface_id == next {
            writer.write_pcapng_block(interface(&one.port)).map_err(text)?;
        }
        let id = ids.entry(one.from.0).or_default();
        *id = id.wrapping_add(1);
        let data = packet(one, &stack, *id)?;
        let block = EnhancedPacketBlock {
            interface_id,
            timestamp: Duration::from_nanos(one.time.0 / 1000),
            original_len: data.len() as u32,
            data: Cow::Owned(data),
            options: Vec::new(),
        };
        writer.write_pcapng_block(block).map_err(text)?;
    }
    writer.into_inner().flush().map_err(|error| error.to_string())?;
    Ok(caught.len())
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

fn stack(spec: &RunSpec) -> Stack {
    let tcp = &spec.settings.tcp;
    Stack {
        mss: tcp.mss.0 as u16,
        sack: tcp.sack,
        timestamps: tcp.timestamps,
        mcw: spec.scheme.m21,
        receive_window: tcp.receive_window.0 as u32,
    }
}
