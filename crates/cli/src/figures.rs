//! Formatting of figures, bars and tables for the terminal.

use std::time::Duration;

use anstyle::{AnsiColor, Style};
pub use fanin::figures::{bytes, clean, count, three, time};
use textwrap::core::display_width;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// Secondary text.
pub const GREY: Style = Style::new().dimmed();
/// Emphasis.
pub const BOLD: Style = Style::new().bold();

/// Good.
pub const GREEN: Style = AnsiColor::Green.on_default();
/// Neither good nor bad.
pub const YELLOW: Style = AnsiColor::Yellow.on_default();
/// Bad.
pub const RED: Style = AnsiColor::Red.on_default().bold();

/// About two digits, in at most four characters: `18`, `2.3`, `1.2k`.
pub fn two(value: f64) -> String {
    match value.abs() {
        v if v < 0.05 => "0".into(),
        v if v < 9.95 => format!("{value:.1}"),
        _ => count(value),
    }
}

/// An approximate range in at most nine characters: `120-830`, `0.5-60`, `1.2k-2.6k`.
pub fn range(lo: f64, hi: f64) -> String {
    format!("{}-{}", two(lo), two(hi))
}

/// A large number in words of three digits: `412 M`.
pub fn large(value: f64) -> String {
    match value {
        v if v < 1e3 => format!("{v:.0}"),
        v if v < 1e6 => format!("{} k", three(v / 1e3)),
        v if v < 1e9 => format!("{} M", three(v / 1e6)),
        v => format!("{} G", three(v / 1e9)),
    }
}

/// A rough wall time: `40 s`, `25 min`, `7 h`, `12 days`.
pub fn span(span: Duration) -> String {
    match span.as_secs_f64() {
        s if s < 99.5 => format!("{:.0} s", s.ceil()),
        s if s < 99.5 * 60.0 => format!("{:.0} min", s / 60.0),
        s if s < 48.0 * 3600.0 => format!("{:.0} h", s / 3600.0),
        s => format!("{:.0} days", s / 86_400.0),
    }
}

/// A bar of `share` of `width` characters, in eighths, padded with blanks; any share above zero is visible.
pub fn bar(share: f64, width: usize) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * width as f64 * 8.0).round() as usize;
    let eighths = if share > 0.0 { eighths.max(1) } else { 0 };
    let text = "█".repeat(eighths / 8) + PARTS[eighths % 8];
    format!("{text:<width$}")
}

/// A table with aligned columns in `width` characters: the first column left-aligned, the others right-aligned, with a grey head.
/// Columns that do not fit follow below, after a copy of the first `keys`.
pub fn columns(head: &[&str], rows: &[Vec<String>], keys: usize, width: usize) -> String {
    let widths: Vec<usize> =
        (0..head.len()).map(|i| rows.iter().map(|r| shown(&r[i])).chain([shown(head[i])]).max().unwrap_or(0)).collect();
    let keys_width: usize = widths[..keys].iter().map(|width| width + 2).sum();
    let mut tables: Vec<Vec<usize>> = Vec::new();
    let mut room = 0;
    for (i, own) in widths.iter().enumerate().skip(keys) {
        match tables.last_mut().filter(|_| own + 2 <= room) {
            Some(table) => table.push(i),
            None => {
                tables.push((0..keys).chain([i]).collect());
                room = (width + 2).saturating_sub(keys_width);
            }
        }
        room = room.saturating_sub(own + 2);
    }
    let line = |table: &[usize], cells: &dyn Fn(usize) -> String| {
        let cell = |&i: &usize| match i {
            0 => padded(&cells(i), widths[i]),
            _ => " ".repeat(widths[i] - shown(&cells(i))) + &cells(i),
        };
        table.iter().map(cell).collect::<Vec<_>>().join("  ").trim_end().to_string()
    };
    let one = |table: &Vec<usize>| {
        let head = format!("{GREY}{}{GREY:#}\n", line(table, &|i| head[i].into()));
        head + &rows.iter().map(|row| line(table, &|i| row[i].clone()) + "\n").collect::<String>()
    };
    tables.iter().map(one).collect()
}

/// Words in lines of at most `width` columns; every line but the first begins with `indent`.
pub fn wrap(text: &str, width: usize, indent: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    textwrap::fill(&words, lines_of(width).subsequent_indent(indent))
}

/// Lines that are full before the next begins; no word is cut.
pub fn lines_of(width: usize) -> Options<'static> {
    let options = Options::new(width).word_separator(WordSeparator::AsciiSpace);
    options.word_splitter(WordSplitter::NoHyphenation).wrap_algorithm(WrapAlgorithm::FirstFit).break_words(false)
}

/// The columns that a text takes on a terminal: none for styles, two for a wide character.
pub fn shown(text: &str) -> usize {
    display_width(text)
}

/// As much of a text as `width` columns hold.
pub fn cut(text: &str, width: usize) -> String {
    let mut whole = text.to_string();
    while shown(&whole) > width {
        whole.pop();
    }
    whole
}

/// A text with blanks behind it, up to `width` columns.
pub fn padded(text: &str, width: usize) -> String {
    text.to_string() + &" ".repeat(width.saturating_sub(shown(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits_and_a_unit_that_fits() {
        let shown = [0.0, 0.004, 9.314, 28.31, 99.96, 905.4, 9412.0].map(three);
        assert_eq!(shown, ["0", "0", "9.31", "28.3", "100", "905", "9412"]);
        assert_eq!([0.01, 2.34, 18.1, 1_234.0].map(two), ["0", "2.3", "18", "1.2k"]);
        assert_eq!([0.8124, 203.4, 999.6, 12_345.0].map(time), ["812 us", "203 ms", "1.00 s", "12.3 s"]);
        assert_eq!([0.0, 0.01, 2.13, 340.2, 1_234.0, 12_345.0].map(count), ["0", "<0.1", "2.1", "340", "1.2k", "12k"]);
        assert_eq!([412.0, 6_900_000.0].map(large), ["412", "6.90 M"]);
        let spans = [0, 40, 1_500, 25_000, 1_000_000].map(|s| span(Duration::from_secs(s)));
        assert_eq!(spans, ["0 s", "40 s", "25 min", "7 h", "12 days"]);
        assert_eq!([812.0, 64_000.0, 3.2e9, 1.7e13].map(bytes), ["0.81 KB", "64.0 KB", "3.20 GB", "17.0 TB"]);
    }

    #[test]
    fn a_bar_has_its_width_and_counts_in_eighths() {
        assert_eq!(bar(0.0, 4), "    ");
        assert_eq!(bar(1e-6, 4), "▏   ");
        assert_eq!(bar(0.5, 4), "██  ");
        assert_eq!(bar(1.0 / 32.0, 4), "▏   ");
        assert_eq!(bar(7.0, 4), "████");
    }

    #[test]
    fn wide_tables_continue_below_with_the_first_column() {
        let rows = vec![vec!["newreno".to_string(), "1".into(), "22".into(), "333".into()]];
        let plain =
            |width| anstream::adapter::strip_str(&columns(&["name", "a", "b", "c"], &rows, 1, width)).to_string();
        assert_eq!(plain(80), "name     a   b    c\nnewreno  1  22  333\n");
        assert_eq!(plain(19), plain(80));
        assert_eq!(plain(18), "name     a   b\nnewreno  1  22\nname       c\nnewreno  333\n");
        assert_eq!(plain(3).lines().count(), 6);
    }

    #[test]
    fn ranges_have_at_most_nine_characters() {
        assert_eq!(
            [range(120.0, 830.0), range(0.5, 60.0), range(8.0, 604.0), range(1_240.0, 2_640.0)],
            ["120-830", "0.5-60", "8.0-604", "1.2k-2.6k"]
        );
    }

    #[test]
    fn text_is_wrapped_at_words() {
        assert_eq!(wrap("one two three four", 9, "  "), "one two\n  three\n  four");
        assert_eq!(wrap(&format!("{BOLD}one{BOLD:#} two"), 7, ""), format!("{BOLD}one{BOLD:#} two"));
    }

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(wrap("漢字 漢字 漢字", 9, ""), "漢字 漢字\n漢字");
        assert_eq!(padded("漢字", 5), "漢字 ");
        let rows = [["漢字", "漢"], ["a", "b"]].map(|row| row.map(String::from).to_vec());
        let table = anstream::adapter::strip_str(&columns(&["name", "x"], &rows, 1, 40)).to_string();
        assert_eq!(table, "name   x\n漢字  漢\na      b\n");
    }
}
