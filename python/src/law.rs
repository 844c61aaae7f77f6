//! Congestion controls written in Python (`fanin/laws.py`): each connection has an object with the methods of a built-in one. An
//! exception ends its run: it unwinds to the run's start.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use fanin::Time;
use fanin::law::{self, Cause, Congestion, Control, Foreign, Source, Traits};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::failure::asked;

/// Contents of one ACK of new data. Offsets count the stream's bytes from zero; times are in picoseconds.
#[pyclass(frozen, get_all, module = "fanin._fanin")]
pub struct Ack {
    /// When it arrived.
    now: u64,
    /// Newly acknowledged bytes.
    acked: u32,
    /// The first byte not yet acknowledged, after this ACK.
    una: u64,
    /// The next byte to send.
    nxt: u64,
    /// Whether it echoes congestion.
    ece: bool,
    /// The round-trip time that it measured, if any.
    rtt: Option<u64>,
    /// The smoothed round-trip time.
    srtt: u64,
}

#[pymethods]
impl Ack {
    /// Make an ACK, to test a congestion control.
    #[new]
    #[pyo3(signature = (acked, una, nxt, *, now = 0, ece = false, rtt = None, srtt = 0))]
    fn new(acked: u32, una: u64, nxt: u64, now: u64, ece: bool, rtt: Option<u64>, srtt: u64) -> Ack {
        Ack { now, acked, una, nxt, ece, rtt, srtt }
    }
}

/// The congestion window and the slow-start threshold, in bytes; values over 4 GiB are reduced to it.
#[pyclass(get_all, set_all, module = "fanin._fanin")]
pub struct Window {
    /// Bytes that may be in flight.
    cwnd: u64,
    /// Slow start applies below this window.
    ssthresh: u64,
}

impl Window {
    fn of(window: &law::Window) -> Window {
        Window { cwnd: window.cwnd.into(), ssthresh: window.ssthresh.into() }
    }

    fn left(&self) -> law::Window {
        let most = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
        law::Window { cwnd: most(self.cwnd), ssthresh: most(self.ssthresh) }
    }
}

#[pymethods]
impl Window {
    /// Make a window, to test a congestion control.
    #[new]
    fn new(cwnd: u64, ssthresh: u64) -> Window {
        Window { cwnd, ssthresh }
    }
}

/// A sender's state when it meets congestion. Times are in picoseconds.
#[pyclass(frozen, get_all, module = "fanin._fanin", name = "Congestion")]
pub struct Met {
    /// When.
    now: u64,
    /// Bytes outstanding.
    flight: u32,
    /// The first byte not yet acknowledged.
    una: u64,
    /// The smoothed round-trip time.
    srtt: u64,
}

#[pymethods]
impl Met {
    /// Make a state, to test a congestion control.
    #[new]
    #[pyo3(signature = (flight, una, *, now = 0, srtt = 0))]
    fn new(flight: u32, una: u64, now: u64, srtt: u64) -> Met {
        Met { now, flight, una, srtt }
    }
}

/// A class, and which optional methods it has.
struct Class {
    class: Py<PyType>,
    is_delay_based: bool,
    samples: bool,
    begins: bool,
    observes: bool,
}

/// Register a class as a congestion control; `methods` are the ones that it defines.
#[pyfunction]
pub fn register(
    py: Python<'_>,
    name: &str,
    class: Py<PyType>,
    methods: Vec<String>,
    ecn: bool,
    is_delay_based: bool,
) -> PyResult<()> {
    let has = |method: &str| methods.iter().any(|known| known == method);
    let (samples, begins, observes) = (has("sample"), has("begin"), has("observe"));
    let source = Arc::new(Class { class, is_delay_based, samples, begins, observes });
    law::register(name, Traits { ecn, is_delay_based }, Box::new(Of(source)))
        .map_err(|what| asked(py, &what.to_string()))
}

struct Of(Arc<Class>);

impl Source for Of {
    fn start(&self) -> Box<dyn Foreign> {
        Box::new(Connection { of: Arc::clone(&self.0), object: None })
    }

    fn during(&self, run: &mut (dyn FnMut() + Send)) -> Result<(), String> {
        // A thread unknown to the interpreter would be registered and unregistered at every call.
        let ran = Python::attach(|py| py.detach(|| catch_unwind(AssertUnwindSafe(run))));
        ran.or_else(|what| match what.downcast::<Raised>() {
            Ok(raised) => Err(raised.0),
            Err(fault) => resume_unwind(fault),
        })
    }
}

/// Unwinding payload: a traceback.
struct Raised(String);

fn raise(py: Python<'_>, error: &PyErr) -> ! {
    let lines = py.import("traceback").and_then(|module| module.call_method1("format_exception", (error,)));
    let text = lines.and_then(|lines| lines.extract::<Vec<String>>()).map(|lines| lines.concat());
    resume_unwind(Box::new(Raised(text.unwrap_or_else(|_| error.to_string()).trim_end().to_string())))
}

/// One connection's object, created at the first call, and its methods.
#[derive(Debug)]
struct Connection {
    of: Arc<Class>,
    object: Option<Methods>,
}

impl std::fmt::Debug for Class {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.class)
    }
}

#[derive(Debug)]
struct Methods {
    object: Py<PyAny>,
    observe: Option<Py<PyAny>>,
    grow: Py<PyAny>,
}

impl Methods {
    fn of(py: Python<'_>, class: &Class) -> PyResult<Methods> {
        let object = class.class.call0(py)?;
        let observe = class.observes.then(|| object.getattr(py, "observe")).transpose()?;
        let grow = object.getattr(py, "grow")?;
        Ok(Methods { object, observe, grow })
    }
}

impl Connection {
    /// Call the object; an exception ends the run.
    fn call<T>(&mut self, call: impl FnOnce(Python<'_>, &Methods) -> PyResult<T>) -> T {
        Python::attach(|py| {
            let called = match &mut self.object {
                Some(methods) => call(py, methods),
                none => Methods::of(py, &self.of).and_then(|methods| call(py, none.insert(methods))),
            };
            called.unwrap_or_else(|error| raise(py, &error))
        })
    }

    fn grow(&mut self, ack: &law::Ack, mss: u32, window: &mut law::Window) {
        let is_delay_based = self.of.is_delay_based;
        *window = self.call(|py, methods| {
            let held = Py::new(py, Window::of(window))?;
            methods.grow.call1(py, (told(ack), mss, &held))?;
            let left = held.borrow(py).left();
            allowed(window, &left, mss, is_delay_based).map_err(PyValueError::new_err)?;
            Ok(left)
        });
    }
}

fn told(ack: &law::Ack) -> Ack {
    let law::Ack { now, acked, una, nxt, ece, rtt, srtt } = *ack;
    Ack { now: now.0, acked, una, nxt, ece, rtt: rtt.map(|rtt| rtt.0), srtt: srtt.0 }
}

/// Check a window change outside a reduction.
fn allowed(before: &law::Window, left: &law::Window, mss: u32, is_delay_based: bool) -> Result<(), String> {
    let least = |value: u32| if is_delay_based { value.min(2 * mss) } else { value };
    for (name, was, is, most) in
        [("cwnd", before.cwnd, left.cwnd, u32::MAX), ("ssthresh", before.ssthresh, left.ssthresh, before.ssthresh)]
    {
        if !(least(was)..=most).contains(&is) {
            let right = match is_delay_based {
                true => "at least two segments, and an ssthresh that does not increase",
                false => {
                    "a cwnd that does not shrink and an unchanged ssthresh, or set is_delay_based = True in the class"
                }
            };
            return Err(format!("grow left {name} at {is} bytes, which was {was}; use {right}"));
        }
    }
    Ok(())
}

impl Foreign for Connection {
    fn fresh(&self) -> Box<dyn Foreign> {
        Box::new(Connection { of: Arc::clone(&self.of), object: None })
    }
}

impl Control for Connection {
    fn sample(&mut self, rtt: Time) {
        if self.of.samples {
            self.call(|py, methods| methods.object.call_method1(py, "sample", (rtt.0,)).map(drop));
        }
    }

    fn begin(&mut self, start: u64, end: u64, deadline: Time) {
        if self.of.begins {
            let deadline = (deadline != Time::NEVER).then_some(deadline.0);
            self.call(|py, methods| methods.object.call_method1(py, "begin", (start, end, deadline)).map(drop));
        }
    }

    fn observe(&mut self, ack: &law::Ack) {
        if self.of.observes {
            let call = |py: Python<'_>, methods: &Methods| match &methods.observe {
                Some(observe) => observe.call1(py, (told(ack),)).map(drop),
                None => Ok(()),
            };
            self.call(call);
        }
    }

    fn slow_start(&mut self, ack: &law::Ack, mss: u32, window: &mut law::Window) {
        self.grow(ack, mss, window);
    }

    fn congestion_avoidance(&mut self, ack: &law::Ack, mss: u32, window: &mut law::Window) {
        self.grow(ack, mss, window);
    }

    fn cut(&mut self, cause: Cause, at: &Congestion, mss: u32, window: &law::Window) -> u32 {
        let cause = match cause {
            Cause::Loss => "loss",
            Cause::Timeout => "timeout",
            Cause::Ecn => "ecn",
            // A cause that this package does not know yet.
            _ => "other",
        };
        self.call(|py, methods| {
            let met = Met { now: at.now.0, flight: at.flight, una: at.una, srtt: at.srtt.0 };
            let gave = methods.object.call_method1(py, "cut", (cause, met, mss, Window::of(window)))?.into_bound(py);
            match gave.extract::<u32>() {
                Ok(ssthresh) if ssthresh >= 2 * mss => Ok(ssthresh),
                _ => Err(PyValueError::new_err(format!(
                    "cut returned {}; return the new ssthresh in bytes, a whole number of at least two segments ({})",
                    gave.repr()?,
                    2 * mss
                ))),
            }
        })
    }
}
