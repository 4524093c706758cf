//! The settings of the search for tools.

use serde::{Deserialize, Serialize};

use forgeline_types::{Text, setters};

/// The settings of the search for tools, which replaces the descriptions of all tools in each request.
///
/// Once the descriptions exceed [`share`](Self::share), a model gets only the tools that end a run, those named in
/// [`always`](Self::always), and `tool_search`, with which it finds the others by their words. The model can call the tools that it has
/// found from the next turn on, also in later runs of the conversation. Tools that a caller may not use are not found.
///
/// # Examples
///
/// ```
/// use forgeline::{
///     agent::{Agent, search::ToolSearch, tools::Calculator},
///     llm::demo::DemoProvider,
/// };
///
/// let search = ToolSearch::default().share(10).most(3).always(["calculator"]);
/// let agent = Agent::builder(DemoProvider::new())
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
    /// Maximum share of the model's context window that the descriptions of all tools may take, in
    /// percent, as estimated by [`TokenEstimator`](forgeline_llm::TokenEstimator); beyond it the model
    /// searches. Default: 5. With 0 it always searches, with `u32::MAX` never.
    pub share: u32,
    /// Context window of a model that the [catalog](forgeline_llm::ModelCard) does not know, in tokens. A lower
    /// [`max_context_tokens`](crate::config::AgentConfig::max_context_tokens) takes precedence. Default: 128,000; at least 1.
    pub window: u64,
    /// Maximum number of tools that one search finds. Default: 5; at least 1.
    pub most: usize,
    /// The way in which the model calls the tools that it has found. Default: [`FoundTools::Called`].
    pub found: FoundTools,
    /// The names of tools to offer from the start. Default: none.
    pub always: Vec<Text>,
}

/// The way in which a model calls the tools that it has found, with native calls.
///
/// The setting has no effect where the provider describes tools at the point where they were found
/// ([`ModelInfo::deferred_tools`](forgeline_types::ModelInfo::deferred_tools)), or with calls in text:
/// no byte of what was sent before changes, and found tools are called like all others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FoundTools {
    /// The result of the search describes the tools, and the model calls them through the tool `call_found_tool`, which
    /// is offered from the start: the list of tools does not change, so a server's prompt cache remains valid. Events,
    /// permissions, approvals and results are those of the tool that is called.
    #[default]
    Called,
    /// The next request lists the found tools after the other tools, and they are called like those: a server that constrains answers to
    /// the schemas of tools does so for them too. A server that puts tools before the prompt reads the whole prompt anew after a search.
    Offered,
}

impl Default for ToolSearch {
    fn default() -> Self {
        Self {
            share: 5,
            window: 128_000,
            most: 5,
            found: FoundTools::default(),
            always: Vec::new(),
        }
    }
}

impl ToolSearch {
    setters! {
        ToolSearch:
        share(u32),
        window(u64),
        most(usize),
        found(FoundTools),
    }

    /// Adds to [`always`](Self::always).
    #[must_use]
    pub fn always<N: Into<Text>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.always.extend(names.into_iter().map(Into::into));
        self
    }

    /// Returns `true` when `tokens` exceed the share of this context window.
    pub(crate) fn is_over(&self, tokens: u64, window: u64) -> bool {
        u128::from(tokens) * 100 > u128::from(window) * u128::from(self.share)
    }
}
