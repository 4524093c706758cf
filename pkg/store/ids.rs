//! Unguessable ids, and the current time.

use std::{
    collections::hash_map::RandomState,
    hash::BuildHasher as _,
    time::{SystemTime, UNIX_EPOCH},
};

use forgeline_types::Text;

/// Returns an id of 128 random bits after a prefix.
pub fn new_id(prefix: &str) -> Text {
    let mut id = Text::from(prefix);
    for _ in 0..2 {
        // The keys are random for each instance.
        id.push_str(&format!("{:016x}", RandomState::new().hash_one(0)));
    }
    id
}

/// Returns the milliseconds since the Unix epoch; 0 if the clock is before it.
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
