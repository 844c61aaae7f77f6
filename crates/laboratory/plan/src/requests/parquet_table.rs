//! The same table in Parquet, as pyarrow, Polars, DuckDB and fastparquet write it.

use std::fmt::Display;
use std::fs::File;

use parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::reader::RowIter;
use parquet::record::{Field, Row};
use parquet::schema::types::Type;

use super::catalogue::Seen;
use super::guarded::guarded;
use super::sink::{Nanos, Said, Source, Unreadable};
use super::table::{COLUMNS, SERVER, no_server, row};

/// A table that is read row by row.
pub(super) struct Parquet {
    rows: RowIter<'static>,
    /// Nanoseconds a tick of its clock.
    tick: Nanos,
    number: u64,
    time: Field,
    size: Field,
    server: Field,
    query: Vec<u8>,
    key: Vec<u8>,
}

impl Parquet {
    /// Opens a file and checks its columns.
    pub(super) fn open(file: File) -> Result<Parquet, Unreadable> {
        let opened = guarded(|| Parquet::look_into(file)).unwrap_or_else(|panic| Err(of_footer(damaged(&panic))));
        opened.map_err(Unreadable::Form)
    }

    fn look_into(file: File) -> Result<Parquet, String> {
        let reader = SerializedFileReader::new(file).map_err(of_footer)?;
        let metadata = reader.metadata();
        let schema = metadata.file_metadata().schema();
        let column = |name: &str| {
            let found = schema.get_fields().iter().find(|field| field.name() == name).cloned();
            let found = found.ok_or_else(|| format!("no column `{name}`: use time, query, key and size"))?;
            let plain = found.is_primitive() && found.get_basic_info().repetition() != Repetition::REPEATED;
            plain.then_some(found).ok_or_else(|| format!("column `{name}` is nested: use one value per row"))
        };
        let mut columns = COLUMNS.map(column).into_iter().collect::<Result<Vec<_>, _>>()?;
        let tick = tick(&columns[0])?;
        compressed(metadata)?;
        if schema.get_fields().iter().any(|field| field.name() == SERVER) {
            columns.push(column(SERVER)?);
        }
        // A root's name is its writer's own.
        let wanted = Type::group_type_builder(schema.name()).with_fields(columns).build();
        let rows = wanted.and_then(|wanted| RowIter::from_file_into(Box::new(reader)).project(Some(wanted)));
        let rows = rows.map_err(of_footer)?;
        let (query, key) = (Vec::new(), Vec::new());
        let [time, size, server] = [Field::Null, Field::Null, Field::Null];
        Ok(Parquet { rows, tick, number: 0, time, size, server, query, key })
    }

    fn keep(&mut self, row: &Row) {
        for (name, field) in row.get_column_iter() {
            match name.as_str() {
                "time" => self.time = field.clone(),
                "query" => self.query = text(field),
                "key" => self.key = text(field),
                "size" => self.size = field.clone(),
                SERVER => self.server = field.clone(),
                _ => {}
            }
        }
    }
}

impl Source for Parquet {
    fn next(&mut self) -> Result<bool, Unreadable> {
        self.number += 1;
        let found = guarded(|| match self.rows.next().transpose() {
            Ok(found) => {
                found.iter().for_each(|row| self.keep(row));
                Ok(found.is_some())
            }
            Err(error) => Err(error.to_string()),
        });
        let bad = |what| Unreadable::Bad { place: "row", number: self.number, what };
        found.unwrap_or_else(|panic| Err(damaged(&panic))).map_err(bad)
    }

    fn said(&self) -> Result<Said<'_>, String> {
        let Parquet { time, size, server, query, key, .. } = self;
        let at = nanos(time, self.tick);
        let at = at.ok_or_else(|| format!("{} is not a time: use seconds", shown(time)))?;
        let bytes = whole(size).and_then(|bytes| u32::try_from(bytes).ok());
        let bytes = bytes.ok_or_else(|| format!("{} is not a size: use a whole number of bytes", shown(size)))?;
        let number = |said: &Field| whole(said).and_then(|number| u32::try_from(number).ok());
        let server = match server {
            Field::Null => None,
            said => Some(number(said).ok_or_else(|| no_server(&shown(said)))?),
        };
        row(at, query, key, Seen { size: Some(bytes), server })
    }

    fn place(&self) -> (&'static str, u64) {
        ("row", self.number)
    }
}

/// The place of an error in the file.
fn of_footer(what: impl Display) -> String {
    format!("footer: {what}")
}

/// The library's last error.
fn damaged(panic: &str) -> String {
    format!("the file is damaged: {panic}")
}

/// Whether this program can take the columns apart.
fn compressed(metadata: &ParquetMetaData) -> Result<(), String> {
    for column in metadata.row_groups().iter().flat_map(|group| group.columns()) {
        let path = column.column_path().parts();
        let foreign = matches!(column.compression(), Compression::BROTLI(_) | Compression::LZO);
        if foreign && COLUMNS.iter().chain([&SERVER]).any(|name| path == [*name]) {
            let codec = column.compression().to_string();
            let (name, codec) = (&path[0], codec.split('(').next().unwrap_or_default());
            return Err(format!("column `{name}` is compressed with {codec}: use Snappy, zstd, LZ4, gzip or none"));
        }
    }
    Ok(())
}

/// Nanoseconds per unit of the column's whole numbers; seconds for fractions.
fn tick(column: &Type) -> Result<Nanos, String> {
    let (info, kind) = (column.get_basic_info(), column.get_physical_type());
    let unit = match (info.logical_type_ref(), info.converted_type()) {
        (Some(LogicalType::Timestamp(stamp)), _) => Some(stamp.unit),
        (_, ConvertedType::TIMESTAMP_MILLIS) => Some(TimeUnit::MILLIS),
        (_, ConvertedType::TIMESTAMP_MICROS) => Some(TimeUnit::MICROS),
        _ => None,
    };
    Ok(match (kind, unit) {
        (Physical::INT64, Some(TimeUnit::NANOS)) => 1,
        (Physical::INT64, Some(TimeUnit::MICROS)) => 1_000,
        // The library's remainder of the old 96-bit format.
        (Physical::INT64, Some(TimeUnit::MILLIS)) | (Physical::INT96, None) => 1_000_000,
        (Physical::DOUBLE | Physical::FLOAT, None) | (Physical::INT64 | Physical::INT32, None) => 1_000_000_000,
        _ => return Err(format!("column `time` is {kind}: use seconds or timestamps")),
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

/// A value that should be a number. The library's own formatting of times panics for invalid days.
fn shown(field: &Field) -> String {
    match (whole(field), field) {
        (Some(number), _) => number.to_string(),
        (_, Field::Null) => "nothing".into(),
        (_, Field::Str(text)) => format!("`{text}`"),
        _ => format!("{field:?}"),
    }
}

fn whole(field: &Field) -> Option<i128> {
    Some(match *field {
        Field::Byte(number) => number.into(),
        Field::Short(number) => number.into(),
        Field::Int(number) => number.into(),
        Field::Long(number) | Field::TimestampMillis(number) | Field::TimestampMicros(number) => number.into(),
        Field::UByte(number) => number.into(),
        Field::UShort(number) => number.into(),
        Field::UInt(number) => number.into(),
        Field::ULong(number) => number.into(),
        _ => return None,
    })
}

fn nanos(time: &Field, tick: Nanos) -> Option<Nanos> {
    let seconds = match *time {
        Field::Double(seconds) => seconds,
        Field::Float(seconds) => seconds.into(),
        _ => return whole(time)?.checked_mul(tick.into())?.try_into().ok(),
    };
    let nanos = (seconds * 1e9).round();
    (0.0..u64::MAX as f64).contains(&nanos).then_some(nanos as Nanos)
}
