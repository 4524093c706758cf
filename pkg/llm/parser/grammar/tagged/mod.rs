//! Calls written as named parameters in tags: `<function=f><parameter=k>v</parameter></function>`
//! and its many relatives. There is one reader; the tags of each dialect are data.

mod arguments;
mod call;
mod elements;
mod inner_call;
mod misfit;
mod next_call;
mod piece;
mod read_part;
mod reading;
mod scalar;
mod suspect_tag;
mod tag;
mod tag_match;
mod tags;
#[cfg(test)]
mod tests;
mod transitions;
mod want;
mod watch;
mod wrapped;
mod xml;

pub(crate) use call::ParamsCall;
pub(crate) use elements::{ELEMENT_MARK, ElementsCall};
pub(crate) use tag::end_of_tag;
pub use tags::Tags;
pub(crate) use xml::XmlCall;
