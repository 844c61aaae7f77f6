//! The program `fanin-kernel`, which `fanin kernel` runs.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(fanin_kernel::commands::main())
}
