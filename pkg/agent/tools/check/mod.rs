//! The check of a tool's arguments.

mod argument_check;
#[cfg(feature = "schema")]
mod complaint;
mod fitted;
mod level;
mod raw_members;
#[cfg(not(feature = "schema"))]
mod schema_form;
#[cfg(feature = "schema")]
#[cfg(test)]
mod tests;
mod validate;
#[cfg(feature = "schema")]
mod whole;

pub use self::validate::validate;
pub(crate) use self::{argument_check::ArgumentCheck, fitted::fitted};
