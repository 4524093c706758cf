//! Calls written as Python: `[look(at="sea"), wait()]`, or one per line without the brackets.

mod brackets;
mod calls;
mod name;
mod number;
mod open_bracket;
mod quote;
mod string;
mod suspect;
#[cfg(test)]
mod tests;
mod values;
mod words;

pub(crate) use calls::PythonCalls;
pub(crate) use name::{looks_like_call_line, looks_like_calls};
