//! Parsing and printing of a setting's value.

use fanin_laws::scheduler::CLASSES;
use fanin_units::{Bytes, QueueSize, Rate, Ratio, SendRate, Share, Time};

use crate::Scheme;
use crate::chips::Chip;
use crate::class_of::{ClassOf, dscp};
use crate::literal::Literal;
use crate::stacks::Stack;

/// A type of settings.
pub trait Setting: Sized {
    /// Form of a valid value, for messages and the reference.
    const FORM: &'static str;

    /// Parses the value; `Err` contains the error without the form.
    fn read(literal: &Literal) -> Result<Self, String>;

    /// Prints the value as written in a scenario.
    fn show(&self) -> String;

    /// Rank among values of its type, for drawing; `None` if not a number.
    fn number(&self) -> Option<f64> {
        None
    }
}

pub(crate) fn unexpected(literal: &Literal) -> String {
    format!("{} has the wrong form", literal.show())
}

macro_rules! quantity {
    ($type:ty, $form:literal, $number:expr) => {
        impl Setting for $type {
            const FORM: &'static str = $form;
            fn read(literal: &Literal) -> Result<Self, String> {
                match literal {
                    Literal::Text(text) => text.parse().map_err(|why| format!("\"{text}\" is not valid: {why}")),
                    Literal::Integer(n) => Err(format!("{n} has no unit")),
                    other => Err(unexpected(other)),
                }
            }
            fn show(&self) -> String {
                format!("\"{self}\"")
            }
            fn number(&self) -> Option<f64> {
                let number: fn(&$type) -> Option<u64> = $number;
                number(self).map(|number| number as f64)
            }
        }
    };
}

quantity!(Time, "a time with its unit, such as \"25 us\"", |time| Some(time.0));
quantity!(Bytes, "bytes with their unit, such as \"64 KiB\" or \"1460 B\"", |bytes| Some(bytes.0));
quantity!(QueueSize, "a size with its unit, such as \"64 KiB\" or \"250 packets\"", |size| match size {
    QueueSize::Bytes(bytes) => Some(*bytes),
    // Packets and bytes are not comparable.
    QueueSize::Packets(_) => None,
});

impl Setting for Rate {
    const FORM: &'static str = "a rate above zero with its unit, such as \"10 Gbit/s\"";
    fn read(literal: &Literal) -> Result<Rate, String> {
        match literal {
            Literal::Text(text) => match text.parse() {
                Ok(Rate(0)) => Err("a rate of zero sends nothing".into()),
                Ok(rate) => Ok(rate),
                Err(why) => Err(format!("\"{text}\" is not valid: {why}")),
            },
            Literal::Integer(n) => Err(format!("{n} has no unit")),
            other => Err(unexpected(other)),
        }
    }
    fn show(&self) -> String {
        format!("\"{self}\"")
    }
    fn number(&self) -> Option<f64> {
        Some(self.0 as f64)
    }
}

impl Setting for bool {
    const FORM: &'static str = "true or false";
    fn read(literal: &Literal) -> Result<bool, String> {
        match literal {
            Literal::Bool(value) => Ok(*value),
            other => Err(unexpected(other)),
        }
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

impl Setting for u32 {
    const FORM: &'static str = "a whole number";
    fn read(literal: &Literal) -> Result<u32, String> {
        match literal {
            Literal::Integer(n) => u32::try_from(*n).map_err(|_| format!("{n} is out of range")),
            other => Err(unexpected(other)),
        }
    }
    fn show(&self) -> String {
        self.to_string()
    }
    fn number(&self) -> Option<f64> {
        Some((*self).into())
    }
}

impl Setting for u64 {
    const FORM: &'static str = "a whole number";
    fn read(literal: &Literal) -> Result<u64, String> {
        match literal {
            Literal::Integer(n) => u64::try_from(*n).map_err(|_| format!("{n} is out of range")),
            other => Err(unexpected(other)),
        }
    }
    fn show(&self) -> String {
        self.to_string()
    }
    fn number(&self) -> Option<f64> {
        Some(*self as f64)
    }
}

impl Setting for Vec<String> {
    const FORM: &'static str = "a list of strings";
    fn read(literal: &Literal) -> Result<Vec<String>, String> {
        let text = |item: &Literal| match item {
            Literal::Text(text) => Ok(text.clone()),
            other => Err(unexpected(other)),
        };
        match literal {
            Literal::List(items) => items.iter().map(text).collect(),
            other => Err(unexpected(other)),
        }
    }
    fn show(&self) -> String {
        format!("[{}]", self.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", "))
    }
}

macro_rules! fraction {
    ($type:ty, $form:literal) => {
        impl Setting for $type {
            const FORM: &'static str = $form;
            fn read(literal: &Literal) -> Result<$type, String> {
                let text = match literal {
                    Literal::Text(text) => text.clone(),
                    Literal::Integer(n) => n.to_string(),
                    Literal::Float(x) => x.to_string(),
                    other => return Err(unexpected(other)),
                };
                text.parse().map_err(|_| unexpected(literal))
            }
            fn show(&self) -> String {
                match self.to_string() {
                    fraction if fraction.contains('/') => format!("\"{fraction}\""),
                    whole => whole,
                }
            }
            fn number(&self) -> Option<f64> {
                Some(self.as_f64())
            }
        }
    };
}

fraction!(Share, "a share from 0 to 1, such as 0.0625, \"1/16\" or \"6.25 %\"");
fraction!(Ratio, "a number from 0 up, such as 0.25, \"1/8\" or 8");

impl Setting for SendRate {
    const FORM: &'static str = "a share of the link's rate, or a rate with its unit, such as \"1/100\" or \"5 Mbit/s\"";
    fn read(literal: &Literal) -> Result<SendRate, String> {
        match literal {
            Literal::Text(text) if text.contains(char::is_alphabetic) => Rate::read(literal).map(SendRate::Of),
            other => Share::read(other).map(SendRate::Share),
        }
    }
    fn show(&self) -> String {
        match self {
            SendRate::Of(rate) => rate.show(),
            SendRate::Share(share) => share.show(),
        }
    }
    fn number(&self) -> Option<f64> {
        match self {
            SendRate::Of(rate) => rate.number(),
            // Shares and rates are not comparable.
            SendRate::Share(_) => None,
        }
    }
}

/// A text, quoted as in TOML.
pub(crate) fn quoted(text: &str) -> String {
    let escaped = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        c if c.is_control() => format!("\\u{:04X}", u32::from(c)),
        c => c.to_string(),
    };
    format!("\"{}\"", text.chars().map(escaped).collect::<String>())
}

/// The path of a file, relative to the scenario's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePath(pub String);

impl Setting for FilePath {
    const FORM: &'static str = "the path of a file, relative to the scenario's";
    fn read(literal: &Literal) -> Result<FilePath, String> {
        match literal {
            Literal::Text(text) if text.trim().is_empty() => Err("it is empty".into()),
            Literal::Text(text) => Ok(FilePath(text.clone())),
            other => Err(unexpected(other)),
        }
    }
    fn show(&self) -> String {
        quoted(&self.0)
    }
}

impl Setting for ClassOf {
    const FORM: &'static str = "a traffic class from 0 to 7, or a DSCP, such as 3 or \"dscp 26\"";
    fn read(literal: &Literal) -> Result<ClassOf, String> {
        match literal {
            Literal::Integer(_) => match u32::read(literal)? {
                number if (number as usize) < CLASSES => Ok(ClassOf::Number(number)),
                number => Err(format!("there is no class {number}")),
            },
            Literal::Text(text) => {
                let number = text.strip_prefix("dscp ").ok_or_else(|| unexpected(literal))?;
                dscp(number).map(ClassOf::Dscp)
            }
            other => Err(unexpected(other)),
        }
    }
    fn show(&self) -> String {
        match self {
            ClassOf::Number(number) => number.show(),
            ClassOf::Dscp(number) => format!("\"dscp {number}\""),
        }
    }
}

impl Setting for Scheme {
    const FORM: &'static str = "the name of a scheme, such as \"dctcp\"";
    fn read(literal: &Literal) -> Result<Scheme, String> {
        match literal {
            Literal::Text(text) => Scheme::parse(text).map_err(String::from),
            other => Err(unexpected(other)),
        }
    }
    fn show(&self) -> String {
        quoted(&self.to_string())
    }
}

/// Length of a warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarmUp {
    /// Number of rounds or queries.
    Rounds(u32),
    /// Duration.
    For(Time),
}

impl Setting for WarmUp {
    const FORM: &'static str = "rounds or a time, such as \"2 rounds\" or \"100 ms\"";
    fn read(literal: &Literal) -> Result<WarmUp, String> {
        let Literal::Text(text) = literal else { return Err(unexpected(literal)) };
        let rounds = text.trim().strip_suffix("rounds").or_else(|| text.trim().strip_suffix("round"));
        match rounds {
            Some(number) => number.trim().parse().map(WarmUp::Rounds).map_err(|_| unexpected(literal)),
            None => Time::read(literal).map(WarmUp::For),
        }
    }
    fn show(&self) -> String {
        match self {
            WarmUp::Rounds(1) => "\"1 round\"".into(),
            WarmUp::Rounds(n) => format!("\"{n} rounds\""),
            WarmUp::For(time) => time.show(),
        }
    }
}

/// A value that may be absent, written `"none"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Optional<T>(pub Option<T>);

impl<T> Optional<T> {
    /// No value.
    pub const NONE: Optional<T> = Optional(None);
}

macro_rules! optional {
    ($type:ty, $form:literal) => {
        impl Setting for Optional<$type> {
            const FORM: &'static str = $form;
            fn read(literal: &Literal) -> Result<Self, String> {
                match literal {
                    Literal::Text(text) if text == "none" => Ok(Optional(None)),
                    other => <$type>::read(other).map(|value| Optional(Some(value))),
                }
            }
            fn show(&self) -> String {
                self.0.as_ref().map_or("\"none\"".into(), Setting::show)
            }
            fn number(&self) -> Option<f64> {
                self.0.as_ref().and_then(Setting::number)
            }
        }
    };
}

optional!(
    Chip,
    "the name of a switch, \"dctcp-triumph\", \"force10-s6000\", \"arista-7060cx\", \"arista-7050cx3\", \"arista-7060x6\" or \
     \"mellanox-sn2700\", its model, such as \"7050CX3\", or \"none\""
);
optional!(Stack, "the name of a TCP, \"linux\" or \"linux-6.1\", or \"none\"");
optional!(Bytes, "bytes with their unit, such as \"256 KiB\", or \"none\"");
optional!(QueueSize, "a size with its unit, such as \"128 KiB\", or \"none\"");
optional!(Rate, "a rate above zero with its unit, such as \"10 Gbit/s\", or \"none\"");
optional!(Time, "a time with its unit, such as \"40 ms\", or \"none\"");
optional!(u32, "a whole number, or \"none\"");
optional!(Share, "a share above 0 and at most 1, such as 0.5 or \"50 %\", or \"none\"");
optional!(ClassOf, "a traffic class from 0 to 7, a DSCP such as \"dscp 48\", or \"none\"");
optional!(Scheme, "the name of a scheme, such as \"dctcp\", or \"none\"");
optional!(WarmUp, "rounds or a time with its unit, such as \"2 rounds\" or \"100 ms\", or \"none\"");
optional!(FilePath, "the path of a file, relative to the scenario's, or \"none\"");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_of_packets_is_a_number_or_a_dscp() {
        let read = |literal| ClassOf::read(&literal);
        assert_eq!(read(Literal::Integer(3)), Ok(ClassOf::Number(3)));
        assert_eq!(read(Literal::Text("dscp 26".into())), Ok(ClassOf::Dscp(26)));
        assert!(read(Literal::Integer(8)).is_err() && read(Literal::Text("dscp 64".into())).is_err());
        assert_eq!([ClassOf::Number(3), ClassOf::Dscp(26)].map(|of| of.show()), ["3", "\"dscp 26\""]);
    }
}
