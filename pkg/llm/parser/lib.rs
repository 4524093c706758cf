//! Extraction of reasoning and tool calls from text, however it is split into chunks.
//!
//! One scanner finds the markers for both parsers; the markers and payloads of each dialect
//! are described as data. The parsers are plain `&mut self` structs that emit slices of their input.

mod ahead;
mod builder;
mod bytes;
mod call;
mod compiled;
mod content;
mod dialects;
mod evidence;
mod families;
mod grammar;
mod marker;
mod models;
mod own;
mod response;
mod scan;
mod thinking;
mod toolcall;

pub use crate::content::parsed::{ParseOutcome, ParsedContent, ResponsePiece};
pub use crate::content::token::TokenKind;
pub use crate::dialects::dialect::{ThinkingDialect, ToolDialect};
pub use crate::dialects::names::UnknownDialect;
#[doc(hidden)]
pub use crate::evidence::CallEvidence;
pub use builder::{
    CallForm, DialectError, PayloadGrammar, Section, ThinkingDialectBuilder, ToolDialectBuilder,
    Wrapper,
};
pub use grammar::{Tags, ToolSchemas};
pub use models::Dialect;
pub use response::ResponseParser;
pub use thinking::{ThinkingParser, ThinkingPiece};
pub use toolcall::{DEFAULT_MAX_CALL_BYTES, ToolCallParser};

pub use forgeline_json::RepairSet;

/// Items for the crates above, and not for programs: they may change in any version.
#[doc(hidden)]
pub mod private {
    pub use crate::{
        bytes::whitespace::LeadingWhitespace, dialects::marker_escaper::MarkerEscaper,
        families::ResultForm, models::locate,
    };
}
