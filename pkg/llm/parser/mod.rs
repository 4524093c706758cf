//! Reasoning and tool calls out of text, wherever the chunks are cut.

mod dialect;

pub use dialect::{ThinkingDialect, ToolDialect};
