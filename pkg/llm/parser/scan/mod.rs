//! The search for the next marker in text.

pub(crate) mod code_spans;
pub(crate) mod marker_prefixes;
pub(crate) mod search;
pub(crate) mod stop_bytes;
