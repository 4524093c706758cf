//! Calls whose values are literals of Python or of call syntax.

mod python;
mod syntax;

pub(crate) use python::{PythonCalls, looks_like_call_line, looks_like_calls};
pub(crate) use syntax::SyntaxCall;
