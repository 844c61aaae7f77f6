//! Tables as Parquet.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use super::{Column, Table, Values};

impl Table {
    /// Writes the table as Parquet, in one row group.
    pub(crate) fn write_parquet(&self, path: &Path) -> io::Result<()> {
        self.write_parquet_to(File::create(path)?).map_err(io::Error::other)
    }

    fn write_parquet_to(&self, file: File) -> Result<(), ParquetError> {
        let fields = self.columns.iter().map(|c| c.parquet_type().map(Arc::new)).collect::<Result<_, _>>()?;
        let schema = Type::group_type_builder(self.name).with_fields(fields).build()?;
        let by = concat!("fanin ", env!("CARGO_PKG_VERSION"));
        let properties = WriterProperties::builder().set_created_by(by.into()).build();
        let mut writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))?;
        let mut group = writer.next_row_group()?;
        for column in &self.columns {
            let Some(mut out) = group.next_column()? else { break };
            column.values.write(out.untyped())?;
            out.close()?;
        }
        group.close()?;
        writer.close().map(drop)
    }
}

impl Column {
    fn parquet_type(&self) -> Result<Type, ParquetError> {
        let (physical, logical, repetition) = match &self.values {
            Values::Whole(_) => (Physical::INT64, Some(LogicalType::integer(64, false)), Repetition::OPTIONAL),
            Values::Real(_) => (Physical::DOUBLE, None, Repetition::OPTIONAL),
            Values::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String), Repetition::REQUIRED),
        };
        Type::primitive_type_builder(&self.name, physical)
            .with_logical_type(logical)
            .with_repetition(repetition)
            .build()
    }
}

impl Values {
    fn write(&self, out: &mut ColumnWriter<'_>) -> Result<(), ParquetError> {
        let written = match (self, out) {
            (Values::Whole(values), ColumnWriter::Int64ColumnWriter(out)) => {
                // Parquet stores unsigned numbers in the bits of signed ones.
                let present: Vec<i64> = values.iter().flatten().map(|v| v.cast_signed()).collect();
                out.write_batch(&present, Some(&levels(values)), None)
            }
            (Values::Real(values), ColumnWriter::DoubleColumnWriter(out)) => {
                let present: Vec<f64> = values.iter().flatten().copied().collect();
                out.write_batch(&present, Some(&levels(values)), None)
            }
            (Values::Text(values), ColumnWriter::ByteArrayColumnWriter(out)) => {
                let texts: Vec<ByteArray> = values.iter().map(|v| v.as_str().into()).collect();
                out.write_batch(&texts, None, None)
            }
            _ => unreachable!("the writer's type is the column's"),
        };
        written.map(drop)
    }
}

/// Definition levels: 1 where a value is present.
fn levels<T>(values: &[Option<T>]) -> Vec<i16> {
    values.iter().map(|v| i16::from(v.is_some())).collect()
}
