//! Scenarios and the files beside them, in one program: to link is what takes long.

mod any_text;
mod flows;
mod sealed;
mod stack;
mod sweep;
mod switch;
