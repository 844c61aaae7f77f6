//! Words of printed commands.

/// A word as a shell takes it. Libraries for this also quote `=` and `,`, which every `--set` and list has.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "+-_./,:=@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.into() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_words_as_needed() {
        let words = ["--set", "tcp.rto_min=10 ms", "--fan-in=2,4", "it's", ""].map(quoted);
        assert_eq!(words, ["--set", "'tcp.rto_min=10 ms'", "--fan-in=2,4", r"'it'\''s'", "''"]);
    }
}
