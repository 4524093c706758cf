//! Dialects as the parsers use them.

pub(crate) mod bare_call;
pub(crate) mod shared_stop_bytes;
pub(crate) mod thinking;
pub(crate) mod tools;
