//! Descriptions of dialects as plain data, and the checks before they are used.

mod check;
mod error;
mod payload;
mod thinking;
mod tools;

pub use error::DialectError;
pub use payload::PayloadGrammar;
pub use thinking::{Section, ThinkingDialectBuilder};
pub(crate) use tools::Holds;
pub use tools::{CallForm, ToolDialectBuilder, Wrapper};
