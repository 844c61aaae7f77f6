//! Values in settings: words, quantities, addresses and servers.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::ops::{Range, RangeInclusive};
use std::str::FromStr;

use fanin_units::{ParseError, Rate};
use serde::de::{Deserialize, Deserializer, Visitor};
use toml::Spanned;

use super::foreign::foreign;
use fanin_proxy_net::Address;
use fanin_proxy_routing::Weighted;

/// Slowest and fastest link.
pub const LINKS: RangeInclusive<Rate> = Rate(1_000_000)..=Rate(1_000_000_000_000);

/// A problem and its byte range in the file.
pub struct Wrong(pub Option<Range<usize>>, pub String);

/// Number of the line at a byte of a text.
pub fn line_of(text: &str, at: usize) -> usize {
    1 + text[..at.min(text.len())].matches('\n').count()
}

/// A quantity in a file: a string, or a number without a unit, as in twemproxy's files.
pub struct Written(String);

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Written, D::Error> {
        deserializer.deserialize_any(Written(String::new()))
    }
}

impl Visitor<'_> for Written {
    type Value = Written;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string with a unit")
    }
    fn visit_str<E>(self, text: &str) -> Result<Written, E> {
        Ok(Written(text.to_owned()))
    }
    fn visit_i64<E>(self, number: i64) -> Result<Written, E> {
        Ok(Written(number.to_string()))
    }
    fn visit_f64<E>(self, number: f64) -> Result<Written, E> {
        Ok(Written(number.to_string()))
    }
}

/// A key with a valid value, and the unit that other programs use for plain numbers.
pub struct Right {
    key: &'static str,
    value: &'static str,
    unit: &'static str,
}

/// Such a key.
pub const fn right(key: &'static str, value: &'static str, unit: &'static str) -> Right {
    Right { key, value, unit }
}

/// Returns the value of a word, or the default.
pub fn word<T: Copy>(found: Option<Spanned<String>>, default: T, words: &[(&str, T)]) -> Result<T, Wrong> {
    let Some(found) = found else { return Ok(default) };
    let meant = words.iter().find(|(word, _)| word == found.get_ref());
    meant.map(|(_, kind)| *kind).ok_or_else(|| {
        let all: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let says = foreign(found.get_ref()).map_or(String::new(), |says| format!("; {says}"));
        Wrong(Some(found.span()), format!("unknown value `{}`: use one of {}{says}", found.get_ref(), all.join(", ")))
    })
}

/// Parses a quantity.
pub fn quantity<T: FromStr<Err = ParseError>>(
    found: Option<Spanned<Written>>,
    default: T,
    Right { key, value, unit }: Right,
) -> Result<T, Wrong> {
    let Some(found) = found else { return Ok(default) };
    let Written(text) = found.get_ref();
    text.parse().map_err(|why| {
        let right = match why {
            ParseError::NoUnit => format!("{text} {unit}"),
            _ => value.to_owned(),
        };
        Wrong(Some(found.span()), format!("`{text}`: {why}; use a value such as {key} = \"{right}\""))
    })
}

/// Parses a number from 1 to `most`.
pub fn whole(number: Option<Spanned<i64>>, default: usize, most: i64) -> Result<usize, Wrong> {
    match number {
        None => Ok(default),
        Some(number) if (1..=most).contains(number.get_ref()) => Ok(*number.get_ref() as usize),
        Some(number) => Err(Wrong(Some(number.span()), format!("{} is outside 1 to {most}", number.get_ref()))),
    }
}

/// Parses a quantity within bounds.
pub fn bounded<T: FromStr<Err = ParseError> + PartialOrd + fmt::Display + Copy>(
    found: Option<Spanned<Written>>,
    default: T,
    right: Right,
    range: RangeInclusive<T>,
) -> Result<T, Wrong> {
    let place = found.as_ref().map(Spanned::span);
    let Right { key, value: such_as, .. } = right;
    let value = quantity(found, default, right)?;
    let wrong =
        |what: String| Err(Wrong(place, format!("`{value}` is {what}; use a value such as {key} = \"{such_as}\"")));
    match value {
        value if value < *range.start() => wrong(format!("less than {}", range.start())),
        value if value > *range.end() => wrong(format!("more than {}", range.end())),
        value => Ok(value),
    }
}

/// Resolves `host:port`, or reads the path of a UNIX socket.
pub fn address(text: &str) -> Result<Address, String> {
    if let Some(path) = text.strip_prefix(UNIX) {
        return unix(path).ok_or_else(|| format!("`{text}` is not a UNIX socket: use an absolute path of at most {LONGEST_PATH} bytes, such as unix:/run/fanin.sock"));
    }
    let wrong = || format!("`{text}` is not an address: use host:port, such as 127.0.0.1:11211, or unix:/path");
    resolve(text).map(Address::Ip).ok_or_else(wrong)
}

/// The host in an address, if it has one.
pub fn host(text: &str) -> Option<&str> {
    let (host, _) = text.rsplit_once(':').filter(|_| !text.starts_with(UNIX))?;
    Some(host.trim_matches(['[', ']']))
}

/// Resolves `host:port`.
pub fn ip_address(text: &str) -> Result<SocketAddr, String> {
    resolve(text).ok_or_else(|| format!("`{text}` is not an address: use host:port, such as 127.0.0.1:11211"))
}

fn resolve(text: &str) -> Option<SocketAddr> {
    text.to_socket_addrs().ok()?.next()
}

/// Start of a UNIX socket's address.
const UNIX: &str = "unix:";
/// Longest path of a UNIX socket, in bytes, without its terminator: unix(7).
const LONGEST_PATH: usize = 107;

/// A UNIX socket at an absolute path.
fn unix(path: &str) -> Option<Address> {
    (path.starts_with('/') && !path.contains('\0') && path.len() <= LONGEST_PATH).then(|| Address::Unix(path.into()))
}

/// Parses `host:port[:weight][ name]`, twemproxy's format, or `unix:/path[:weight][ name]`. Returns also the host, if it has one.
pub fn server(text: &str) -> Result<(Weighted, Address, Option<String>), String> {
    const RIGHT: &str = "use host:port, host:port:weight or \"host:port:weight name\", with a weight from 1 to 65535, or unix:/path in \
                         place of host:port";
    let wrong = || format!("`{text}` is not a server: {RIGHT}");
    let (at, name) = text.split_once(' ').map_or((text, None), |(at, name)| (at, Some(name.trim())));
    let name = name.filter(|name| !name.is_empty());
    if let Some(at) = at.strip_prefix(UNIX) {
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let (path, weight) = at.rsplit_once(':').filter(|(_, weight)| is_number(weight)).unwrap_or((at, "1"));
        let weight = weight.parse::<u16>().ok().filter(|weight| *weight > 0).ok_or_else(wrong)?;
        let address = unix(path).ok_or_else(wrong)?;
        return Ok((Weighted { name: name.unwrap_or(path).to_owned(), weight: weight.into() }, address, None));
    }
    let parts: Vec<&str> = at.rsplitn(3, ':').collect();
    let number = |text: &str| text.parse::<u16>().ok();
    let (host, port, weight) = match parts[..] {
        [weight, port, host] if number(port).is_some() => (host, port, number(weight)),
        [port, _] | [port, _, _] => (&at[..at.len() - port.len() - 1], port, Some(1)),
        _ => return Err(wrong()),
    };
    let right = number(port).zip(weight.filter(|weight| *weight > 0)).filter(|_| !host.is_empty());
    let Some((port, weight)) = right else { return Err(wrong()) };
    let bare = host.trim_matches(['[', ']']);
    let found = (bare, port).to_socket_addrs().ok().and_then(|mut found| found.next());
    let address = found.ok_or_else(|| format!("`{text}`: host {host} not found"))?;
    let usual = if port == 11211 { host.to_owned() } else { format!("{host}:{port}") };
    let weighted = Weighted { name: name.map_or(usual, str::to_owned), weight: weight.into() };
    Ok((weighted, address.into(), Some(bare.to_owned())))
}
