//! Texts as cells of tables, safe in terminals and spreadsheets.

use fanin_lab::figures::clean;

/// A text that a spreadsheet takes for one: a formula, behind blanks or in wide letters too, gets the mark of a text before it.
pub(crate) fn plain(text: &str) -> String {
    let begins = text
        .trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}')
        .starts_with(['=', '@', '+', '-', '＝', '＠', '＋', '－']);
    let formula = begins && text.parse::<f64>().is_err();
    format!("{}{}", if formula { "'" } else { "" }, clean(text))
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn a_cell_is_text_to_a_spreadsheet_and_none_turns_or_breaks_its_line() {
        let cells = ["=1+1", "@sum(a)", "+cmd", "-x", "-1.5", "+2", "a=b", "dctcp", "a\u{1b}[31m\u{202e}b\n", "=\t"];
        let shown = ["'=1+1", "'@sum(a)", "'+cmd", "'-x", "-1.5", "+2", "a=b", "dctcp", "a?[31m?b?", "'=?"];
        assert_eq!(cells.map(plain), shown);
        // What is before it does not hide it.
        let cells = [" =1", "\t=1", "\r\n-x", "\u{feff}=1", "＝1", " ＠sum", "-", "\"=1"];
        let shown = ["' =1", "'?=1", "'??-x", "'\u{feff}=1", "'＝1", "' ＠sum", "'-", "\"=1"];
        assert_eq!(cells.map(plain), shown);
    }
}
