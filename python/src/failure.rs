//! The library's errors as the package's own (`fanin/errors.py`).

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use fanin::{Error, Origin, Out, Problem};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// An error of the package with this message.
fn of(py: Python<'_>, class: &str, what: &str, place: &[(&str, Bound<'_, PyAny>)]) -> PyErr {
    let made = py.import("fanin.errors").and_then(|errors| {
        let known = PyDict::new(py);
        place.iter().try_for_each(|(key, value)| known.set_item(key, value))?;
        errors.getattr(class)?.call((what,), Some(&known))
    });
    made.map_or_else(|broken| broken, PyErr::from_value)
}

/// An error in a scenario, with its place.
pub fn problem(py: Python<'_>, problem: &Problem) -> PyErr {
    let text = |text: &str| text.into_pyobject(py).map(Bound::into_any);
    let number = |number: usize| number.into_pyobject(py).map(Bound::into_any);
    let mut place = Vec::new();
    match &problem.origin {
        Origin::File { name, line } => {
            place.extend(text(name).ok().map(|name| ("file", name)));
            place.extend(number(*line).ok().map(|line| ("line", line)));
        }
        Origin::Entry { name, .. } => place.extend(text(name).ok().map(|name| ("file", name))),
        Origin::Argument(argument) => place.extend(text(argument).ok().map(|argument| ("argument", argument))),
        Origin::Default => {}
    }
    of(py, "ScenarioError", &problem.to_string(), &place)
}

/// An invalid argument.
pub fn asked(py: Python<'_>, what: &str) -> PyErr {
    of(py, "AskedError", what, &[])
}

/// An unreadable input.
pub fn input(py: Python<'_>, what: &str) -> PyErr {
    asked(py, what)
}

/// Any library error.
pub fn raised(py: Python<'_>, error: &Error) -> PyErr {
    let class = match error {
        Error::Scenario(what) => return problem(py, what),
        Error::Broken(_) => "SimulatorError",
        Error::Raised(_) => "LawError",
        Error::Folder(_) | Error::Unwritten(_) | Error::Unread { .. } => "FolderError",
        Error::Stopped => "StoppedError",
        Error::Asked(_) | Error::Lacking(_) | Error::Memory(_) | Error::Paper(_) | Error::PlanningError(_) => {
            "AskedError"
        }
    };
    of(py, class, &error.to_string(), &[])
}

/// Claim a folder for results.
pub fn claimed(py: Python<'_>, folder: PathBuf) -> PyResult<Out> {
    Out::claim(&folder).map_err(|refusal| raised(py, &Error::Folder(refusal)))
}

/// The value of a lock, even if poisoned.
pub fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
