//! Checks of what follows a marker, which answer yes, no, or need more.

pub(crate) mod found;
pub(crate) mod name_check;
pub(crate) mod payload_front;
pub(crate) mod shape;
