//! A page in one file that asks for no other: words as plain HTML, data as JSON, and the charts' code.

const SCRIPT: &str = include_str!("../web/report.js");
const STYLE: &str = include_str!("../web/report.css");

/// What a page is made of.
pub struct Page<'a> {
    /// Its title.
    pub title: &'a str,
    /// HTML.
    pub body: &'a str,
    /// JSON, which the charts' code reads; empty where the body is all there is.
    pub data: &'a str,
}

impl Page<'_> {
    /// The whole file.
    pub fn html(&self) -> String {
        let mut page = String::with_capacity(self.data.len() + SCRIPT.len() + STYLE.len() + self.body.len() + 2_000);
        page += "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
        page += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
        page += "<meta name=\"color-scheme\" content=\"light dark\">\n";
        // Nothing may be fetched, whatever a scenario's text says.
        page += "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; \
                 script-src 'unsafe-inline'; style-src 'unsafe-inline'\">\n";
        page += &format!("<title>{}</title>\n", text(self.title));
        page += &format!("<style>\n{STYLE}</style>\n</head>\n<body>\n{}", self.body);
        if self.data.is_empty() {
            return page + "</body>\n</html>\n";
        }
        let data = self.data.replace('<', "\\u003c");
        page += &format!("<script type=\"application/json\" id=\"data\">{data}</script>\n");
        page += &format!("<script>\n{SCRIPT}</script>\n</body>\n</html>\n");
        page
    }
}

/// A text as HTML shows it.
pub fn text(raw: &str) -> String {
    let mut safe = String::with_capacity(raw.len());
    for c in raw.chars() {
        match c {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            c if c.is_control() && c != '\n' && c != '\t' => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

/// A sentence in which what stands between backticks is code.
pub fn prose(raw: &str) -> String {
    let parts: Vec<&str> = raw.split('`').collect();
    // Without its end a backtick is one.
    if parts.len().is_multiple_of(2) {
        return text(raw);
    }
    let part = |(place, part): (usize, &&str)| match place % 2 {
        0 => text(part),
        _ => format!("<code>{}</code>", text(part)),
    };
    parts.iter().enumerate().map(part).collect()
}

/// A word as a shell takes it.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "+-_./,:=@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.into() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::prose;

    #[test]
    fn what_stands_between_backticks_is_code_and_one_alone_is_itself() {
        assert_eq!(prose("as `a<b>` and `c`"), "as <code>a&lt;b&gt;</code> and <code>c</code>");
        assert_eq!(prose("it`s & so"), "it`s &amp; so");
    }
}
