//! Users and passwords of memcached's ASCII authentication (memcached's doc/protocol.txt, "Authentication").

use std::fmt;

use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// A user and their password, erased when dropped.
pub struct User {
    name: Zeroizing<Vec<u8>>,
    password: Zeroizing<Vec<u8>>,
}

/// Users.
#[derive(Debug)]
pub struct Users(Vec<User>);

/// An invalid line of a list of users, counted from 1, and the problem.
pub struct InvalidUsers(pub usize, pub &'static str);

impl User {
    /// The request that logs in. The key is ignored.
    pub fn request(&self) -> Zeroizing<Vec<u8>> {
        let (name, password) = (&self.name[..], &self.password[..]);
        let line = format!("set fanin 0 0 {}\r\n", name.len() + 1 + password.len());
        Zeroizing::new([line.as_bytes(), name, b" ", password, b"\r\n"].concat())
    }
}

/// Without the password.
impl fmt::Debug for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.name))
    }
}

impl Users {
    /// Parses lines of `user:password`, as memcached's `-Y` does: a further colon ends the password.
    ///
    /// # Errors
    /// A line that is not of this form, or cannot be sent as two words; or there is no line.
    pub fn parse(text: &[u8]) -> Result<Users, InvalidUsers> {
        let mut users = Vec::new();
        for (number, line) in text.strip_suffix(b"\n").unwrap_or(text).split(|byte| *byte == b'\n').enumerate() {
            let mut words = line.strip_suffix(b"\r").unwrap_or(line).split(|byte| *byte == b':');
            let word = |word: Option<&[u8]>| word.filter(|word| !word.is_empty()).map(<[u8]>::to_vec);
            let (name, password) = (word(words.next()), word(words.next()));
            let Some((name, password)) = name.zip(password) else {
                return Err(InvalidUsers(number + 1, "it is not of the form user:password"));
            };
            let is_word = |word: &[u8]| word.iter().all(|byte| byte.is_ascii_graphic() || !byte.is_ascii());
            let user = User { name: Zeroizing::new(name), password: Zeroizing::new(password) };
            if !is_word(&user.name) || !is_word(&user.password) {
                return Err(InvalidUsers(number + 1, "a space or control character cannot be sent in a login"));
            }
            users.push(user);
        }
        Ok(Users(users))
    }

    /// Its only user.
    pub fn only(mut self) -> Option<User> {
        self.0.pop().filter(|_| self.0.is_empty())
    }

    /// Whether a user has this password. The time taken depends on lengths only.
    pub fn has(&self, name: &[u8], password: &[u8]) -> bool {
        let is_it = |user: &User| bool::from(user.name.ct_eq(name) & user.password.ct_eq(password));
        self.0.iter().fold(false, |found, user| found | is_it(user))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_memcacheds_files() {
        let users = Users::parse(b"ann:secret\nbob:pa$$:comment\r\n").ok().unwrap();
        let has = |name: &str, password: &str| users.has(name.as_bytes(), password.as_bytes());
        assert!(has("ann", "secret") && has("bob", "pa$$"));
        assert!(!has("ann", "pa$$") && !has("ann", "") && !has("", "secret") && !has("bob", "pa$$:comment"));
        for (text, line) in [("", 1), ("ann:b\n\n", 2), ("ann:b\nbob", 2), (":b\n", 1), ("a:\n", 1), ("a:b c\n", 1)] {
            assert_eq!(Users::parse(text.as_bytes()).err().map(|wrong| wrong.0), Some(line), "{text:?}");
        }
    }

    #[test]
    fn shows_no_password() {
        let users = Users::parse(b"ann:secret\n").ok().unwrap();
        assert_eq!(format!("{users:?}"), "Users([ann])");
        assert_eq!(users.only().unwrap().request()[..], b"set fanin 0 0 10\r\nann secret\r\n"[..]);
    }
}
