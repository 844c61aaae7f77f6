//! Names that others choose, in this program's output.

/// A name as it is printed: control characters, which a terminal obeys, as escapes such as `\u{1b}`, and marks that reverse a line.
pub fn printable(name: &str) -> String {
    let is_plain = |letter: char| {
        !letter.is_control()
            && !matches!(letter, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let mut text = String::with_capacity(name.len());
    for letter in name.chars() {
        if is_plain(letter) {
            text.push(letter);
        } else {
            text.extend(letter.escape_default());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_control_characters_are_escaped() {
        assert_eq!(printable("système.slice/web-1.service 漢"), "système.slice/web-1.service 漢");
        assert_eq!(printable("a\u{1b}[2Jb\nc\u{9b}\u{202e}"), "a\\u{1b}[2Jb\\nc\\u{9b}\\u{202e}");
    }
}
