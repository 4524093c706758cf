//! The frames of the stream of everything that a caller may see.

use bytes::Bytes;
use serde::Serialize;

use super::scope_cursor::ScopeCursor;
use crate::frames::with_id;
use forgeline_store::Notification;

/// Returns the frame of an event.
pub(crate) fn event_frame(place: &ScopeCursor, kind: &str, data: &[u8]) -> Bytes {
    with_id(place, kind, data)
}

/// Returns the frame of a notification.
pub(crate) fn note(place: &ScopeCursor, note: &Notification) -> Bytes {
    event_frame(
        place,
        "notification",
        &serde_json::to_vec(&NotificationEvent::new(note)).unwrap_or_default(),
    )
}

/// Returns the frame that reports a part that is no longer kept.
pub(crate) fn gap(place: &ScopeCursor, gap: &GapEvent<'_>) -> Bytes {
    event_frame(place, "gap", &serde_json::to_vec(gap).unwrap_or_default())
}

/// A part of the stream that is no longer kept.
#[derive(Debug, Serialize)]
pub(crate) struct GapEvent<'g> {
    #[serde(rename = "type")]
    event: &'static str,
    /// `runs`, `notifications`, or the events of one `run`.
    of: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_id: Option<&'g str>,
}

impl<'g> GapEvent<'g> {
    pub(crate) fn runs(count: u64) -> Self {
        Self { event: "gap", of: "runs", count: Some(count), run_id: None }
    }

    pub(crate) fn notifications(count: u64) -> Self {
        Self { event: "gap", of: "notifications", count: Some(count), run_id: None }
    }

    pub(crate) fn of_run(id: &'g str) -> Self {
        Self { event: "gap", of: "run", count: None, run_id: Some(id) }
    }
}

/// A notification as readers see it.
#[derive(Serialize)]
struct NotificationEvent<'n> {
    #[serde(rename = "type")]
    event: &'static str,
    id: &'n str,
    kind: &'n str,
    data: serde_json::Value,
    at_ms: u64,
}

impl<'n> NotificationEvent<'n> {
    fn new(note: &'n Notification) -> Self {
        let data = serde_json::from_str(&note.data).unwrap_or_default();
        Self { event: "notification", id: &note.id, kind: &note.kind, data, at_ms: note.at_ms }
    }
}
