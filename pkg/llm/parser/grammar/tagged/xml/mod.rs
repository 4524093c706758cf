//! Calls written as XML, read as a stream, with the arguments emitted as JSON.

mod arguments;
mod call;
pub(super) mod entity;
mod token;
pub(super) mod tree;

pub(crate) use call::XmlCall;
