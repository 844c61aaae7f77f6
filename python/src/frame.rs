//! Tables as Arrow streams, readable by every data frame library: the library's own columns, in one batch.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, Float64Array, RecordBatch, RecordBatchIterator, StringArray, UInt64Array};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use fanin::Values;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// A table with Arrow's PyCapsule interface.
#[pyclass(frozen, module = "fanin._fanin")]
pub struct Table {
    name: &'static str,
    batch: RecordBatch,
}

impl Table {
    /// Take over a library table's columns; `says` is its metadata.
    pub fn of(table: fanin::Table, says: &[(String, String)]) -> PyResult<Table> {
        let (mut fields, mut arrays) = (Vec::new(), Vec::new());
        for column in table.columns {
            let (kind, nullable, array): (_, _, ArrayRef) = match column.values {
                Values::Whole(values) => (DataType::UInt64, true, Arc::new(UInt64Array::from(values))),
                Values::Real(values) => (DataType::Float64, true, Arc::new(Float64Array::from(values))),
                Values::Text(values) => (DataType::Utf8, false, Arc::new(StringArray::from(values))),
            };
            fields.push(Field::new(column.name, kind, nullable));
            arrays.push(array);
        }
        let schema = Schema::new(fields).with_metadata(says.iter().cloned().collect::<BTreeMap<_, _>>());
        let batch = RecordBatch::try_new(Arc::new(schema), arrays).map_err(|why| broken(&why))?;
        Ok(Table { name: table.name, batch })
    }
}

fn broken(why: &ArrowError) -> PyErr {
    PyRuntimeError::new_err(why.to_string())
}

#[pymethods]
impl Table {
    /// Its name.
    #[getter]
    fn name(&self) -> &'static str {
        self.name
    }

    /// The names of its columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Its metadata.
    #[getter]
    fn metadata(&self) -> Vec<(String, String)> {
        let schema = self.batch.schema();
        let mut says: Vec<(String, String)> = schema.metadata().iter().map(|(k, v)| (k.clone(), v.clone())).collect();
        says.sort();
        says
    }

    /// Size of its columns in bytes.
    #[getter]
    fn nbytes(&self) -> usize {
        self.batch.get_array_memory_size()
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// The Arrow PyCapsule interface.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface allows consumers to cast by themselves.
        drop(requested_schema);
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}
