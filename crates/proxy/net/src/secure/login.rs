//! ASCII authentication of a client: the first request is `set <key> <flags> <exptime> <length>` with `user password` as its value.
//!
//! Until it succeeds, requests are refused in the words of memcached 1.6 with `-Y` (its `try_read_command_asciiauth`).

use std::sync::Arc;

use zeroize::{Zeroize, Zeroizing};

use crate::users::Users;

/// Longest line: memcached closes a connection that sends more without an end.
const LONGEST_LINE: usize = 2048;
/// Longest value, without its end.
const LONGEST_VALUE: usize = 1024;
/// Most words of a line that count.
const WORDS: usize = 5;

const UNAUTHENTICATED: &str = "CLIENT_ERROR unauthenticated\r\n";
const BAD_END: &str = "CLIENT_ERROR bad command line termination\r\n";
const BAD_FORMAT: &str = "CLIENT_ERROR bad authentication token format\r\n";
const FAILED: &str = "CLIENT_ERROR authentication failure\r\n";
const SUCCESS: &str = "STORED\r\n";

/// A client that has not logged in.
#[derive(Debug)]
pub struct Login {
    users: Arc<Users>,
    /// Bytes of an incomplete request, erased when dropped.
    bytes: Zeroizing<Vec<u8>>,
    /// Length of the value, with its end, if its line has come.
    value: Option<usize>,
    /// Whether requests after a wrong password are among the bytes.
    has_input: bool,
    /// The user that has logged in.
    user: Option<String>,
}

/// Progress of a login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Not yet.
    Waits,
    /// A password was wrong. More input waits, maybe.
    Failed,
    /// The client has logged in; this many bytes, now at the start, are its next requests.
    In(usize),
    /// The input cannot be continued.
    Ends,
}

/// Response to a request, and whether it tried a password.
pub struct Response {
    /// For the client.
    pub text: &'static str,
    /// Whether a password was compared, and was right.
    pub tried: Option<bool>,
}

impl Login {
    /// A client that must be one of these users.
    pub fn new(users: Arc<Users>) -> Login {
        Login { users, bytes: Zeroizing::default(), value: None, has_input: false, user: None }
    }

    /// Whether it has input to handle.
    pub fn has_input(&self) -> bool {
        self.has_input
    }

    /// The user that has logged in.
    pub fn into_user(self) -> Option<String> {
        self.user
    }

    /// Handles the first `count` bytes of `input`, up to a wrong password, and passes each response on. The input is erased up to the end of
    /// the login.
    pub fn takes(&mut self, input: &mut [u8], count: usize, mut responds: impl FnMut(Response)) -> Progress {
        // Never grown in place, so that no copy stays behind.
        let bytes = Zeroizing::new([&self.bytes[..], &input[..count]].concat());
        input[..count].zeroize();
        self.has_input = false;
        let mut at = 0;
        loop {
            let rest = &bytes[at..];
            let length = match self.value {
                Some(length) => Some(length).filter(|length| *length <= rest.len()),
                None => rest.iter().position(|byte| *byte == b'\n').map(|end| end + 1),
            };
            let Some(length) = length else {
                if self.value.is_none() && rest.len() > LONGEST_LINE {
                    return Progress::Ends;
                }
                self.bytes = Zeroizing::new(rest.to_vec());
                return Progress::Waits;
            };
            at += length;
            if self.value.take().is_none() {
                match value_of(&rest[..length]) {
                    Some(value) if value <= LONGEST_VALUE => self.value = Some(value + 2),
                    Some(_) => return Progress::Ends,
                    None => responds(Response { text: UNAUTHENTICATED, tried: None }),
                }
                continue;
            }
            let response = self.check(&rest[..length]);
            let (tried, rest) = (response.tried, &bytes[at..]);
            responds(response);
            match tried {
                Some(true) => {
                    input[..rest.len()].copy_from_slice(rest);
                    let value = &bytes[at - length..at];
                    self.user = words(value).next().map(|name| String::from_utf8_lossy(name).into_owned());
                    return Progress::In(rest.len());
                }
                Some(false) if rest.len() > LONGEST_LINE + LONGEST_VALUE => return Progress::Ends,
                Some(false) => {
                    self.has_input = !rest.is_empty();
                    self.bytes = Zeroizing::new(rest.to_vec());
                    return Progress::Failed;
                }
                None => {}
            }
        }
    }

    /// Response to a value.
    fn check(&self, value: &[u8]) -> Response {
        let failed = |text| Response { text, tried: None };
        let Some(value) = value.strip_suffix(b"\r\n") else { return failed(BAD_END) };
        let mut words = words(value);
        let (Some(user), Some(password)) = (words.next(), words.next()) else { return failed(BAD_FORMAT) };
        let is_right = self.users.has(user, password);
        Response { text: if is_right { SUCCESS } else { FAILED }, tried: Some(is_right) }
    }
}

/// Words between spaces.
fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| *byte == b' ').filter(|word| !word.is_empty())
}

/// Length of the value of a `set`, if the line is one.
fn value_of(line: &[u8]) -> Option<usize> {
    let line = line.strip_suffix(b"\n")?;
    let mut words = words(line.strip_suffix(b"\r").unwrap_or(line));
    if words.next()? != b"set" {
        return None;
    }
    std::str::from_utf8(words.nth(WORDS - 2)?).ok()?.parse::<u32>().ok().map(|length| length as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Responses to bytes in pieces of this size, and the rest.
    fn converse(text: &str, size: usize) -> (String, Option<String>) {
        let mut login = Login::new(Arc::new(Users::parse(b"ann:secret\nbob:other\n").ok().unwrap()));
        let mut said = String::new();
        let mut pieces = text.as_bytes().chunks(size);
        while let Some(piece) = if login.has_input() { Some(&[][..]) } else { pieces.next() } {
            let count = piece.len();
            let mut piece = [piece, &[0; 5000]].concat();
            match login.takes(&mut piece, count, |response| said.push_str(response.text)) {
                Progress::Waits | Progress::Failed => assert!(piece.iter().all(|byte| *byte == 0)),
                Progress::In(rest) => {
                    let rest = [&piece[..rest], &pieces.flatten().copied().collect::<Vec<u8>>()].concat();
                    return (said, Some(String::from_utf8(rest).unwrap()));
                }
                Progress::Ends => return (said + "closed", None),
            }
        }
        (said, None)
    }

    #[test]
    fn refuses_all_before_login() {
        let sent = "get a\r\nset a 0 0\r\nset a 0 0 9\r\nbob other\r\nget b\r\n";
        let expected = (format!("{UNAUTHENTICATED}{UNAUTHENTICATED}{SUCCESS}"), Some("get b\r\n".to_owned()));
        for size in [1, 2, 7, 1000] {
            assert_eq!(converse(sent, size), expected, "{size}");
        }
    }

    #[test]
    fn answers_every_invalid_login() {
        let set = |value: &str| format!("set a b c {}\r\n{value}\r\n", value.len());
        for (sent, expected) in [
            (set("ann other"), FAILED),
            (set("ann  secrets"), FAILED),
            (set("Ann secret"), FAILED),
            (set("ann"), BAD_FORMAT),
            (set(""), BAD_FORMAT),
            ("set a 0 0 3\r\nann secret\r\n".to_owned(), BAD_END),
            ("SET a 0 0 3\r\n".to_owned(), UNAUTHENTICATED),
            ("set a 0 0 -1\r\n".to_owned(), UNAUTHENTICATED),
            ("set a 0 0 5000000000\r\n".to_owned(), UNAUTHENTICATED),
            ("set a 0 0 5000\r\n".to_owned(), "closed"),
            ("x".repeat(3000), "closed"),
        ] {
            let (said, rest) = converse(&sent, 1000);
            assert!(said.starts_with(expected) && rest.is_none(), "{sent:?}: {said}");
        }
        assert_eq!(converse(&set("  ann   secret  more"), 1000).0, SUCCESS);
    }
}
