//! Positions in lists.

use super::StoreError;
use forgeline_types::Text;

/// A position in a list that is sorted by time, then by name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cursor {
    pub(super) at_ms: u64,
    pub(super) name: Text,
}

impl Cursor {
    pub(super) fn read(cursor: Option<&Text>) -> Result<Option<Self>, StoreError> {
        let Some(given) = cursor else { return Ok(None) };
        let parts = given.split_once('.');
        let parsed = parts
            .and_then(|(at, name)| at.parse().ok().map(|at_ms| Self { at_ms, name: name.into() }));
        parsed.map(Some).ok_or_else(|| StoreError::BadCursor { cursor: given.clone() })
    }

    pub(super) fn write(&self) -> Text {
        format!("{}.{}", self.at_ms, self.name).into()
    }
}
