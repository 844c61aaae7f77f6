//! `fanin kernel`: runs the program `fanin-kernel`, which is separate because it links libelf and runs as root.

use std::env;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use fanin_kernel::list;

use crate::arguments::KernelArguments;
use crate::failure::Failure;
use crate::terminal::say;

/// The program's name.
const PROGRAM: &str = "fanin-kernel";

/// Replaces this process by `fanin-kernel`. Without that program, it can only list the programs.
///
/// # Errors
/// The program cannot be run.
pub fn kernel(arguments: &KernelArguments) -> Result<(), Failure> {
    let error = Command::new(program()).args(&arguments.rest).exec();
    let why = match error.kind() {
        io::ErrorKind::NotFound if arguments.rest == ["list"] => return list(),
        io::ErrorKind::NotFound => {
            "is neither beside this program nor in PATH. `make kernel` in fanin's sources builds target/release/fanin-kernel, and needs \
             libelf and zlib with their headers (Debian: libelf-dev zlib1g-dev); docs/kernel.md describes it"
                .to_string()
        }
        _ => format!("cannot run: {error}"),
    };
    Err(Failure::Environment(format!("`fanin kernel` needs the program `{PROGRAM}`, which {why}")))
}

/// Lists the programs; whether they are loaded is not known.
fn list() -> Result<(), Failure> {
    say(&list::rows(|_| None).iter().map(list::Row::to_string).collect::<String>())
}

/// The program beside this one, else by its name.
fn program() -> PathBuf {
    let beside = env::current_exe().ok().map(|own| own.with_file_name(PROGRAM)).filter(|path| path.is_file());
    beside.unwrap_or_else(|| PROGRAM.into())
}
