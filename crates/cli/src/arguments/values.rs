//! Values of options: parsers, whose errors say what to write.

use std::num::NonZeroUsize;

use fanin::{Bytes, Gathering, Rate, Time};

pub fn method(text: &str) -> Result<Gathering, String> {
    let known = || Gathering::ALL.iter().copied();
    known().find(|method| method.row().word.eq_ignore_ascii_case(text)).ok_or_else(|| {
        let words: Vec<&str> = known().map(|method| method.row().word).collect();
        format!("use one of {}", words.join(", "))
    })
}

pub fn percentage(text: &str) -> Result<f64, String> {
    let number = text.trim().strip_suffix('%').and_then(|n| n.trim().parse::<f64>().ok());
    match number {
        Some(percent) if percent > 0.0 && percent < 100.0 => Ok(percent / 100.0),
        _ => Err("use a percentage between 0 and 100, such as 2%".into()),
    }
}

pub fn device(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.@:".contains(c);
    match !text.is_empty() && text.len() < 16 && text.chars().all(plain) && !text.starts_with('-') {
        true => Ok(text.into()),
        false => Err("use a device name, such as eth0".into()),
    }
}

pub fn step(text: &str) -> Result<Time, String> {
    const EXPECTED: &str = "use a time above zero with its unit, such as 100us";
    match text.parse() {
        Ok(step) if step > Time::ZERO => Ok(step),
        Ok(_) => Err(EXPECTED.into()),
        Err(why) => Err(format!("{why}; {EXPECTED}")),
    }
}

pub fn period(text: &str) -> Result<Time, String> {
    const EXPECTED: &str = "use a time of at least 1 s with its unit, such as \"5 min\"";
    match text.parse() {
        Ok(period) if period >= Time::from_secs(1) => Ok(period),
        Ok(_) => Err(EXPECTED.into()),
        Err(why) => Err(format!("{why}; {EXPECTED}")),
    }
}

pub fn rate(text: &str) -> Result<Rate, String> {
    text.parse().map_err(|why| format!("{why}; use a rate with its unit, such as 25Gbit/s"))
}

pub fn size(text: &str) -> Result<Bytes, String> {
    text.parse().map_err(|why| format!("{why}; use bytes with their unit, such as \"500 MB\""))
}

pub fn jobs(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| "use a whole number of at least 1".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_is_at_least_one_second() {
        assert_eq!(period("5 min"), Ok(Time::from_secs(300)));
        assert_eq!(period("1h"), Ok(Time::from_secs(3600)));
        assert!(period("5m").is_err_and(|why| why.contains("`min` or `ms`")));
        assert!(period("10 ms").is_err_and(|why| why.starts_with("use a time of at least 1 s")));
    }
}
