//! The set of repairs of one call.

pub use crate::json::RepairSet;
