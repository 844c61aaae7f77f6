//! Runs scripts, and judges.
//!
//! PASS: all expected segments and assertions hold. FAIL: the first deviation. N/A: the script is about something that the endpoint does
//! not model.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::drive;
use crate::script::{Script, What};

/// Words in a script that mean it is about something that the endpoint does not have.
const ELSEWHERE: [(&str, &str); 12] = [
    ("FASTOPEN", "fast open"),
    ("MSG_MORE", "MSG_MORE: no corking or Nagle's algorithm"),
    ("TCP_CORK", "TCP_CORK: no corking or Nagle's algorithm"),
    ("SO_RCVBUF", "the receive buffer's size: windows are fixed"),
    ("tcp_shrink_window", "the receive buffer's size: windows are fixed"),
    ("TCP_USER_TIMEOUT", "the user timeout"),
    ("pfifo limit 0", "packets refused by the host's own queue"),
    ("ext_ack", "netlink"),
    ("MSG_ZEROCOPY", "zero copy"),
    ("MSG_EOR", "MSG_EOR: records within a stream"),
    ("tcp_mtu_probing", "probes of the path's MTU"),
    ("tcp_fastopen", "fast open"),
];

/// A script's verdict.
pub enum Verdict {
    Pass(drive::Tally),
    Fail(String),
    NotApplicable(String),
}

impl Verdict {
    /// Its column in a table.
    pub fn column(&self) -> usize {
        match self {
            Verdict::Pass(_) => 0,
            Verdict::Fail(_) => 1,
            Verdict::NotApplicable(_) => 2,
        }
    }

    /// The number of comparisons, or why it fails.
    pub fn details(&self) -> String {
        match self {
            Verdict::Pass(drive::Tally { segments, info, left }) => {
                let skipped = if info.skipped > 0 { format!(", {} not exposed", info.skipped) } else { String::new() };
                let more = |first: &String| format!("; {} more sent, from {first}", left.len());
                let left = left.first().map(more).unwrap_or_default();
                format!(": {segments} segments, {} assertions{skipped}{left}", info.asserted)
            }
            Verdict::Fail(why) | Verdict::NotApplicable(why) => format!(": {why}"),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(["PASS", "FAIL", "N/A "][self.column()])
    }
}

/// All scripts below a folder, or the script itself, in order.
pub fn scripts(place: &Path) -> Vec<PathBuf> {
    if place.is_file() {
        return vec![place.into()];
    }
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(place).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    entries.sort();
    let is_script = |path: &PathBuf| path.is_dir() || path.extension().is_some_and(|kind| kind == "pkt");
    entries.into_iter().filter(is_script).flat_map(|path| scripts(&path)).collect()
}

/// Runs the script of a file.
pub fn judge_file(file: &Path, options: &drive::Options) -> Verdict {
    match std::fs::read_to_string(file) {
        Ok(text) => judge(&text, options),
        Err(why) => Verdict::NotApplicable(format!("not read: {why}")),
    }
}

fn judge(text: &str, options: &drive::Options) -> Verdict {
    if let Some((_, what)) = ELSEWHERE.iter().find(|(word, _)| text.contains(word)) {
        return Verdict::NotApplicable((*what).into());
    }
    let script = match Script::parse(text) {
        Ok(script) => script,
        Err(why) => return Verdict::NotApplicable(format!("not read: {why}")),
    };
    match drive::run(&script, options) {
        Ok(tally) if tally.info.asserted == 0 && beyond_handshake(&script) == 0 => Verdict::NotApplicable(
            "system calls only: no segment beyond the handshake, no assertion on the window".into(),
        ),
        Ok(tally) => Verdict::Pass(tally),
        // A socket whose application is gone resets its peer; applications of endpoints stay until both ends have closed.
        Err((event, _)) if matches!(&event.what, What::Out(segment) if segment.has('R')) => {
            Verdict::NotApplicable(format!("until line {}: a reset by a socket without an application", event.line))
        }
        Err((event, why)) if script.is_paced() => {
            Verdict::NotApplicable(format!("fq paces, which decides what is in flight (line {}: {why})", event.line))
        }
        Err((event, why)) => Verdict::Fail(format!("line {}: {}\n      {why}", event.line, event.text)),
    }
}

/// Expected segments beyond the handshake: the first of a server, the first two of a client.
fn beyond_handshake(script: &Script) -> usize {
    let client = script.events.iter().any(|event| matches!(&event.what, What::Call(call) if call.name == "connect"));
    let sent = script.events.iter().filter(|event| matches!(event.what, What::Out(_))).count();
    sent.saturating_sub(if client { 2 } else { 1 })
}
