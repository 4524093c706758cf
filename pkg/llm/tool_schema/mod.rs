//! Adaptation of the schemas of tools to what a provider accepts.
//!
//! A server that rejects one keyword of one schema rejects the whole request. Each schema is therefore adapted
//! to what the provider accepts: it is sent unchanged or rewritten, or its tool is left out and reported by name.

mod draft;
mod enums;
mod fit;
mod merge;
mod references;
mod rules;
#[cfg(test)]
mod tests;
mod top;
mod unfit;
mod unite;
mod walk;

pub use fit::FittedSchema;
pub use rules::{References, SchemaNeed, ToolSchemaRules};
pub use unfit::UnfitSchema;
