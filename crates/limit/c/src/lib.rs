//! C interface of `fanin-limit`; `include/fanin_limit.h` documents it.
#![allow(unsafe_code, reason = "C passes pointers")]
#![expect(clippy::missing_safety_doc, reason = "fanin_limit.h documents them")]

use std::collections::{BTreeSet, VecDeque};
use std::ffi::{CStr, OsStr, c_char, c_int};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{ptr, thread};

use fanin_limit::{Limiter, Settings, Share, Ticket};

const UNKNOWN: u64 = u64::MAX;
const FOREVER: u64 = u64::MAX;

/// A limit, as C has it.
#[derive(Debug)]
pub struct Handle {
    state: Mutex<State>,
    /// Threads in `fanin_limit_acquire`.
    waiting: Condvar,
    begun: Instant,
}

#[derive(Debug)]
struct State {
    limiter: Limiter,
    /// Tickets of threads that wait.
    threads: BTreeSet<Ticket>,
    /// Admitted requests that `fanin_limit_admit_next` has not returned.
    admitted: VecDeque<Ticket>,
}

impl State {
    /// Admits waiting requests that fit; returns whether threads are among them.
    fn admit(&mut self, now: u64) -> bool {
        let mut has_threads = false;
        while let Some(ticket) = self.limiter.admit_next(now) {
            if self.threads.remove(&ticket) {
                has_threads = true;
            } else {
                self.admitted.push_back(ticket);
            }
        }
        has_threads
    }
}

/// Figures of a limit.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[expect(missing_docs, reason = "fanin_limit.h documents them")]
pub struct Figures {
    pub in_flight: u64,
    pub limit: u64,
    pub mean: u64,
    pub admitted: u64,
    pub waited: u64,
    pub waited_ns: u64,
    pub waited_bytes: u64,
    pub responses: u64,
    pub bytes: u64,
    pub cancelled: u64,
    pub late: u64,
    pub outstanding: u32,
    pub waiting: u32,
    pub window: u32,
}

impl Handle {
    #[expect(clippy::disallowed_methods, reason = "the limiter's clock")]
    fn new(settings: Settings) -> Arc<Handle> {
        let state = State { limiter: Limiter::new(settings), threads: BTreeSet::new(), admitted: VecDeque::new() };
        Arc::new(Handle { state: Mutex::new(state), waiting: Condvar::new(), begun: Instant::now() })
    }

    /// A limit whose budget the processes share that use this folder. A thread adapts this process's part until the limit is freed.
    fn shared(settings: Settings, folder: &OsStr) -> io::Result<Arc<Handle>> {
        let mut share = Share::join(folder.as_ref(), &settings)?;
        let limit = Handle::new(settings);
        limit.adjust(&mut share)?;
        let weak = Arc::downgrade(&limit);
        thread::Builder::new().name("fanin-limit".into()).spawn(move || {
            while let Some(limit) = weak.upgrade() {
                // A process without its files keeps its part.
                let _ = limit.adjust(&mut share);
                let period = Share::period(&limit.lock().limiter.figures());
                drop(limit);
                thread::sleep(period);
            }
        })?;
        Ok(limit)
    }

    /// Adapts this process's part of a shared budget.
    fn adjust(&self, share: &mut Share) -> io::Result<()> {
        let figures = self.lock().limiter.figures();
        let own = share.adjust(&figures)?;
        self.change(0, |limiter| limiter.set_budget(own));
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> u64 {
        self.begun.elapsed().as_nanos() as u64
    }

    /// Waits for admission; no ticket after the timeout.
    fn acquire(&self, caller: u64, expected: Option<u64>, timeout: Option<Duration>) -> Option<Ticket> {
        let mut state = self.lock();
        let begun = self.now();
        let ticket = state.limiter.request(begun, caller, expected);
        if state.limiter.is_admitted(ticket) {
            return Some(ticket);
        }
        state.threads.insert(ticket);
        while !state.limiter.is_admitted(ticket) {
            state = match timeout {
                None => self.waiting.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(timeout) => {
                    let waited = Duration::from_nanos(self.now().saturating_sub(begun));
                    let Some(rest) = timeout.checked_sub(waited).filter(|rest| !rest.is_zero()) else {
                        state.threads.remove(&ticket);
                        state.limiter.cancel(self.now(), ticket);
                        self.wake(state, self.now());
                        return None;
                    };
                    self.waiting.wait_timeout(state, rest).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        Some(ticket)
    }

    /// Admits waiting requests that fit, and wakes threads.
    fn wake(&self, mut state: MutexGuard<'_, State>, now: u64) {
        let has_threads = state.admit(now);
        drop(state);
        if has_threads {
            self.waiting.notify_all();
        }
    }

    /// The next admitted request that is no thread's.
    fn admit_next(&self, now: u64) -> Option<Ticket> {
        let mut state = self.lock();
        let has_threads = state.admit(now);
        // A cancelled one is nothing to send.
        let ticket = loop {
            match state.admitted.pop_front() {
                Some(ticket) if !state.limiter.is_admitted(ticket) => {}
                next => break next,
            }
        };
        drop(state);
        if has_threads {
            self.waiting.notify_all();
        }
        ticket
    }

    /// Changes the limiter, at a time; zero is the last one.
    fn change(&self, now: u64, change: impl FnOnce(&mut Limiter)) {
        let mut state = self.lock();
        change(&mut state.limiter);
        self.wake(state, now);
    }
}

fn stated(bytes: u64) -> Option<u64> {
    (bytes != UNKNOWN).then_some(bytes)
}

/// Settings from C.
///
/// # Safety
/// `text` is a string with its end, or null.
unsafe fn settings_of(text: *const c_char) -> Result<Settings, String> {
    if text.is_null() {
        return Ok(Settings::default());
    }
    // SAFETY: as above.
    let text = unsafe { CStr::from_ptr(text) };
    let text = text.to_str().map_err(|_| "the settings are not UTF-8".to_owned())?;
    Settings::from_json(text).map_err(|why| why.to_string())
}

/// A limit for C, or null and the reason.
///
/// # Safety
/// `error` has `length` bytes, or is null.
unsafe fn passed(limit: Result<Arc<Handle>, String>, error: *mut c_char, length: usize) -> *const Handle {
    match limit {
        Ok(limit) => Arc::into_raw(limit),
        Err(why) => {
            if !error.is_null() && length > 0 {
                let bytes = why.as_bytes();
                let count = bytes.len().min(length - 1);
                // SAFETY: as above.
                unsafe {
                    ptr::copy_nonoverlapping(bytes.as_ptr().cast(), error, count);
                    *error.add(count) = 0;
                }
            }
            ptr::null()
        }
    }
}

/// Documented in `fanin_limit.h`, as all functions here.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fanin_limit_new(settings: *const c_char, error: *mut c_char, length: usize) -> *const Handle {
    // SAFETY: the caller passes a string with its end.
    let settings = unsafe { settings_of(settings) };
    // SAFETY: the caller's buffer has `length` bytes.
    unsafe { passed(settings.map(Handle::new), error, length) }
}

#[unsafe(no_mangle)]
#[expect(missing_docs, reason = "fanin_limit.h documents it")]
pub unsafe extern "C" fn fanin_limit_new_shared(
    settings: *const c_char,
    folder: *const c_char,
    error: *mut c_char,
    length: usize,
) -> *const Handle {
    // SAFETY: the caller passes strings with their ends.
    let (settings, folder) = unsafe { (settings_of(settings), CStr::from_ptr(folder)) };
    let folder = OsStr::from_bytes(folder.to_bytes());
    let shared = |settings| Handle::shared(settings, folder).map_err(|why| format!("{}: {why}", folder.display()));
    // SAFETY: the caller's buffer has `length` bytes.
    unsafe { passed(settings.and_then(shared), error, length) }
}

#[unsafe(no_mangle)]
#[expect(missing_docs, reason = "fanin_limit.h documents it")]
pub unsafe extern "C" fn fanin_limit_free(limit: *const Handle) {
    if !limit.is_null() {
        // SAFETY: it is from `fanin_limit_new` or `fanin_limit_new_shared`, and the caller frees it once.
        drop(unsafe { Arc::from_raw(limit) });
    }
}

/// Declares functions whose first argument is a limit.
macro_rules! functions {
    ($(fn $name:ident($limit:ident $(, $argument:ident: $type:ty)*) -> $result:ty $body:block)*) => {
        $(
            #[unsafe(no_mangle)]
            #[expect(missing_docs, reason = "fanin_limit.h documents it")]
            pub unsafe extern "C" fn $name($limit: *const Handle, $($argument: $type),*) -> $result {
                // SAFETY: it is from one of the two functions above, and not freed.
                let $limit = unsafe { &*$limit };
                $body
            }
        )*
    };
}

functions! {
    fn fanin_limit_now(limit) -> u64 {
        limit.now()
    }

    fn fanin_limit_acquire(limit, caller: u64, bytes: u64, timeout_ns: u64) -> u64 {
        let timeout = (timeout_ns != FOREVER).then(|| Duration::from_nanos(timeout_ns));
        limit.acquire(caller, stated(bytes), timeout).map_or(0, Ticket::to_u64)
    }

    fn fanin_limit_request(limit, now_ns: u64, caller: u64, bytes: u64) -> u64 {
        limit.lock().limiter.request(now_ns, caller, stated(bytes)).to_u64()
    }

    fn fanin_limit_is_admitted(limit, ticket: u64) -> c_int {
        limit.lock().limiter.is_admitted(Ticket::from_u64(ticket)).into()
    }

    fn fanin_limit_admit_next(limit, now_ns: u64) -> u64 {
        limit.admit_next(now_ns).map_or(0, Ticket::to_u64)
    }

    fn fanin_limit_expect(limit, ticket: u64, bytes: u64) -> () {
        limit.change(0, |limiter| limiter.expect(Ticket::from_u64(ticket), bytes));
    }

    fn fanin_limit_received(limit, ticket: u64, bytes: u64) -> () {
        limit.change(0, |limiter| limiter.received(Ticket::from_u64(ticket), bytes));
    }

    fn fanin_limit_finish(limit, ticket: u64, bytes: u64) -> () {
        let now = limit.now();
        limit.change(now, |limiter| limiter.finish(now, Ticket::from_u64(ticket), bytes));
    }

    fn fanin_limit_finish_at(limit, now_ns: u64, ticket: u64, bytes: u64) -> () {
        limit.change(now_ns, |limiter| limiter.finish(now_ns, Ticket::from_u64(ticket), bytes));
    }

    fn fanin_limit_cancel(limit, ticket: u64) -> () {
        let now = limit.now();
        limit.change(now, |limiter| limiter.cancel(now, Ticket::from_u64(ticket)));
    }

    fn fanin_limit_cancel_at(limit, now_ns: u64, ticket: u64) -> () {
        limit.change(now_ns, |limiter| limiter.cancel(now_ns, Ticket::from_u64(ticket)));
    }

    fn fanin_limit_read(limit, figures: *mut Figures) -> () {
        let found = limit.lock().limiter.figures();
        let figures_now = Figures {
            in_flight: found.in_flight,
            limit: found.limit,
            mean: found.mean,
            admitted: found.admitted,
            waited: found.waited,
            waited_ns: found.waited_ns,
            waited_bytes: found.waited_bytes,
            responses: found.responses,
            bytes: found.bytes,
            cancelled: found.cancelled,
            late: found.late,
            outstanding: found.outstanding,
            waiting: found.waiting,
            window: found.window,
        };
        if !figures.is_null() {
            // SAFETY: the caller's figures are those of the header.
            unsafe { *figures = figures_now };
        }
    }
}
