//! The result of a health check, and the models that a server lists.

use std::time::Duration;

use forgeline_types::{Text, setters};

/// The result of a successful health check: the server is reachable and accepts the key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Health {
    /// The time until the complete response had arrived.
    pub latency: Duration,
    /// `true` if the server showed that it accepts the key: it is the vendor's own, received a key and
    /// listed its models. Other servers may list their models without a valid key.
    pub key_checked: bool,
    /// `true` if the server lists the configured model; `None` if it has no list, or no model is
    /// configured.
    pub model_listed: Option<bool>,
}

/// A model listed by a server.
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
    /// The maximum number of tokens of prompt and answer together, if the server reports it.
    pub context_tokens: Option<u64>,
    /// The maximum number of tokens of one answer, if the server reports it.
    pub max_output_tokens: Option<u64>,
}

impl ListedModel {
    /// Creates the entry of a model about which only the id is known.
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
