//! Declaration of tables: a row's fields are its columns, whose names include the unit.

use crate::cause::Cause;
use crate::flow_kind::FlowKind;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// Whole number.
    U64,
    /// Whole number or absent.
    OptionalU64,
    /// Text.
    Text,
}

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Name, ending in the unit.
    pub name: &'static str,
    /// Type.
    pub kind: ColumnType,
    /// Meaning.
    pub doc: &'static str,
}

impl Column {
    /// The unit in the name.
    pub fn unit(&self) -> &'static str {
        match self.kind {
            ColumnType::Text => "text",
            ColumnType::U64 | ColumnType::OptionalU64 => unit(self.name).unwrap_or("count"),
        }
    }
}

/// The unit that a name ends in or implies, as in `queue_max_bytes`.
fn unit(name: &str) -> Option<&'static str> {
    name.split('_').find_map(|part| match part {
        "bps" => Some("bit/s"),
        "bytes" => Some("B"),
        "fan" => Some("servers"),
        "host" | "rack" | "round" | "seed" | "server" => Some("number"),
        "ppm" => Some("ppm"),
        "ps" => Some("ps"),
        _ => None,
    })
}

/// A value of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// Whole number or absent.
    U64(Option<u64>),
    /// Text.
    Text(String),
}

/// A row of a table: a schema, and values in the same order.
pub trait Row {
    /// The table's name.
    const TABLE: &'static str;
    /// The columns.
    const COLUMNS: &'static [Column];
    /// The values, one per column.
    fn cells(&self) -> Vec<Cell>;
}

/// A type that a column can hold.
pub(crate) trait Value {
    const KIND: ColumnType;
    fn cell(&self) -> Cell;
}

impl Value for u64 {
    const KIND: ColumnType = ColumnType::U64;
    fn cell(&self) -> Cell {
        Cell::U64(Some(*self))
    }
}

impl Value for u32 {
    const KIND: ColumnType = ColumnType::U64;
    fn cell(&self) -> Cell {
        Cell::U64(Some((*self).into()))
    }
}

impl Value for Option<u64> {
    const KIND: ColumnType = ColumnType::OptionalU64;
    fn cell(&self) -> Cell {
        Cell::U64(*self)
    }
}

impl Value for String {
    const KIND: ColumnType = ColumnType::Text;
    fn cell(&self) -> Cell {
        Cell::Text(self.clone())
    }
}

impl Value for FlowKind {
    const KIND: ColumnType = ColumnType::Text;
    fn cell(&self) -> Cell {
        Cell::Text(self.word().into())
    }
}

impl Value for Cause {
    const KIND: ColumnType = ColumnType::Text;
    fn cell(&self) -> Cell {
        Cell::Text(self.word().into())
    }
}

macro_rules! table {
    ($(#[doc = $doc:literal])* $name:ident in $table:literal {
        $($(#[doc = $cdoc:literal])* $column:ident: $type:ty,)*
    }) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub struct $name { $($(#[doc = $cdoc])* pub $column: $type,)* }

        impl Row for $name {
            const TABLE: &'static str = $table;
            const COLUMNS: &'static [Column] = &[$(Column {
                name: stringify!($column),
                kind: <$type as Value>::KIND,
                doc: concat!($($cdoc),*).trim_ascii(),
            }),*];
            fn cells(&self) -> Vec<Cell> {
                vec![$(self.$column.cell()),*]
            }
        }
    };
}
