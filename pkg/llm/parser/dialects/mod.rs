//! The dialects, by name.

pub(crate) mod dialect;
pub(crate) mod marker_escaper;
pub(crate) mod names;
