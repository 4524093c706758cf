//! The check of a tool's arguments.

mod argument_check;
#[cfg(feature = "schema")]
mod complaint;
#[cfg(feature = "schema")]
#[cfg(test)]
mod tests;
mod validate;
#[cfg(feature = "schema")]
mod whole;

pub(crate) use self::argument_check::ArgumentCheck;
pub use self::validate::validate;
