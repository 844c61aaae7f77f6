//! The executable `fanin`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(fanin_cli::main(std::env::args_os().collect()))
}
