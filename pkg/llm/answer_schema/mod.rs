//! The schema of an answer, and the features of JSON Schema that each provider enforces.

mod rules;
#[cfg(feature = "runtime")]
mod schema;
mod walk;

pub use rules::SchemaRules;
#[cfg(feature = "runtime")]
pub use schema::{AnswerSchema, StructuredMethod, schema_of};
