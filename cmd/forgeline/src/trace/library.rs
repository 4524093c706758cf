//! The words of the library about a run: its warnings and notes.

use std::fmt::{self, Write as _};

use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};

use super::{cut, queue::push};

/// Writes a line for each event; the spans are in the lines of the run already.
struct LibraryEvents;

pub(super) fn start() {
    // Another one can only be the same: nothing else sets it.
    drop(tracing::subscriber::set_global_default(LibraryEvents));
}

impl Subscriber for LibraryEvents {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // HTTP clients show headers.
        let is_own =
            metadata.target().split("::").next().is_some_and(|it| it.starts_with("forgeline"));
        is_own && metadata.is_event()
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = event.metadata().level().to_string().to_lowercase();
        event.record(&mut FieldWriter(&mut text));
        push(cut(1, &text));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Appends the fields of an event to a text.
struct FieldWriter<'a>(&'a mut String);

impl Visit for FieldWriter<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let written = match field.name() {
            "message" => write!(self.0, " {value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
        debug_assert!(written.is_ok(), "writing to a string does not fail");
    }
}
