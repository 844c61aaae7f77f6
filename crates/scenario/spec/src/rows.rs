//! Rows of CSV files: flow lists, bursts and plans.

use csv::{ReaderBuilder, StringRecord};

/// A non-blank row.
pub(crate) struct Row<'a> {
    /// First line, from one.
    pub line: usize,
    /// Text as written.
    pub text: &'a str,
    record: StringRecord,
}

impl Row<'_> {
    /// Fields, without quotes and surrounding blanks.
    pub fn fields(&self) -> Vec<&str> {
        self.record.iter().map(str::trim).collect()
    }
}

/// The non-blank rows of a text.
pub(crate) fn rows(text: &str) -> impl Iterator<Item = Row<'_>> {
    let mut reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
    let (mut line, mut counted) = (1, 0);
    std::iter::from_fn(move || {
        loop {
            let mut record = StringRecord::new();
            let from = reader.position().byte() as usize;
            // The text is valid UTF-8, and rows may have any number of fields: reading cannot fail.
            if !reader.read_record(&mut record).unwrap_or(false) {
                return None;
            }
            let whole = &text[from..reader.position().byte() as usize];
            // The reader skips empty lines before a row.
            let begins = from + whole.len() - whole.trim_start().len();
            line += text[counted..begins].matches('\n').count();
            counted = begins;
            let row = Row { line, text: whole.trim(), record };
            if !row.text.is_empty() {
                return Some(row);
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_line_numbers_and_unquoted_fields() {
        let text = "\n a, b \r\n\n \n\"1\",\"two, and \"\"more\"\"\"\n\nlast";
        let found: Vec<_> = rows(text).map(|row| (row.line, row.text.to_string(), row.fields().join("|"))).collect();
        let of = |line, text: &str, fields: &str| (line, text.to_string(), fields.to_string());
        let quoted = of(5, "\"1\",\"two, and \"\"more\"\"\"", "1|two, and \"more\"");
        assert_eq!(found, [of(2, "a, b", "a|b"), quoted, of(7, "last", "last")]);
        assert_eq!(rows(" \n\n").count(), 0);
    }
}
