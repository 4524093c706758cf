//! Answers bound to a JSON schema.

mod rules;
mod walk;

#[cfg(feature = "runtime")]
mod answer;
#[cfg(feature = "runtime")]
mod ask;
#[cfg(feature = "runtime")]
mod schema;
#[cfg(feature = "runtime")]
mod stream;
#[cfg(all(test, feature = "runtime"))]
mod tests;

pub use rules::SchemaRules;
#[cfg(feature = "runtime")]
pub(crate) use schema::schema_of;
#[cfg(feature = "runtime")]
pub use {
    answer::Structured,
    ask::StructuredExt,
    schema::{AnswerSchema, StructuredMethod},
    stream::StructuredStream,
};
