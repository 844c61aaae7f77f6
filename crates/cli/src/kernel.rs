//! `fanin kernel` and `fanin watch`: run the program `fanin-kernel`, which is separate because it links libelf and runs as root.

use std::env;
use std::ffi::OsString;
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
    match error.kind() {
        io::ErrorKind::NotFound if arguments.rest == ["list"] => list(),
        _ => Err(missing("fanin kernel", &error)),
    }
}

/// Replaces this process by `fanin-kernel watch`, or returns the reason why it cannot.
pub fn replace_by_watch(arguments: &[OsString]) -> Failure {
    missing("fanin watch", &Command::new(program()).arg("watch").args(arguments).exec())
}

/// Failure of a command whose program cannot be run.
pub fn missing(command: &str, error: &io::Error) -> Failure {
    let why = match error.kind() {
        io::ErrorKind::NotFound => {
            "is neither beside this program nor in PATH. `make kernel` in fanin's sources builds target/release/fanin-kernel, and needs \
             libelf and zlib with their headers (Debian: libelf-dev zlib1g-dev); docs/kernel.md describes it"
                .to_string()
        }
        _ => format!("cannot run: {error}"),
    };
    Failure::Environment(format!("`{command}` needs the program `{PROGRAM}`, which {why}"))
}

/// Lists the programs; whether they are loaded is not known.
fn list() -> Result<(), Failure> {
    say(&list::rows(|_| None).iter().map(list::Row::to_string).collect::<String>())
}

/// The program beside this one, else by its name.
pub fn program() -> PathBuf {
    let beside = env::current_exe().ok().map(|own| own.with_file_name(PROGRAM)).filter(|path| path.is_file());
    beside.unwrap_or_else(|| PROGRAM.into())
}
