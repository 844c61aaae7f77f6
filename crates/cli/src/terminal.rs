//! Standard output: width, line folding and printing.

use std::io::{self, IsTerminal, Write, stdout};

use crate::closed;
use crate::failure::Failure;
use crate::figures::{lines_of, shown};

/// Prints to standard output, without colours unless it is a terminal.
pub fn say(text: &str) -> Result<(), Failure> {
    write(text).map_err(Failure::from_stdout)
}

/// Prints, and returns the error of standard output.
pub fn write(text: &str) -> io::Result<()> {
    closed::check()?;
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush())
}

/// Output width: COLUMNS, else the terminal's, else 100; at least 50.
pub fn width() -> usize {
    #[expect(clippy::disallowed_methods, reason = "affects the layout only, not results")]
    let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse().ok());
    let terminal = || terminal_size::terminal_size().filter(|_| stdout().is_terminal());
    told.or_else(|| terminal().map(|(width, _)| usize::from(width.0))).unwrap_or(100).max(50)
}

/// Text in which prose is folded to the output width, and commands stay on one line for pasting.
#[derive(Default)]
pub struct Text(String);

impl Text {
    /// Adds lines of prose.
    pub fn prose(&mut self, lines: &str) {
        self.0 += &fold(lines);
        self.0 += "\n";
    }

    /// Adds a line unchanged, with an indent.
    pub fn verbatim(&mut self, indent: usize, line: &str) {
        self.0 += &format!("{:indent$}{line}\n", "");
    }

    /// Returns the text.
    pub fn done(self) -> String {
        self.0
    }
}

/// Folds lines at words to the output width. Continuation lines align with the first line's words, after its indent and, for an entry
/// such as `name   meaning`, after its name. Styles have no width.
pub fn fold(text: &str) -> String {
    fold_at(text, width())
}

fn fold_at(text: &str, width: usize) -> String {
    text.split_inclusive('\n').map(|line| fold_line(line, width)).collect()
}

fn fold_line(line: &str, width: usize) -> String {
    let (body, end) = line.strip_suffix('\n').map_or((line, ""), |body| (body, "\n"));
    if shown(body) <= width {
        return line.into();
    }
    let indent = body.len() - body.trim_start().len();
    let entry = body[indent..].find("   ").map(|gap| indent + gap);
    let behind = entry.map(|at| at + body[at..].len() - body[at..].trim_start().len());
    let begins = behind.filter(|&at| shown(&body[..at]) <= width / 2).unwrap_or(indent);
    let (head, rest) = body.split_at(begins);
    let hang = format!("\n{}", " ".repeat(shown(head)));
    let lines = textwrap::wrap(rest, lines_of(width - shown(head)));
    format!("{head}{}{end}", lines.join(&hang))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::BOLD;

    #[test]
    fn keeps_commands_on_one_line() {
        let command = format!("fanin compare my.toml {}", "--set 'a.b=c d' ".repeat(40));
        let mut text = Text::default();
        text.prose(&command);
        text.verbatim(4, &command);
        let text = text.done();
        assert!(text.lines().count() > 2);
        assert!(text.lines().any(|line| line.trim_start() == command), "{text}");
    }

    #[test]
    fn wraps_long_lines_with_indentation() {
        assert_eq!(fold_at("  one two three\nfour\n", 9), "  one two\n  three\nfour\n");
        let entry = "  key   what it is for\n";
        assert_eq!(fold_at(entry, 17), "  key   what it\n        is for\n");
        assert_eq!(fold_at(entry, 80), entry);
        let styled = format!("{BOLD}one{BOLD:#} two three");
        assert_eq!(fold_at(&styled, 7), format!("{BOLD}one{BOLD:#} two\nthree"));
        assert_eq!(fold_at("averylongword", 5), "averylongword");
    }
}
