//! The events of runs as response bodies, for any number of readers.

pub(super) mod body;
pub(super) mod scope_events;
pub(super) mod scope_frames;
pub(super) mod scope_place;
pub(super) mod sharing;
pub(super) mod streamed;
pub(super) mod until_wait;
