//! Laws of receivers: what windows a host offers to those who send to it.

pub mod ictcp;
