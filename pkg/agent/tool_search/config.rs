//! The settings of the search for tools.

use serde::{Deserialize, Serialize};

use crate::types::{Text, setters};

/// The settings of the search for tools, which takes the place of descriptions of all in each request.
///
/// Beyond [`share`](Self::share) a model gets the tools that end a run, those that are named by
/// [`always`](Self::always), and `tool_search`, with which it finds the others by their words. What it has found it can
/// call from the next turn on, also in later runs of the conversation. Tools that a caller may not use are not found.
///
/// # Examples
///
/// ```
/// use forgeline::{
///     agent::{DefaultAgent, ToolSearch, tools::Calculator},
///     llm::demo::DemoProvider,
/// };
///
/// let search = ToolSearch::default().share(10).most(3).always(["calculator"]);
/// let agent = DefaultAgent::builder(DemoProvider::new())
///     .tool(Calculator)
///     .tool_search(search)
///     .build()?;
/// assert_eq!(agent.config().tool_search.most, 3);
/// # Ok::<(), forgeline::agent::BuildError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ToolSearch {
    /// Largest part of the model's window that the descriptions of all tools may take, in percent, by the estimate of
    /// [`TokenEstimator`](crate::llm::TokenEstimator); beyond it the model searches. Default: 5. With 0 it always
    /// does, with `u32::MAX` never.
    pub share: u32,
    /// Window of a model that the [catalog](crate::llm::ModelCard) does not know, in tokens. Where
    /// [`max_context_tokens`](crate::agent::AgentConfig::max_context_tokens) is less, that counts. Default: 128,000; at least 1.
    pub window: u64,
    /// Most tools that one search finds. Default: 5; at least 1.
    pub most: usize,
    /// The names of tools that are offered from the start. Default: none.
    pub always: Vec<Text>,
}

impl Default for ToolSearch {
    fn default() -> Self {
        Self { share: 5, window: 128_000, most: 5, always: Vec::new() }
    }
}

impl ToolSearch {
    setters! {
        ToolSearch:
        share(u32),
        window(u64),
        most(usize),
    }

    /// Adds to [`always`](Self::always).
    #[must_use]
    pub fn always<N: Into<Text>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.always.extend(names.into_iter().map(Into::into));
        self
    }

    /// Returns `true` when this many tokens are too many for a model with this window.
    pub(super) fn is_over(&self, tokens: u64, window: u64) -> bool {
        u128::from(tokens) * 100 > u128::from(window) * u128::from(self.share)
    }
}
