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
    /// The way in which the model calls what it has found. Default: [`FoundTools::Called`].
    pub found: FoundTools,
    /// The names of tools that are offered from the start. Default: none.
    pub always: Vec<Text>,
}

/// The way in which a model calls the tools that it has found, with native calls.
///
/// Where the provider describes tools at the place where they were found
/// ([`ModelInfo::deferred_tools`](crate::types::ModelInfo::deferred_tools)), and with calls in text, there is nothing to
/// choose: no byte changes of what was sent before, and found tools are called as all others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FoundTools {
    /// The result of the search describes them, and the model calls them through the tool `call_found_tool`, which is there
    /// from the start: the list of tools stays as it is, so what a server has cached of the prompt holds. Events,
    /// permissions, approvals and results are those of the tool that is called.
    #[default]
    Called,
    /// The next request has them behind its other tools, and they are called as those are: a server that holds answers to the
    /// schemas of tools holds theirs too. One that puts tools before the prompt reads all of it anew after a search.
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

    /// Returns `true` when this many tokens are too many for a model with this window.
    pub(super) fn is_over(&self, tokens: u64, window: u64) -> bool {
        u128::from(tokens) * 100 > u128::from(window) * u128::from(self.share)
    }
}
