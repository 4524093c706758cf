//! Calls whose arguments are elements, with a marker before every tag.

mod call;
#[cfg(test)]
mod tests;

pub(crate) use call::{ElementsCall, MARK as ELEMENT_MARK};
