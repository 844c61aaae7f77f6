//! `--on`: runs on a cluster's workers, by a process of the Python package, `python3 -I -m fanin.bridge ADDRESS`. It receives batches on
//! its standard input and returns results on its standard output.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::rc::Rc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use fanin::{BatchResult, StopReason, Transport};

use crate::failure::Failure;

/// The Python interpreter.
const PYTHON: &str = "python3";
/// Timeout for the scheduler's response.
const ANSWERS_IN: Duration = Duration::from_secs(60);

/// A message of the bridge: its kind, the batch's number, and a payload.
struct BridgeMessage {
    /// Kind, by a letter.
    kind: u8,
    /// Number of a batch, or of batches at once.
    number: u64,
    content: Vec<u8>,
}

/// The bridge process; dropping this ends it.
pub struct Bridge {
    child: RefCell<Child>,
    input: RefCell<ChildStdin>,
    words: Receiver<BridgeMessage>,
    at_once: Cell<usize>,
    under_way: RefCell<BTreeSet<u64>>,
    /// Why it accepts no more batches.
    gone: RefCell<Option<String>>,
    ended: Rc<RefCell<Option<String>>>,
}

impl Bridge {
    /// Starts the bridge and waits for the cluster's scheduler. `ended` receives the reason if work ends early.
    pub fn to(address: &str, ended: Rc<RefCell<Option<String>>>) -> Result<Bridge, Failure> {
        let failed = |why: String| Failure::Environment(format!("--on {address}: {why}"));
        let mut child = Command::new(PYTHON)
            // Isolated: use only installed modules, none from the current folder, PYTHONPATH or the user's folder.
            .args(["-I", "-m", "fanin.bridge", address])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // This program handles Ctrl-C and forwards it.
            .process_group(0)
            .spawn()
            .map_err(|error| failed(format!("cannot start {PYTHON}: {error}; {INSTALL}")))?;
        let (Some(input), Some(output), Some(errors)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(failed("cannot open its standard input and output".into()));
        };
        let (say, words) = mpsc::channel();
        // Both threads end with the process.
        thread::spawn(move || read(output).try_for_each(|word| say.send(word)));
        let last = thread::spawn(move || BufReader::new(errors).lines().map_while(Result::ok).last());
        let bridge = Bridge {
            child: child.into(),
            input: input.into(),
            words,
            at_once: Cell::new(1),
            under_way: RefCell::default(),
            gone: RefCell::default(),
            ended,
        };
        match bridge.words.recv_timeout(ANSWERS_IN) {
            Ok(word) => drop(bridge.heard(word)),
            Err(RecvTimeoutError::Timeout) => return Err(failed("no response from its scheduler".into())),
            Err(RecvTimeoutError::Disconnected) => {
                let why = last.join().ok().flatten().unwrap_or_else(|| "it exited immediately".into());
                let missing = why.contains("No module named");
                return Err(failed(if missing { format!("{why}; {INSTALL}") } else { why }));
            }
        }
        Ok(bridge)
    }

    /// The result of a batch in a message.
    fn heard(&self, message: BridgeMessage) -> Option<(u64, BatchResult)> {
        let BridgeMessage { kind, number, content } = message;
        let text = |content: &[u8]| String::from_utf8_lossy(content).into_owned();
        if kind != b's' {
            self.under_way.borrow_mut().remove(&number);
        }
        Some((
            number,
            match kind {
                b'a' => BatchResult::Answer(content),
                b'r' => BatchResult::Refused(text(&content)),
                b'g' => {
                    self.gone.replace(Some(text(&content)));
                    BatchResult::Lost(text(&content))
                }
                b's' => {
                    self.at_once.set(usize::try_from(number).unwrap_or(1));
                    return None;
                }
                _ => BatchResult::Lost(text(&content)),
            },
        ))
    }
}

/// Installation hint if the package is missing.
const INSTALL: &str = "--on needs the Python package, installed for the python3 in PATH (such as a virtual environment's; neither with \
                       --user nor by PYTHONPATH) and on every worker: pip install fanin 'dask[distributed]'";

/// Messages of the bridge until it ends.
fn read(mut output: impl Read) -> impl Iterator<Item = BridgeMessage> {
    std::iter::from_fn(move || {
        let mut head = [0; 17];
        output.read_exact(&mut head).ok()?;
        let number = |from: usize| head[from..from + 8].iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        let mut content = Vec::new();
        output.by_ref().take(number(9)).read_to_end(&mut content).ok()?;
        Some(BridgeMessage { kind: head[0], number: number(1), content })
    })
}

impl Transport for Bridge {
    fn at_once(&self) -> usize {
        self.at_once.get()
    }

    fn hand_in(&self, number: u64, parcel: Vec<u8>) -> Result<(), String> {
        if let Some(why) = &*self.gone.borrow() {
            return Err(why.clone());
        }
        let mut input = self.input.borrow_mut();
        let parts = [&number.to_le_bytes()[..], &(parcel.len() as u64).to_le_bytes(), &parcel];
        let written = parts.into_iter().try_for_each(|part| input.write_all(part)).and_then(|()| input.flush());
        written.map_err(|error| format!("the bridge has ended: {error}"))?;
        self.under_way.borrow_mut().insert(number);
        Ok(())
    }

    fn next(&self, most: Duration) -> Option<(u64, BatchResult)> {
        match self.words.recv_timeout(most) {
            Ok(word) => self.heard(word),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                let why = "the bridge has ended";
                self.gone.replace(Some(why.into()));
                Some((self.under_way.borrow_mut().pop_first()?, BatchResult::Lost(why.into())))
            }
        }
    }

    fn give_up(&self) {}

    fn ended(&self, why: StopReason<'_>) {
        let (StopReason::Refused(text) | StopReason::Gone(text) | StopReason::Lost(text)) = why;
        self.ended.replace(Some(text.into()));
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        // It may have exited already.
        let mut child = self.child.borrow_mut();
        let _ = child.kill();
        let _ = child.wait();
    }
}
