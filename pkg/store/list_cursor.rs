//! Positions in lists.

use super::{ConversationRecord, StoreError, StoredRun};
use forgeline_types::Text;

/// A position in a list that is sorted by time, then by name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ListCursor {
    pub(super) at_ms: u64,
    pub(super) name: Text,
}

impl ListCursor {
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

    /// Returns the position of a run in a list.
    pub(super) fn of_run(run: &StoredRun) -> Self {
        Self { at_ms: run.begun_ms, name: run.key.name.clone() }
    }

    /// Returns the position of a conversation in a list.
    pub(super) fn of_conversation(head: &ConversationRecord) -> Self {
        Self { at_ms: head.updated_ms, name: head.key.id.clone() }
    }
}

/// Returns the first items of a list, and the position where the list continues.
pub(super) fn page<T>(
    mut items: Vec<T>,
    most: usize,
    place: impl Fn(&T) -> ListCursor,
) -> (Vec<T>, Option<Text>) {
    let is_more = items.len() > most;
    items.truncate(most);
    let next = items.last().filter(|_| is_more).map(|last| place(last).write());
    (items, next)
}
