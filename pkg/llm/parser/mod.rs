//! Reasoning and tool calls out of text, wherever the chunks are cut.
//!
//! One scanner finds the markers for both parsers; what a dialect's markers and payloads are is
//! described in data. The parsers are plain `&mut self` structs that give slices of their input.

mod bare;
mod blanks;
mod builder;
mod byteset;
mod compiled;
mod content;
mod description;
mod dialect;
mod families;
mod find;
mod held;
mod json;
mod literal;
mod marker;
mod models;
mod named;
mod names;
mod own;
mod params;
mod payload;
mod python;
mod reader;
#[cfg(test)]
mod readings;
mod region;
mod repairs;
mod scan;
mod schema;
mod suspect;
mod syntax;
mod thinking;
mod token;
mod toolcall;
mod xml;

pub(crate) use blanks::LeadingBlanks;
pub use builder::{
    CallForm, DialectError, PayloadGrammar, Section, ThinkingDialectBuilder, ToolDialectBuilder,
    Wrapper,
};
pub use content::{CallEnd, ParsedContent};
pub use dialect::{ThinkingDialect, ToolDialect};
pub(crate) use families::ResultForm;
pub use json::JsonTracker;
pub use models::Dialect;
pub(crate) use models::locate;
pub use names::UnknownDialect;
pub use params::Tags;
pub use repairs::RepairSet;
pub use thinking::{ThinkingParser, ThinkingPiece};
pub use token::TokenKind;
pub use toolcall::{DEFAULT_MAX_CALL_BYTES, ToolCallParser};
