//! Tests through the public interface: captures and counters.

mod hostile;
mod script;
mod scripted;
