//! Schemas of tools in the form that a provider takes.
//!
//! A server that refuses one keyword of one schema refuses the whole request. So each schema is brought
//! into what the provider takes: it goes unchanged, is rewritten, or its tool is set aside by name.

mod draft;
mod enums;
mod fit;
mod merge;
mod references;
mod rules;
#[cfg(test)]
mod tests;
#[cfg(feature = "http")]
mod tools;
mod top;
mod unfit;
mod unite;
mod walk;

pub use fit::FittedSchema;
pub use rules::{References, SchemaNeed, ToolSchemaRules};
#[cfg(feature = "http")]
pub(super) use tools::{FittedLists, FittedTools};
pub use unfit::UnfitSchema;
