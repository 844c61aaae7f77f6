//! Python executors as the library's transport: `fanin/carry.py` submits batches and reports their results.

use std::time::Duration;

use fanin::{BatchResult, StopReason, Transport};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// An object of `fanin.carry.Futures`.
pub struct Futures(pub Py<PyAny>);

impl Transport for Futures {
    fn at_once(&self) -> usize {
        Python::attach(|py| self.0.call_method0(py, "at_once")?.extract(py)).unwrap_or(1)
    }

    fn hand_in(&self, number: u64, parcel: Vec<u8>) -> Result<(), String> {
        Python::attach(|py| {
            let refused = self.0.call_method1(py, "hand_in", (number, PyBytes::new(py, &parcel)));
            match refused.and_then(|why| why.extract::<Option<String>>(py)) {
                Ok(None) => Ok(()),
                Ok(Some(why)) => Err(why),
                Err(error) => Err(error.to_string()),
            }
        })
    }

    fn next(&self, most: Duration) -> Option<(u64, BatchResult)> {
        Python::attach(|py| {
            let came = self.0.call_method1(py, "next", (most.as_secs_f64(),)).ok()?;
            let (number, kind, what): (u64, String, Bound<'_, PyAny>) = came.extract::<Option<_>>(py).ok()??;
            let said = || what.to_string();
            Some((
                number,
                match kind.as_str() {
                    "answer" => what.cast::<PyBytes>().map_or_else(
                        |_| BatchResult::Lost(said()),
                        |bytes| BatchResult::Answer(bytes.as_bytes().to_vec()),
                    ),
                    "lost" => BatchResult::Lost(said()),
                    _ => BatchResult::Refused(said()),
                },
            ))
        })
    }

    fn give_up(&self) {
        // A failure here has no one to report to: nothing waits any more.
        Python::attach(|py| drop(self.0.call_method0(py, "give_up")));
    }

    fn ended(&self, why: StopReason<'_>) {
        let (kind, what) = match why {
            StopReason::Refused(what) => ("refused", what),
            StopReason::Gone(what) => ("gone", what),
            StopReason::Lost(what) => ("lost", what),
        };
        Python::attach(|py| drop(self.0.call_method1(py, "ended", (kind, what))));
    }
}
