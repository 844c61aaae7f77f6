//! Assignment of a value to a key, as written.

use crate::literal::Literal;
use crate::point::Written;
use crate::problem::Origin;

/// A key set to a value, and where.
#[derive(Clone, Debug)]
pub(crate) struct Assignment {
    pub section: String,
    pub key: String,
    pub value: Literal,
    pub origin: Origin,
}

impl Assignment {
    pub(crate) fn is(&self, section: &str, key: &str) -> bool {
        self.section == section && self.key == key
    }

    pub(crate) fn path(&self) -> String {
        format!("{}.{}", self.section, self.key)
    }

    /// The assignment of an axis's first value.
    pub(crate) fn first(axis: &Written) -> Option<Assignment> {
        let ((value, _), path) = (axis.values.first()?, axis.path());
        let (section, key) = path.split_once('.')?;
        Some(Assignment { section: section.into(), key: key.into(), value: value.clone(), origin: axis.origin.clone() })
    }
}
