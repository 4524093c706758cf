//! The filter of a list of audit rows, and its pages.

use super::row::AuditRow;
use crate::StoreError;
use forgeline_types::{Text, setters};

/// The filter and position of a list of audit rows.
///
/// # Examples
///
/// ```
/// use forgeline::store::AuditQuery;
///
/// let query = AuditQuery::new("team-a", 50).kind("approval.granted").since_ms(1_000);
/// assert_eq!((query.most, query.since_ms), (50, Some(1_000)));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuditQuery {
    /// The scope.
    pub scope: Text,
    /// The type to list, if only one.
    pub kind: Option<Text>,
    /// The source to list, if only one.
    pub source: Option<Text>,
    /// The actor to list, if only one.
    pub actor: Option<Text>,
    /// The time of the first events, in milliseconds since the Unix epoch.
    pub since_ms: Option<u64>,
    /// The time before which the last events were, in milliseconds since the Unix epoch.
    pub until_ms: Option<u64>,
    /// The [`next`](AuditPage::next) of the previous page.
    pub after: Option<Text>,
    /// The maximum number of rows of the page.
    pub most: usize,
}

impl AuditQuery {
    /// Returns a query for the first page of a scope.
    #[must_use]
    pub fn new(scope: impl Into<Text>, most: usize) -> Self {
        Self {
            scope: scope.into(),
            kind: None,
            source: None,
            actor: None,
            since_ms: None,
            until_ms: None,
            after: None,
            most,
        }
    }

    setters! {
        AuditQuery:
        kind(some into Text),
        source(some into Text),
        actor(some into Text),
        since_ms(some u64),
        until_ms(some u64),
        after(some into Text),
    }

    /// Returns `true` for a row that the filter lets through, wherever the page begins.
    pub(crate) fn takes(&self, row: &AuditRow) -> bool {
        let is = |wanted: &Option<Text>, text: &Text| wanted.as_ref().is_none_or(|it| it == text);
        let event = &row.event;
        is(&self.kind, &event.kind)
            && is(&self.source, &event.source)
            && is(&self.actor, &event.actor)
            && self.since_ms.is_none_or(|since| event.at_ms >= since)
            && self.until_ms.is_none_or(|until| event.at_ms < until)
    }
}

/// A page of a list of audit rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuditPage {
    /// The rows, newest first by the time of their events; of the same time, those that were stored last.
    pub rows: Vec<AuditRow>,
    /// The position where the list continues; `None` at its end.
    pub next: Option<Text>,
}

impl AuditPage {
    /// Returns a page.
    #[must_use]
    pub fn new(rows: Vec<AuditRow>, next: Option<Text>) -> Self {
        Self { rows, next }
    }

    /// Returns the page of at most `most` rows, of one more if the list continues.
    pub(crate) fn of(mut rows: Vec<AuditRow>, most: usize) -> Self {
        let is_more = rows.len() > most;
        rows.truncate(most);
        let next = rows.last().filter(|_| is_more).map(|last| AuditCursor::of(last).write());
        Self { rows, next }
    }
}

/// A position in a list of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct AuditCursor {
    pub(crate) at_ms: u64,
    pub(crate) seq: u64,
}

impl AuditCursor {
    pub(crate) fn of(row: &AuditRow) -> Self {
        Self { at_ms: row.event.at_ms, seq: row.seq }
    }

    pub(crate) fn read(cursor: Option<&Text>) -> Result<Option<Self>, StoreError> {
        let Some(given) = cursor else { return Ok(None) };
        let parsed = given
            .split_once('.')
            .and_then(|(at, seq)| Some(Self { at_ms: at.parse().ok()?, seq: seq.parse().ok()? }));
        parsed.map(Some).ok_or_else(|| StoreError::bad_cursor(given.clone()))
    }

    fn write(self) -> Text {
        format!("{}.{}", self.at_ms, self.seq).into()
    }
}
