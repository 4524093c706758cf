//! Answers bound to a JSON schema.

mod answer;
mod answer_json;
mod ask;
mod stream;
#[cfg(test)]
mod tests;

pub use answer::Structured;
pub use answer_json::AnswerJson;
pub use ask::{StructuredExt, ask_again};
pub use stream::StructuredStream;
