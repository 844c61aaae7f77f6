//! `fanin kernel`: runs the program `fanin-kernel`, which is separate because it links libelf and runs as root.

use std::env;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use crate::arguments::KernelArguments;
use crate::failure::Failure;

/// The program's name.
const PROGRAM: &str = "fanin-kernel";

/// Replaces this process by `fanin-kernel`; returns only if that fails.
pub fn kernel(arguments: &KernelArguments) -> Failure {
    let error = Command::new(program()).args(&arguments.rest).exec();
    let why = match error.kind() {
        io::ErrorKind::NotFound => {
            "is neither beside this program nor in PATH. `make kernel` in fanin's sources builds target/release/fanin-kernel, and needs \
             libelf and zlib with their headers (Debian: libelf-dev zlib1g-dev); docs/kernel.md describes it"
                .to_string()
        }
        _ => format!("cannot run: {error}"),
    };
    Failure::Environment(format!("`fanin kernel` needs the program `{PROGRAM}`, which {why}"))
}

/// The program beside this one, else by its name.
fn program() -> PathBuf {
    let beside = env::current_exe().ok().map(|own| own.with_file_name(PROGRAM)).filter(|path| path.is_file());
    beside.unwrap_or_else(|| PROGRAM.into())
}
