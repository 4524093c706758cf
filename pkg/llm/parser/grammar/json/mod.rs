//! Calls written as JSON, and JSON values inside other grammars.

mod call;
mod current_call;
mod find_end;
pub(crate) mod header;
pub(crate) mod header_style;
mod members;
mod role;
mod unnamed;
mod value;

pub(crate) use call::{JsonCall, guard_of};
pub(crate) use role::JsonShape;
pub(crate) use value::{JsonValue, take_token};
