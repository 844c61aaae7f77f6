//! The functions that JavaScript calls. A request and its reply are bytes in this module's memory; one thread calls them in turn.
#![expect(unsafe_code, reason = "exported names are unsafe attributes; nothing else here is")]

use core::cell::RefCell;
use std::sync::Mutex;

use serde_json::json;

use crate::scenario::problem_of;
use crate::session::{Session, Step};
use crate::{advise, describe, diagnose, keys, run, set_value};

/// Budget of advice in packets.
const BUDGET: u64 = 20_000_000;

#[derive(Default)]
struct State {
    request: Vec<u8>,
    reply: Vec<u8>,
    session: Session,
    /// Runs that the last step asked for.
    runs: Vec<Vec<u8>>,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

/// Text of the last panic, which has also stopped the module.
static PANIC: Mutex<String> = Mutex::new(String::new());

/// Makes room for a request of `len` bytes; returns its address.
#[unsafe(no_mangle)]
pub extern "C" fn request(len: usize) -> *mut u8 {
    STATE.with_borrow_mut(|state| {
        state.request = vec![0; len];
        state.request.as_mut_ptr()
    })
}

/// Address of the last reply.
#[unsafe(no_mangle)]
pub extern "C" fn reply() -> *const u8 {
    STATE.with_borrow(|state| state.reply.as_ptr())
}

/// Carries out an operation on the request, with a number as its argument; returns the length of the reply. The reply of a failed
/// operation is a text, and its length is returned as -1 minus it.
#[unsafe(no_mangle)]
pub extern "C" fn call(operation: u32, argument: u32) -> i32 {
    STATE.with_borrow_mut(|state| {
        let request = core::mem::take(&mut state.request);
        let (reply, failed) = match state.carry_out(operation, argument, &request) {
            Ok(reply) => (reply, false),
            Err(what) => (what.into_bytes(), true),
        };
        let len = i32::try_from(reply.len()).unwrap_or(i32::MAX);
        state.reply = reply;
        if failed { -1 - len } else { len }
    })
}

/// Keeps the texts of panics for [`panic_text`]; call it once.
#[unsafe(no_mangle)]
pub extern "C" fn start() {
    std::panic::set_hook(Box::new(|panic| {
        if let Ok(mut text) = PANIC.lock() {
            *text = panic.to_string();
        }
    }));
}

/// Address and length of the text of the last panic, in one number: the address times 2^16, plus the length.
#[unsafe(no_mangle)]
pub extern "C" fn panic_text() -> u64 {
    PANIC.lock().map_or(0, |text| (text.as_ptr() as u64) << 16 | text.len().min(0xffff) as u64)
}

impl State {
    fn carry_out(&mut self, operation: u32, argument: u32, request: &[u8]) -> Result<Vec<u8>, String> {
        let text = || str::from_utf8(request).map_err(|error| error.to_string());
        // Some requests have two parts; the argument is the length of the first one.
        let parts = || request.split_at_checked(argument as usize).ok_or("a request of one part");
        match operation {
            0 => Ok(describe(text()?).into_bytes()),
            1 => {
                let [scenario, path, value]: [String; 3] =
                    serde_json::from_slice(request).map_err(|error| error.to_string())?;
                Ok(set_value(&scenario, &path, &value)?.into_bytes())
            }
            2 | 3 => Ok(self.step(text()?, argument, operation == 3)),
            4 => self.runs.get(argument as usize).cloned().ok_or_else(|| "no such run".to_owned()),
            5 => run(request),
            6 => {
                let (job, tables) = parts()?;
                self.session.take(job.to_vec(), tables).map(|()| Vec::new())
            }
            7 => advise(text()?, BUDGET).map(String::into_bytes),
            8 => {
                let (name, bytes) = parts()?;
                diagnose(&String::from_utf8_lossy(name), bytes).map(String::into_bytes)
            }
            9 => Ok(keys().into_bytes()),
            _ => Err("no such operation".to_owned()),
        }
    }

    fn step(&mut self, text: &str, seeds: u32, watched: bool) -> Vec<u8> {
        match self.session.step(text, seeds, watched) {
            Ok(Step::Runs(runs)) => {
                self.runs = runs;
                json!({"runs": self.runs.len()}).to_string().into_bytes()
            }
            Ok(Step::Done(done)) => {
                // The summary's own bytes, as a string.
                let summary = serde_json::Value::String(done.summary);
                format!("{{\"summary\":{summary},\"report\":{}}}", done.report).into_bytes()
            }
            Err(problem) => json!({"problem": problem_of(&problem)}).to_string().into_bytes(),
        }
    }
}
