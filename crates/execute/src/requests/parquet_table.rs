//! The same table in Parquet.

use std::fs::File;

use parquet::basic::{LogicalType, TimeUnit, Type as Physical};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use parquet::schema::types::Type;

use super::sink::{Nanos, Said, Sink, Unreadable};
use super::table::{COLUMNS, row};

/// Reads a table row by row.
pub(super) fn read(file: File, sink: &mut Sink<'_>) -> Result<(), Unreadable> {
    let reader = SerializedFileReader::new(file).map_err(unread)?;
    let schema = reader.metadata().file_metadata().schema();
    let column = |name: &str| {
        let found = schema.get_fields().iter().find(|field| field.name() == name).cloned();
        found.ok_or_else(|| Unreadable::Form(format!("no column `{name}`: right would be time, query, key and size")))
    };
    let columns = [column("time")?, column("query")?, column("key")?, column("size")?];
    let tick = tick(&columns[0]).map_err(Unreadable::Form)?;
    let wanted = Type::group_type_builder("log").with_fields(columns.to_vec()).build().map_err(unread)?;
    for (found, number) in reader.get_row_iter(Some(wanted)).map_err(unread)?.zip(1..) {
        let found = found.map_err(unread)?;
        let mut fields: [&Field; 4] = [&Field::Null; 4];
        for (name, field) in found.get_column_iter() {
            if let Some(place) = COLUMNS.iter().position(|column| column == name) {
                fields[place] = field;
            }
        }
        let [time, query, key, size] = fields;
        let [query, key] = [text(query), text(key)];
        let said = said(time, tick, &query, &key, size);
        sink.take("row", number, said)?;
    }
    Ok(())
}

fn unread(error: ParquetError) -> Unreadable {
    match error {
        ParquetError::NYI(what) | ParquetError::General(what) if what.contains("compression") => {
            Unreadable::Form(format!("{what}: right would be Snappy, LZ4, gzip or none"))
        }
        error => Unreadable::Form(error.to_string()),
    }
}

/// Nanoseconds a tick of the column's whole numbers; seconds where they are fractions.
fn tick(column: &Type) -> Result<Nanos, String> {
    let unit = match column.get_basic_info().logical_type_ref() {
        Some(LogicalType::Timestamp(stamp)) => Some(stamp.unit),
        _ => None,
    };
    Ok(match (column.get_physical_type(), unit) {
        (Physical::INT64, Some(TimeUnit::NANOS)) => 1,
        (Physical::INT64, Some(TimeUnit::MICROS)) => 1_000,
        (Physical::INT64, Some(TimeUnit::MILLIS)) => 1_000_000,
        (Physical::DOUBLE | Physical::FLOAT, None) | (Physical::INT64 | Physical::INT32, None) => 1_000_000_000,
        (kind, _) => return Err(format!("column `time` is {kind}: right would be seconds or timestamps")),
    })
}

/// A name or a number.
fn text(field: &Field) -> Vec<u8> {
    match field {
        Field::Null => Vec::new(),
        Field::Str(text) => text.clone().into_bytes(),
        Field::Bytes(bytes) => bytes.data().to_vec(),
        number => number.to_string().into_bytes(),
    }
}

fn said<'a>(time: &Field, tick: Nanos, query: &'a [u8], key: &'a [u8], size: &Field) -> Result<Said<'a>, String> {
    let whole = match *time {
        Field::Double(seconds) => Some((seconds * 1e9) as i64),
        Field::Float(seconds) => Some((f64::from(seconds) * 1e9) as i64),
        Field::Int(count) => i64::from(count).checked_mul(tick as i64),
        Field::Long(count) | Field::TimestampMillis(count) | Field::TimestampMicros(count) => {
            count.checked_mul(tick as i64)
        }
        _ => None,
    };
    let at = whole.and_then(|nanos| u64::try_from(nanos).ok());
    let at = at.ok_or_else(|| format!("{time} is no time: right would be seconds since some zero"))?;
    let bytes = match *size {
        Field::Int(bytes) => u32::try_from(bytes).ok(),
        Field::Long(bytes) => u32::try_from(bytes).ok(),
        Field::UInt(bytes) => Some(bytes),
        Field::ULong(bytes) => u32::try_from(bytes).ok(),
        _ => None,
    };
    row(at, query, key, bytes.ok_or_else(|| format!("{size} is no size: right would be a whole number of bytes"))?)
}
