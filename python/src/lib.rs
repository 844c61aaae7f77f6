//! The library's Python interface: values in, values out, and Python's errors. Python-only parts (defaults, progress, executors) are
//! in `fanin/*.py`.

mod carrier;
mod comparison;
mod diagnosed;
mod failure;
mod frame;
mod lab;
mod law;
mod limit;
mod paper;
mod scenario;
mod show;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use fanin::words;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::failure::{asked, input};

/// Execute a batch of runs on a worker, without the interpreter's lock.
#[pyfunction]
fn work<'py>(py: Python<'py>, parcel: &[u8]) -> Bound<'py, PyBytes> {
    let answer = py.detach(|| fanin::work(parcel, &AtomicBool::new(false)));
    PyBytes::new(py, &answer)
}

/// The engine's name: another engine's tables may differ.
#[pyfunction]
fn engine() -> &'static str {
    fanin::engine()
}

/// The output of `fanin explain SUBJECT --json`.
#[pyfunction]
fn explain(py: Python<'_>, subject: &str) -> PyResult<String> {
    words::explained(subject).map(|object| object.to_string()).map_err(|what| input(py, &what))
}

/// The output of `fanin list --json`.
#[pyfunction]
fn listed() -> String {
    words::listed().to_string()
}

/// The sections of a scenario, with descriptions.
#[pyfunction]
fn sections() -> Vec<(&'static str, &'static str)> {
    words::Settings::sections()
}

/// Default cache folder of finished runs; `None` if the system has none.
#[pyfunction]
fn cache_folder() -> Option<PathBuf> {
    fanin::user_cache().map(|cache| cache.folder().to_path_buf())
}

/// Run the program; returns its exit code.
#[pyfunction]
fn program(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| fanin_cli::main(arguments))
}

/// The picoseconds of a time with its unit.
#[pyfunction]
fn time_ps(py: Python<'_>, parameter: &str, text: &str) -> PyResult<u64> {
    match text.parse::<fanin::Time>() {
        Ok(time) if time > fanin::Time::ZERO => Ok(time.0),
        _ => Err(asked(
            py,
            &format!("{parameter}: `{text}` is not a valid time; use a time above zero, such as \"100 us\""),
        )),
    }
}

#[pymodule(gil_used = true)]
fn _fanin(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<scenario::Scenario>()?;
    module.add_class::<comparison::Comparison>()?;
    module.add_class::<diagnosed::Diagnosed>()?;
    module.add_class::<frame::Table>()?;
    module.add_class::<paper::Reproduced>()?;
    module.add_class::<law::Ack>()?;
    module.add_class::<law::Met>()?;
    module.add_class::<law::Window>()?;
    module.add_class::<limit::Limiter>()?;
    module.add_class::<limit::Limit>()?;
    module.add_class::<limit::Wait>()?;
    module.add_class::<limit::Grant>()?;
    for function in [
        wrap_pyfunction!(law::register, module)?,
        wrap_pyfunction!(work, module)?,
        wrap_pyfunction!(engine, module)?,
        wrap_pyfunction!(explain, module)?,
        wrap_pyfunction!(listed, module)?,
        wrap_pyfunction!(sections, module)?,
        wrap_pyfunction!(cache_folder, module)?,
        wrap_pyfunction!(time_ps, module)?,
        wrap_pyfunction!(program, module)?,
        wrap_pyfunction!(diagnosed::diagnose, module)?,
        wrap_pyfunction!(lab::compare, module)?,
        wrap_pyfunction!(lab::run, module)?,
        wrap_pyfunction!(lab::trace, module)?,
        wrap_pyfunction!(lab::advise, module)?,
        wrap_pyfunction!(lab::plan, module)?,
        wrap_pyfunction!(paper::reproduce, module)?,
        wrap_pyfunction!(paper::papers, module)?,
    ] {
        module.add_function(function)?;
    }
    Ok(())
}
