//! Calls whose arguments are elements, with a marker in front of every tag.

mod call;
#[cfg(test)]
mod tests;

pub(crate) use call::ElementsCall;
