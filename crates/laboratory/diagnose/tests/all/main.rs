//! Tests through the public interface: captures and counters.

mod corpus;
mod hostile;
mod script;
mod scripted;
