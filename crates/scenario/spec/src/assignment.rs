//! Assignment of a value to a key, as written.

use crate::former;
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
    /// Warning about a former name.
    pub former: Option<String>,
}

impl Assignment {
    /// Of a key and value as written, which may have former names.
    pub(crate) fn new(section: &str, written: &str, value: Literal, origin: Origin) -> Assignment {
        let former = former::warning(section, written, &value);
        let key = former::key(section, written);
        let value = former::value(section, key, value);
        Assignment { section: section.into(), key: key.into(), value, origin, former }
    }

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
        let former = axis.former.clone();
        Some(Assignment { former, ..Assignment::new(section, key, value.clone(), axis.origin.clone()) })
    }
}
