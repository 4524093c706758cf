//! Calls written as named parameters in tags: `<function=f><parameter=k>v</parameter></function>`
//! and its many relatives. One reader; what the tags of a dialect are is data.

mod arguments;
mod call;
mod literal;
mod marks;
mod steps;
mod tag;
mod tags;
#[cfg(test)]
mod tests;

pub(super) use arguments::{Arguments, Want};
pub(super) use call::ParamsCall;
pub(super) use tag::Attributes;
pub use tags::Tags;
