//! Reasoning and tool calls out of text, wherever the chunks are cut.
//!
//! One scanner finds the markers for both parsers; what a dialect's markers and payloads are is
//! described in data. The parsers are plain `&mut self` structs that give slices of their input.

mod blanks;
mod content;
mod dialect;
mod find;
mod held;
mod json;
mod literal;
mod marker;
mod models;
mod payload;
mod reader;
mod region;
mod repairs;
mod scan;
mod suspect;
mod thinking;
mod toolcall;
mod xml;

pub(crate) use blanks::LeadingBlanks;
pub use content::{CallEnd, ParsedContent};
pub use dialect::{ThinkingDialect, ToolDialect};
pub use json::JsonTracker;
pub use models::Dialect;
pub use repairs::RepairSet;
pub use thinking::{ThinkingParser, ThinkingPiece};
pub use toolcall::{DEFAULT_MAX_CALL_BYTES, ToolCallParser};
