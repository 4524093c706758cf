//! The result of a health check, and the models that a server lists.

use std::time::Duration;

use crate::types::{Text, setters};

/// The result of a health check that passed: the server is reachable and accepts the key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Health {
    /// The time until the answer had arrived.
    pub latency: Duration,
    /// `true` if the server showed that it accepts the key: it is the vendor's own, received a key and
    /// listed its models. Other servers may list them to anybody.
    pub key_checked: bool,
    /// `true` if the server lists the configured model; `None` when it has no list, or no model is
    /// configured.
    pub model_listed: Option<bool>,
}

/// A model in the list of a server.
///
/// # Examples
///
/// ```
/// use forgeline::llm::ListedModel;
///
/// let model = ListedModel::new("qwen3-4b").context_tokens(32_768);
/// assert_eq!((model.context_tokens, model.max_output_tokens), (Some(32_768), None));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListedModel {
    /// The id, as requests name it.
    pub id: Text,
    /// Tokens that prompt and answer may have together, where the server says it.
    pub context_tokens: Option<u64>,
    /// Tokens that one answer may have, where the server says it.
    pub max_output_tokens: Option<u64>,
}

impl ListedModel {
    /// Creates the entry of a model of which no more is said.
    #[must_use]
    pub fn new(id: impl Into<Text>) -> Self {
        Self { id: id.into(), context_tokens: None, max_output_tokens: None }
    }

    setters! {
        ListedModel:
        context_tokens(some u64),
        max_output_tokens(some u64),
    }
}
