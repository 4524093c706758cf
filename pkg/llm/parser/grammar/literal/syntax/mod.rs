//! Calls in call syntax: `call:NAME{key:value,…}`, as Gemma 4 and its relatives write them.

mod call;
mod head;
mod place;
#[cfg(test)]
mod tests;
mod values;

pub(crate) use call::SyntaxCall;
