//! The grammars of calls: each reads the text between the markers of a call and emits the name, and
//! the arguments as strict JSON.

mod arguments;
pub(crate) mod entity;
mod json;
mod line_end;
mod literal;
mod open_string;
mod read_mode;
mod reader;
mod schema;
mod skip;
mod tagged;
#[cfg(test)]
mod tests;
mod tool_name;

pub(super) use crate::grammar::json::{header::HeaderCall, header_style::HeaderStyle};
pub(super) use json::{JsonCall, JsonShape};
pub(super) use literal::{PythonCalls, SyntaxCall, looks_like_call_line, looks_like_calls};
pub(super) use open_string::OpenString;
pub(super) use read_mode::ReadMode;
pub(super) use reader::{
    MarkerGuard, PayloadFault, PayloadOut, PayloadReader, PayloadSink, PlainText, ValueTag,
};
pub(super) use reader::{NO_TOOL_NAME, is_blank, is_free_of, is_name};
pub use schema::ToolSchemas;
pub(super) use schema::{KnownTools, ValueSchema};
pub use tagged::Tags;
pub(super) use tagged::{ELEMENT_MARK, ElementsCall, ParamsCall, XmlCall, end_of_tag};
