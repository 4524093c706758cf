//! JSON values that grow while their text arrives.

mod answer;
mod calls;
mod error;
mod escape;
mod grow;
mod number;
mod serialize;
#[cfg(test)]
mod tests;
mod tree;
mod typed;
mod value;

pub use answer::PartialAnswer;
pub use calls::{PartialCall, PartialCalls};
pub use error::PartialJsonError;
pub use grow::{DEFAULT_MAX_JSON_BYTES, PartialJson};
pub use value::PartialValue;
