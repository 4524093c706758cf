//! Extraction of reasoning and tool calls from text, however it is split into chunks.
//!
//! One scanner finds the markers for both parsers; the markers and payloads of each dialect
//! are described as data. The parsers are plain `&mut self` structs that emit slices of their input.

mod bare_call;
mod builder;
mod byteset;
mod call;
mod code_spans;
mod compiled;
mod compiled_thinking;
mod content;
mod description;
mod dialect;
#[cfg(test)]
mod dice;
mod echo;
mod families;
mod followed_code;
mod found;
mod front_sieve;
mod fronts;
mod function_tag;
mod grammar;
mod inline_buf;
mod lead;
mod marker;
mod mentions;
mod models;
mod names;
#[cfg(feature = "runtime")]
mod neutral;
mod offered;
mod own;
mod payload_front;
mod response;
mod role;
mod scan;
mod shape;
mod stops;
mod stops_of_both;
mod strays;
mod thinking;
mod token;
mod toolcall;
mod unmarked;
mod whitespace;

pub use builder::{
    CallForm, DialectError, PayloadGrammar, Section, ThinkingDialectBuilder, ToolDialectBuilder,
    Wrapper,
};
pub use content::{CallEnd, ParsedContent, ResponsePiece};
pub use dialect::{ThinkingDialect, ToolDialect};
#[cfg(feature = "runtime")]
pub(crate) use families::ResultForm;
pub use grammar::Tags;
pub use models::Dialect;
pub(crate) use models::locate;
pub use names::UnknownDialect;
#[cfg(feature = "runtime")]
pub(crate) use neutral::Neutral;
pub use response::ResponseParser;
pub use thinking::{ThinkingParser, ThinkingPiece};
pub use token::TokenKind;
pub use toolcall::{DEFAULT_MAX_CALL_BYTES, ToolCallParser};
pub(crate) use whitespace::LeadingWhitespace;

pub use crate::json::RepairSet;
