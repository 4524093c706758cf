//! Descriptions of dialects as plain data, and the checks before they are used.

mod check;
pub(crate) mod description;
mod error;
mod payload;
pub(crate) mod role;
pub(crate) mod special_tokens;
mod thinking;
mod tools;

pub use error::DialectError;
pub use payload::PayloadGrammar;
pub use thinking::{Section, ThinkingDialectBuilder};
pub(crate) use tools::WrapperContent;
pub use tools::{CallForm, ToolDialectBuilder, Wrapper};
