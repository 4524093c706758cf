//! Calls written as XML, read as a stream, with the arguments emitted as JSON.

mod arguments;
mod call;
mod token;
pub(super) mod tree;

pub(crate) use call::XmlCall;
