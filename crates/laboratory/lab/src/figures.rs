//! Formatting of figures with few digits and suitable units.

use fanin_units::QueueSize;

/// Three digits: `905`, `28.3`, `9.31`.
pub fn three(value: f64) -> String {
    match value.abs() {
        v if v < 0.005 => "0".into(),
        v if v < 9.995 => format!("{value:.2}"),
        v if v < 99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// A mean count in at most four characters: `0`, `<0.1`, `2.1`, `340`, `12k`.
pub fn count(value: f64) -> String {
    match value {
        v if v <= 0.0 => "0".into(),
        v if v < 0.05 => "<0.1".into(),
        v if v < 9.95 => format!("{v:.1}"),
        v if v < 999.5 => format!("{v:.0}"),
        v if v < 9_950.0 => format!("{:.1}k", v / 1e3),
        v if v < 999_500.0 => format!("{:.0}k", v / 1e3),
        v => format!("{:.0}M", v / 1e6),
    }
}

/// A time given in ms, in the unit that suits it: `812 us`, `203 ms`, `1.23 s`.
pub fn time(ms: f64) -> String {
    match ms {
        v if v < 0.9995 => format!("{} us", three(v * 1e3)),
        v if v < 999.5 => format!("{} ms", three(v)),
        v => format!("{} s", three(v / 1e3)),
    }
}

/// Bytes in the decimal unit that suits them: `812 MB`.
pub fn bytes(bytes: f64) -> String {
    match bytes {
        v if v < 999.5e3 => format!("{} KB", three(v / 1e3)),
        v if v < 999.5e6 => format!("{} MB", three(v / 1e6)),
        v if v < 999.5e9 => format!("{} GB", three(v / 1e9)),
        v => format!("{} TB", three(v / 1e12)),
    }
}

/// A buffer size as written, or with a suitable unit if it is an odd number of bytes: `64 KiB`, `24.2 MB`.
pub fn shown(room: QueueSize) -> String {
    match (room, room.to_string()) {
        (QueueSize::Bytes(all), text) if text.ends_with(" B") && all >= 10_000 => bytes(all as f64),
        (_, text) => text,
    }
}

/// The text with an initial capital.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// Whether a character may disturb a terminal: control characters, and changes of text direction.
pub fn disturbs(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The user's text without such characters.
pub fn clean(text: &str) -> String {
    text.chars().map(|c| if disturbs(c) { '?' } else { c }).collect()
}

/// A text that a spreadsheet treats as text: prefixes formulas, including those behind blanks or in full-width characters.
pub fn cell(text: &str) -> String {
    let begins = text
        .trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}')
        .starts_with(['=', '@', '+', '-', '＝', '＠', '＋', '－']);
    let formula = begins && text.parse::<f64>().is_err();
    format!("{}{}", if formula { "'" } else { "" }, clean(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_contain_no_formulas_or_control_characters() {
        let cells = ["=1+1", "@sum(a)", "+cmd", "-x", "-1.5", "+2", "a=b", "dctcp", "a\u{1b}[31m\u{202e}b\n", "=\t"];
        let shown = ["'=1+1", "'@sum(a)", "'+cmd", "'-x", "-1.5", "+2", "a=b", "dctcp", "a?[31m?b?", "'=?"];
        assert_eq!(cells.map(cell), shown);
        // Leading characters do not hide a formula.
        let cells = [" =1", "\t=1", "\r\n-x", "\u{feff}=1", "＝1", " ＠sum", "-", "\"=1"];
        let shown = ["' =1", "'?=1", "'??-x", "'\u{feff}=1", "'＝1", "' ＠sum", "'-", "\"=1"];
        assert_eq!(cells.map(cell), shown);
    }
}
