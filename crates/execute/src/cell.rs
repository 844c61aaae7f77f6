//! Texts as cells of tables, safe in terminals and spreadsheets.

use fanin_lab::figures::clean;

/// A text that a spreadsheet treats as text: prefixes formulas, including those behind blanks or in full-width characters.
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
    fn cells_contain_no_formulas_or_control_characters() {
        let cells = ["=1+1", "@sum(a)", "+cmd", "-x", "-1.5", "+2", "a=b", "dctcp", "a\u{1b}[31m\u{202e}b\n", "=\t"];
        let shown = ["'=1+1", "'@sum(a)", "'+cmd", "'-x", "-1.5", "+2", "a=b", "dctcp", "a?[31m?b?", "'=?"];
        assert_eq!(cells.map(plain), shown);
        // Leading characters do not hide a formula.
        let cells = [" =1", "\t=1", "\r\n-x", "\u{feff}=1", "＝1", " ＠sum", "-", "\"=1"];
        let shown = ["' =1", "'?=1", "'??-x", "'\u{feff}=1", "'＝1", "' ＠sum", "'-", "\"=1"];
        assert_eq!(cells.map(plain), shown);
    }
}
