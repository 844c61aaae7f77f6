//! Declaration of figures: name, unit and meaning, each once. Fields, JSON keys, CSV and Parquet columns and the pages' tables are
//! derived from it.

use fanin_tables::{Column, ColumnType};

use crate::stats::{Interval, Range};

/// First columns of every table of a run. The rows of a point begin with the first two.
pub const OF_A_RUN: [Column; 3] = [
    Column { name: "scheme", kind: ColumnType::Text, doc: "The scheme's label, else its name." },
    Column {
        name: "fan_in",
        kind: ColumnType::U64,
        doc: "The number of servers; of a workload between any hosts, of those besides the client.",
    },
    Column { name: "seed", kind: ColumnType::U64, doc: "The run's seed." },
];

/// A declared figure.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// Field name, also used in JSON.
    pub name: &'static str,
    /// Unit of its values, unless a value has its own.
    pub unit: &'static str,
    /// Meaning.
    pub doc: &'static str,
    /// Column title in the report's table of points, if shown there.
    pub head: Option<&'static str>,
    /// Where it is written.
    pub written: Written,
    /// Its form in JSON.
    pub form: Form,
    parts: fn(&Figure) -> Vec<Part>,
}

/// Outputs that include a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// JSON and columns.
    Columns,
    /// JSON and columns, with a column that says which parts are only lower bounds.
    Bounds,
    /// JSON only.
    Json,
}

/// Form of a figure in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A value, or an object of values that are always present.
    Value,
    /// An object of other figures, or null.
    Object,
    /// A list of such objects.
    List,
}

/// One value of a figure.
#[derive(Clone, Debug)]
pub struct Part {
    /// Path in JSON: keys separated by dots.
    pub json: String,
    /// Column, if any.
    pub column: Option<String>,
    /// Unit.
    pub unit: &'static str,
    /// Type.
    pub kind: Kind,
    /// Whether it may be absent.
    pub optional: bool,
    /// Meaning.
    pub doc: String,
    /// Column title in the report's table of points, if shown there.
    pub head: Option<&'static str>,
}

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Text,
    /// Whole number.
    Whole,
    /// Number.
    Real,
    /// True or false; text in a column.
    Flag,
    /// Several values; text in a column.
    List,
}

/// A value in a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Text; may be empty.
    Text(String),
    /// Whole number or absent.
    Whole(Option<u64>),
    /// Number or absent.
    Real(Option<f64>),
}

impl Figure {
    /// A figure with values of this type.
    pub(crate) const fn of<T: Shaped>(
        name: &'static str,
        unit: &'static str,
        doc: &'static str,
        head: Option<&'static str>,
        written: Written,
    ) -> Figure {
        Figure { name, unit, doc, head, written, form: T::FORM, parts: T::parts }
    }

    /// Its values in the order of output.
    pub fn parts(&self) -> Vec<Part> {
        (self.parts)(self)
    }

    /// The figure as its only value.
    pub(crate) fn alone(&self, kind: Kind) -> Part {
        let column = (self.written != Written::Json).then(|| self.name.to_string());
        let (json, doc) = (self.name.into(), self.doc.into());
        Part { json, column, unit: self.unit, kind, optional: false, doc, head: self.head }
    }

    /// One of several values, with a suffix to the figure's name.
    pub(crate) fn marked(&self, mark: &str, doc: String) -> Part {
        let column = (self.written != Written::Json).then(|| format!("{}_{mark}", self.name));
        let json = format!("{}.{mark}", self.name);
        Part { json, column, unit: self.unit, kind: Kind::Real, optional: false, doc, head: None }
    }
}

/// A type of figures.
pub(crate) trait Shaped {
    /// Form in JSON.
    const FORM: Form = Form::Value;
    /// Its values for a declared figure; none for a list, whose rows are a separate table.
    fn parts(of: &Figure) -> Vec<Part>;
    /// The values, in the same order.
    fn values(&self) -> Vec<Value>;
    /// Values if the figure is absent.
    fn absent() -> Vec<Value>;
}

/// A row of figures, declared by [`figures!`].
pub(crate) trait Figures {}

macro_rules! one {
    ($($type:ty: $kind:ident, $value:expr, $nothing:expr;)*) => {$(
        impl Shaped for $type {
            fn parts(of: &Figure) -> Vec<Part> {
                vec![of.alone(Kind::$kind)]
            }
            fn values(&self) -> Vec<Value> {
                let value: fn(&$type) -> _ = $value;
                vec![Value::$kind(value(self))]
            }
            fn absent() -> Vec<Value> {
                vec![Value::$kind($nothing)]
            }
        }
    )*};
}

one! {
    f64: Real, |x| Some(*x), None;
    u64: Whole, |n| Some(*n), None;
    u32: Whole, |n| Some((*n).into()), None;
    usize: Whole, |n| Some(*n as u64), None;
    String: Text, String::clone, String::new();
    &'static str: Text, |text| text.to_string(), String::new();
}

impl Shaped for bool {
    fn parts(of: &Figure) -> Vec<Part> {
        vec![of.alone(Kind::Flag)]
    }
    fn values(&self) -> Vec<Value> {
        vec![Value::Text(self.to_string())]
    }
    fn absent() -> Vec<Value> {
        vec![Value::Text(String::new())]
    }
}

impl<T: Shaped> Shaped for Option<T> {
    const FORM: Form = T::FORM;
    fn parts(of: &Figure) -> Vec<Part> {
        T::parts(of).into_iter().map(|part| Part { optional: true, ..part }).collect()
    }
    fn values(&self) -> Vec<Value> {
        self.as_ref().map_or_else(T::absent, T::values)
    }
    fn absent() -> Vec<Value> {
        T::absent()
    }
}

impl Shaped for Interval {
    fn parts(of: &Figure) -> Vec<Part> {
        vec![
            Part { head: of.head, ..of.marked("mean", of.doc.into()) },
            of.marked("lo", "Lower end of its 95 % interval over seeds.".into()),
            of.marked("hi", "Upper end of it.".into()),
        ]
    }
    fn values(&self) -> Vec<Value> {
        [self.mean, self.lo, self.hi].map(|end| Value::Real(Some(end))).into()
    }
    fn absent() -> Vec<Value> {
        vec![Value::Real(None); 3]
    }
}

impl Shaped for Range {
    fn parts(of: &Figure) -> Vec<Part> {
        vec![
            of.marked("p10", format!("{} The 10th percentile.", of.doc)),
            of.marked("p50", "Median of these.".into()),
            of.marked("p90", "90th percentile of these.".into()),
        ]
    }
    fn values(&self) -> Vec<Value> {
        [self.p10, self.p50, self.p90].map(|value| Value::Real(Some(value))).into()
    }
    fn absent() -> Vec<Value> {
        vec![Value::Real(None); 3]
    }
}

impl<T: Figures> Shaped for Vec<T> {
    const FORM: Form = Form::List;
    fn parts(_: &Figure) -> Vec<Part> {
        Vec::new()
    }
    fn values(&self) -> Vec<Value> {
        Vec::new()
    }
    fn absent() -> Vec<Value> {
        Vec::new()
    }
}

/// Values of a row of figures inside another figure, with its name as prefix.
pub(crate) fn within(of: &Figure, figures: &[Figure]) -> Vec<Part> {
    let inner = figures.iter().flat_map(Figure::parts);
    let named = |part: Part| Part {
        json: format!("{}.{}", of.name, part.json),
        column: part.column.map(|column| format!("{}_{column}", of.name)).filter(|_| of.written != Written::Json),
        ..part
    };
    inner.map(named).collect()
}

/// Declares a row of figures: fields with units and meanings.
macro_rules! figures {
    ($(#[$meta:meta])* $name:ident {
        $($(#[$kmeta:meta])* $key:ident: $ktype:ty,)*
    } {
        $($(#[doc = $doc:literal])+ $figure:ident: $type:ty, $unit:literal $(as $head:literal)? $(in $written:ident)?;)*
    }) => {
        $(#[$meta])*
        pub struct $name {
            $($(#[$kmeta])* pub $key: $ktype,)*
            $($(#[doc = $doc])+ pub $figure: $type,)*
        }

        impl $name {
            /// Its figures in the order of JSON.
            pub const FIGURES: &'static [$crate::catalogue::Figure] = &[$($crate::catalogue::Figure::of::<$type>(
                stringify!($figure),
                $unit,
                concat!($($doc),+).trim_ascii(),
                $crate::catalogue::figures!(@head $($head)?),
                $crate::catalogue::figures!(@written $($written)?),
            )),*];

            /// Their values by figure.
            fn by_figure(&self) -> Vec<Vec<$crate::catalogue::Value>> {
                vec![$($crate::catalogue::Shaped::values(&self.$figure)),*]
            }
        }

        impl $crate::catalogue::Figures for $name {}

        impl $crate::catalogue::Shaped for $name {
            const FORM: $crate::catalogue::Form = $crate::catalogue::Form::Object;
            fn parts(of: &$crate::catalogue::Figure) -> Vec<$crate::catalogue::Part> {
                $crate::catalogue::within(of, $name::FIGURES)
            }
            fn values(&self) -> Vec<$crate::catalogue::Value> {
                self.by_figure().concat()
            }
            fn absent() -> Vec<$crate::catalogue::Value> {
                [$(<$type as $crate::catalogue::Shaped>::absent()),*].concat()
            }
        }
    };
    (@head) => { None };
    (@head $head:literal) => { Some($head) };
    (@written) => { $crate::catalogue::Written::Columns };
    (@written $written:ident) => { $crate::catalogue::Written::$written };
}
pub(crate) use figures;
