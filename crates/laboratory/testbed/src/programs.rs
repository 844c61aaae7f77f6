//! Programs for features that this kernel lacks: gentle slow start, DCTCP, marks above a threshold, M21, and grants. `fanin-kernel` loads them, and they end with
//! it, which ends with its standard input, also when this process is killed.

use std::cell::RefCell;
use std::env;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use fanin_fabric::LinkId;
use serde_json::Value;
use socket2::{Domain, Socket, Type};

use crate::trouble::Trouble;

/// The program that loads them.
const PROGRAM: &str = "fanin-kernel";
/// Congestion controls that it loads in place of the kernel's, if that has none.
const SUBSTITUTES: [(&str, &str); 1] = [("dctcp", "fanin_dctcp")];

/// Programs that a network needs.
#[derive(Debug, Default)]
pub struct Needs {
    /// Congestion controls.
    pub controls: Vec<&'static str>,
    /// Ports that mark, with thresholds in bytes.
    pub marks: Vec<(LinkId, u64)>,
    /// Ports that assign M21's windows, with buffers in bytes.
    pub allots: Vec<(LinkId, u64)>,
    /// Both kinds of ports, as the program takes them.
    pub places: [Vec<String>; 2],
    /// Namespaces of hosts with M21.
    pub hosts: Vec<String>,
    /// Devices of hosts that grant windows, with their settings, as the program takes them.
    pub grants: Vec<String>,
}

impl Needs {
    fn is_empty(&self) -> bool {
        self.controls.is_empty() && self.marks.is_empty() && self.allots.is_empty() && self.grants.is_empty()
    }
}

/// The name under which a congestion control is loaded; `None` if the kernel has it.
pub fn loaded_name(law: &'static str) -> Option<&'static str> {
    if law.starts_with("fanin_") {
        return Some(law);
    }
    let (_, substitute) = SUBSTITUTES.iter().find(|(name, _)| *name == law)?;
    // The kernel loads a module for a name.
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).ok()?;
    socket.set_tcp_congestion(law.as_bytes()).is_err().then_some(substitute)
}

/// The running program.
#[derive(Debug)]
pub struct Programs {
    child: Child,
    pipes: RefCell<(ChildStdin, BufReader<ChildStdout>)>,
    marking: Vec<LinkId>,
}

impl Programs {
    /// Starts it, unless nothing is needed.
    pub fn start(needs: &Needs) -> Result<Option<Programs>, Trouble> {
        if needs.is_empty() {
            return Ok(None);
        }
        let mut command = Command::new(program());
        command.arg("hold").args(&needs.controls);
        let [marks, allots] = &needs.places;
        let options =
            [("--mark", marks), ("--m21-port", allots), ("--m21-host", &needs.hosts), ("--grants", &needs.grants)];
        for (option, values) in options {
            command.args(values.iter().flat_map(|value| [option, value.as_str()]));
        }
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().map_err(|error| {
            Trouble::Lacks(format!(
                "this scheme needs the program `{PROGRAM}`, beside this one or in PATH (docs/kernel.md): {error}"
            ))
        })?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (input, output) = input.zip(output).ok_or_else(|| io::Error::other("no pipes"))?;
        let mut output = BufReader::new(output);
        let mut line = String::new();
        output.read_line(&mut line)?;
        if line.trim() != "ready" {
            let mut why = String::new();
            child.stderr.take().map(|mut errors| errors.read_to_string(&mut why)).transpose()?;
            let _ = child.wait();
            let why = why.trim().trim_start_matches("error: ");
            return Err(Trouble::Lacks(format!("`{PROGRAM}`: {why}")));
        }
        let marking = needs.marks.iter().map(|(link, _)| *link).collect();
        Ok(Some(Programs { child, pipes: RefCell::new((input, output)), marking }))
    }

    /// Packets marked at each port.
    pub fn marks(&self) -> io::Result<Vec<(LinkId, u64)>> {
        let (input, output) = &mut *self.pipes.borrow_mut();
        input.write_all(b"\n")?;
        let mut line = String::new();
        output.read_line(&mut line)?;
        let counters: Value = serde_json::from_str(&line)?;
        let marks = |place: usize| counters["mark"][place][0].as_u64();
        let found = self.marking.iter().enumerate().map(|(place, link)| marks(place).map(|marks| (*link, marks)));
        found.collect::<Option<_>>().ok_or_else(|| io::Error::other(format!("`{PROGRAM}` reports no marks: {line}")))
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn program() -> PathBuf {
    let beside = env::current_exe().ok().map(|own| own.with_file_name(PROGRAM)).filter(|path| path.is_file());
    beside.unwrap_or_else(|| PROGRAM.into())
}
