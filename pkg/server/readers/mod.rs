//! The events of runs as response bodies, for any number of readers.

pub(super) mod body;
pub(super) mod context;
pub(super) mod frame_body;
mod note_turns;
pub(super) mod run_lookup;
pub(super) mod scope_cursor;
pub(super) mod scope_events;
pub(super) mod scope_frames;
pub(super) mod shared_reader;
pub(super) mod until_wait;
