//! Dialects of your own: markers and a grammar, checked before they are used.

mod check;
mod error;
mod grammar;
#[cfg(test)]
mod tests;
mod thinking;
mod tools;

pub use error::DialectError;
pub use grammar::PayloadGrammar;
pub use thinking::ThinkingDialectBuilder;
pub use tools::ToolDialectBuilder;
