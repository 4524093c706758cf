//! JSON values that can be read while their text arrives.

mod deserialize;
mod error;
mod partial_json;
mod serialize;
#[cfg(test)]
mod tests;
mod tree;
mod value;

pub use deserialize::deserialize_spelled;
pub use error::PartialJsonError;
pub use partial_json::{DEFAULT_MAX_JSON_BYTES, PartialJson};
pub use value::PartialValue;
