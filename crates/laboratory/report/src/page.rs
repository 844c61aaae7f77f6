//! Self-contained HTML page: text, JSON data, and the charts' code.

use fanin_lab::figures::disturbs;

const SCRIPT: &str = include_str!("../web/report.js");
const STYLE: &str = include_str!("../web/report.css");

/// The content of a page.
pub struct Page<'a> {
    /// Its title.
    pub title: &'a str,
    /// HTML.
    pub body: &'a str,
    /// JSON for the charts; empty if the page has none.
    pub data: &'a str,
}

impl Page<'_> {
    /// The whole file.
    pub fn html(&self) -> String {
        let mut page = String::with_capacity(self.data.len() + SCRIPT.len() + STYLE.len() + self.body.len() + 2_000);
        page += "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
        page += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
        page += "<meta name=\"color-scheme\" content=\"light dark\">\n";
        // Nothing may be fetched, whatever a scenario's text contains.
        page += "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; \
                 script-src 'unsafe-inline'; style-src 'unsafe-inline'\">\n";
        page += &format!("<title>{}</title>\n", text(self.title));
        page += &format!("<style>\n{STYLE}</style>\n</head>\n<body>\n{}", self.body);
        if self.data.is_empty() {
            return page + "</body>\n</html>\n";
        }
        let data = calm(self.data).replace('<', "\\u003c");
        page += &format!("<script type=\"application/json\" id=\"data\">{data}</script>\n");
        page += &format!("<script>\n{SCRIPT}</script>\n</body>\n</html>\n");
        page
    }
}

/// Replaces control and bidi characters, except newlines and tabs.
fn calm(raw: &str) -> String {
    raw.chars().map(|c| if disturbs(c) && c != '\n' && c != '\t' { '\u{fffd}' } else { c }).collect()
}

/// Escapes text for HTML.
pub fn text(raw: &str) -> String {
    let mut safe = String::with_capacity(raw.len());
    for c in calm(raw).chars() {
        match c {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            c => safe.push(c),
        }
    }
    safe
}

/// Escapes a sentence for HTML and formats text between backticks as code.
pub fn prose(raw: &str) -> String {
    let parts: Vec<&str> = raw.split('`').collect();
    // An unmatched backtick is literal.
    if parts.len().is_multiple_of(2) {
        return text(raw);
    }
    let part = |(place, part): (usize, &&str)| match place % 2 {
        0 => text(part),
        _ => format!("<code>{}</code>", text(part)),
    };
    parts.iter().enumerate().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::{Page, prose, text};

    #[test]
    fn pages_contain_no_bidi_or_control_characters() {
        assert_eq!(text("a\u{202e}b\u{2066}c\u{1b}d\u{9b}e\n\t"), "a\u{fffd}b\u{fffd}c\u{fffd}d\u{fffd}e\n\t");
        let page = Page { title: "a\u{202e}", body: "", data: "{\"label\":\"a\u{202e}b\u{2028}</script>\"}" }.html();
        assert!(!page.contains(['\u{202e}', '\u{2028}']) && page.contains("a\u{fffd}b\u{fffd}\\u003c/script>"));
    }

    #[test]
    fn text_between_backticks_is_code() {
        assert_eq!(prose("as `a<b>` and `c`"), "as <code>a&lt;b&gt;</code> and <code>c</code>");
        assert_eq!(prose("it`s & so"), "it`s &amp; so");
    }
}
