//! Calls written as Python: `[look(at="sea"), wait()]`, or one on a line without the brackets.

mod arguments;
mod calls;
mod number;
mod special;
mod stack;
mod start;
#[cfg(test)]
mod tests;
mod text;
mod value;

pub(crate) use calls::PythonCalls;
pub(crate) use start::looks_like_calls;
