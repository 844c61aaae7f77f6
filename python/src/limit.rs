//! The limiter of bytes on their way into this host (`fanin/limit/`). Waits of threads and tasks are in Python; this calls back when a
//! request is admitted.

use std::future::Future;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use fanin_limit::{Figures, Grant as Held, Limit as Shared, Limiter as Core, Ready, Settings, Ticket};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::failure::asked;

fn settings(py: Python<'_>, text: &str) -> PyResult<Settings> {
    Settings::from_json(text).map_err(|why| asked(py, &why.to_string()))
}

fn as_dict<'py>(py: Python<'py>, figures: &Figures) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in [
        ("in_flight", figures.in_flight),
        ("outstanding", figures.outstanding.into()),
        ("waiting", figures.waiting.into()),
        ("limit", figures.limit),
        ("window", figures.window.into()),
        ("mean", figures.mean),
        ("admitted", figures.admitted),
        ("waited", figures.waited),
        ("waited_ns", figures.waited_ns),
        ("waited_bytes", figures.waited_bytes),
        ("responses", figures.responses),
        ("bytes", figures.bytes),
        ("cancelled", figures.cancelled),
        ("late", figures.late),
    ] {
        dict.set_item(name, value)?;
    }
    Ok(dict)
}

/// The arithmetic, with times as arguments.
#[pyclass(module = "fanin._fanin")]
pub struct Limiter(Core);

#[pymethods]
impl Limiter {
    #[new]
    fn new(py: Python<'_>, text: &str) -> PyResult<Limiter> {
        Ok(Limiter(Core::new(settings(py, text)?)))
    }

    #[pyo3(signature = (now, caller, expected))]
    fn request(&mut self, now: u64, caller: u64, expected: Option<u64>) -> u64 {
        self.0.request(now, caller, expected).to_u64()
    }

    fn admit_next(&mut self, now: u64) -> Option<u64> {
        self.0.admit_next(now).map(Ticket::to_u64)
    }

    fn is_admitted(&self, ticket: u64) -> bool {
        self.0.is_admitted(Ticket::from_u64(ticket))
    }

    fn expect(&mut self, ticket: u64, bytes: u64) {
        self.0.expect(Ticket::from_u64(ticket), bytes);
    }

    fn received(&mut self, ticket: u64, bytes: u64) {
        self.0.received(Ticket::from_u64(ticket), bytes);
    }

    fn finish(&mut self, now: u64, ticket: u64, bytes: u64) {
        self.0.finish(now, Ticket::from_u64(ticket), bytes);
    }

    fn cancel(&mut self, now: u64, ticket: u64) {
        self.0.cancel(now, Ticket::from_u64(ticket));
    }

    fn figures<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        as_dict(py, &self.0.figures())
    }
}

/// A limit that threads and tasks share; `fanin.limit.Limit` adds waits.
#[pyclass(frozen, subclass, module = "fanin._fanin")]
pub struct Limit(Shared);

#[pymethods]
impl Limit {
    #[new]
    #[pyo3(signature = (text, shared = None))]
    fn new(py: Python<'_>, text: &str, shared: Option<PathBuf>) -> PyResult<Limit> {
        let settings = settings(py, text)?;
        let Some(folder) = shared else { return Ok(Limit(Shared::new(settings))) };
        let limit = Shared::with_shared_budget(settings, &folder);
        limit.map(Limit).map_err(|why| match why.kind() {
            ErrorKind::InvalidInput => asked(py, &why.to_string()),
            kind => io::Error::new(kind, format!("{}: {why}", folder.display())).into(),
        })
    }

    /// A grant without a wait, if there is one.
    #[pyo3(signature = (expected = None))]
    fn try_acquire(&self, expected: Option<u64>) -> Option<Grant> {
        self.0.try_acquire(expected).map(|held| Grant(Mutex::new(Some(held))))
    }

    /// Begins a wait, which calls `wake`, in any thread, when it may be claimed.
    #[pyo3(signature = (expected, caller, wake))]
    fn wait(&self, expected: Option<u64>, caller: u64, wake: Py<PyAny>) -> Wait {
        let mut ready = self.0.caller(caller).ready(expected);
        let waker = Waker::from(Arc::new(Callback(wake)));
        let granted = match Pin::new(&mut ready).poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(held) => Some(held),
            Poll::Pending => None,
        };
        Wait(Mutex::new(Waiting { ready: granted.is_none().then_some(ready), waker, granted }))
    }

    /// Counters and state.
    fn figures<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        as_dict(py, &self.0.figures())
    }

    /// The figures in Prometheus' text format.
    fn prometheus(&self) -> String {
        self.0.figures().prometheus()
    }

    /// Name, whether it is a counter, help and value of each metric.
    fn metrics(&self) -> Vec<(&'static str, bool, &'static str, f64)> {
        let figures = self.0.figures();
        Figures::METRICS.iter().map(|of| (of.name, of.is_counter, of.help, (of.value)(&figures))).collect()
    }
}

/// A Python function that is called when a request is admitted.
struct Callback(Py<PyAny>);

impl Wake for Callback {
    fn wake(self: Arc<Self>) {
        // While the interpreter ends, nobody waits.
        Python::try_attach(|py| {
            if let Err(error) = self.0.call0(py) {
                error.write_unraisable(py, Some(self.0.bind(py)));
            }
        });
    }
}

struct Waiting {
    ready: Option<Ready>,
    waker: Waker,
    granted: Option<Held>,
}

/// A wait for a grant.
#[pyclass(frozen, module = "fanin._fanin")]
pub struct Wait(Mutex<Waiting>);

#[pymethods]
impl Wait {
    /// The grant, if the request has been admitted, once.
    fn claim(&self) -> Option<Grant> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Waiting { ready, waker, granted } = &mut *waiting;
        if let Some(wait) = ready
            && let Poll::Ready(held) = Pin::new(wait).poll(&mut Context::from_waker(waker))
        {
            (*ready, *granted) = (None, Some(held));
        }
        granted.take().map(|held| Grant(Mutex::new(Some(held))))
    }

    /// Leaves the queue, or gives back the bytes of an unclaimed grant.
    fn cancel(&self) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let held = (waiting.ready.take(), waiting.granted.take());
        drop(waiting);
        drop(held);
    }
}

/// Permission for one response, and its share of the bytes in flight. It ends when it is finished, released, or no longer used.
#[pyclass(frozen, module = "fanin._fanin")]
pub struct Grant(Mutex<Option<Held>>);

impl Grant {
    fn take(&self) -> Option<Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn with(&self, change: impl FnOnce(&Held)) {
        // Not locked meanwhile: the change may call Python.
        if let Some(held) = self.take() {
            change(&held);
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(held);
        }
    }
}

#[pymethods]
impl Grant {
    /// Corrects the expected size, such as by the response's header.
    fn expect(&self, bytes: u64) {
        self.with(|held| held.expect(bytes));
    }

    /// Records bytes that have arrived: others may use their place.
    fn received(&self, bytes: u64) {
        self.with(|held| held.received(bytes));
    }

    /// Ends the request with a complete response of this size, or of the bytes received if these are more.
    #[pyo3(signature = (bytes = 0))]
    fn finish(&self, bytes: u64) {
        if let Some(held) = self.take() {
            held.finish(bytes);
        }
    }

    /// Gives back the bytes of a failed or cancelled request; no effect after its end.
    fn release(&self) {
        drop(self.take());
    }

    fn __enter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, _error: &Bound<'_, pyo3::types::PyTuple>) {
        self.release();
    }
}
