//! Words of a line, split at spaces like memcached's, at most 23.

/// Maximum number of words: memcached's 24 without the empty one at the end.
pub const MOST: usize = 23;

/// First words of a line.
pub struct Words<'a> {
    words: [&'a [u8]; MOST],
    count: usize,
}

impl<'a> Words<'a> {
    pub fn of(line: &'a [u8]) -> Words<'a> {
        let mut found = Words { words: [&[]; MOST], count: 0 };
        for word in Each(line).take(MOST) {
            found.words[found.count] = word;
            found.count += 1;
        }
        found
    }

    pub fn count(&self) -> usize {
        self.count
    }

    /// A word; empty if it does not exist.
    pub fn get(&self, index: usize) -> &'a [u8] {
        self.words.get(index).copied().unwrap_or_default()
    }

    pub fn last(&self) -> &'a [u8] {
        self.get(self.count.wrapping_sub(1))
    }

    pub fn from(&self, index: usize) -> &[&'a [u8]] {
        self.words[..self.count].get(index..).unwrap_or_default()
    }
}

/// All words of a line.
#[derive(Clone, Debug)]
pub struct Each<'a>(pub &'a [u8]);

impl<'a> Iterator for Each<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let start = self.0.iter().position(|byte| *byte != b' ')?;
        let rest = &self.0[start..];
        let end = memchr::memchr(b' ', rest).unwrap_or(rest.len());
        let (word, rest) = rest.split_at(end);
        self.0 = rest;
        Some(word)
    }
}
