//! Calls written as XML: read as a stream, arguments passed on as JSON.

mod arguments;
mod call;
mod elements;
mod entity;
mod token;
mod tree;

pub(super) use call::{XmlCall, is_plain};
pub(super) use elements::{ElementsCall, is_plain_element};
