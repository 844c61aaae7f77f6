//! Captures and counters from outside.

mod hostile;
mod script;
mod scripted;
