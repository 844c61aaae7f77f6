//! All endpoint tests in one program, since linking takes longest.

mod common;
mod giving_up;
mod hystart;
mod linux_windows;
mod m21;
mod network;
mod pair;
mod rfc3042;
mod rfc3168;
mod rfc5681;
mod rfc6298;
mod rfc6582;
mod rfc6675;
mod rfc6937;
mod rfc7323;
mod rfc8985;
mod rfc9293;
mod undo;
mod window_validation;
mod wrap;
