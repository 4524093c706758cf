//! Dialects as the parsers use them.

pub(crate) mod bare_call;
pub(crate) mod stops_of_both;
pub(crate) mod thinking;
pub(crate) mod tools;
