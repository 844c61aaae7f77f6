//! Documents: generated pages equal the code's output, and the commands and files of all pages work.

mod papers;
mod scenario;
mod tables;
mod typed;
