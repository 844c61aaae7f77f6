//! Values as written.

use serde::ser::{Serialize, Serializer};

/// A value in a scenario or after `--set`.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// Quoted text; after `--set` the quotes are optional.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// Number with a decimal point.
    Float(f64),
    /// `true` or `false`.
    Bool(bool),
    /// Values in brackets.
    List(Vec<Literal>),
}

impl Literal {
    /// As written in a scenario.
    pub fn show(&self) -> String {
        match self {
            Literal::Text(text) => format!("\"{text}\""),
            Literal::Integer(n) => n.to_string(),
            Literal::Float(x) => x.to_string(),
            Literal::Bool(b) => b.to_string(),
            Literal::List(items) => format!("[{}]", items.iter().map(Literal::show).collect::<Vec<_>>().join(", ")),
        }
    }
}

impl Serialize for Literal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Literal::Text(text) => serializer.serialize_str(text),
            Literal::Integer(n) => serializer.serialize_i64(*n),
            Literal::Float(x) => serializer.serialize_f64(*x),
            Literal::Bool(b) => serializer.serialize_bool(*b),
            Literal::List(items) => serializer.collect_seq(items),
        }
    }
}
