//! `fanin completions`: shell completions.

use clap::CommandFactory;
use clap_complete::{generate, shells};

use crate::arguments::{Arguments, CompletionsArguments, Shell};
use crate::failure::Failure;
use crate::terminal::say;

/// Prints the script.
pub fn completions(arguments: &CompletionsArguments) -> Result<(), Failure> {
    let (mut command, mut script) = (Arguments::command(), Vec::new());
    match arguments.shell {
        Shell::Bash => generate(shells::Bash, &mut command, "fanin", &mut script),
        Shell::Zsh => generate(shells::Zsh, &mut command, "fanin", &mut script),
        Shell::Fish => generate(shells::Fish, &mut command, "fanin", &mut script),
    }
    say(&String::from_utf8_lossy(&script))
}
