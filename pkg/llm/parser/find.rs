//! Searches of short slices.

pub(super) use crate::json::{equal, find_first};
