//! Tools that are determined anew for each run.

use std::sync::Arc;

use futures_core::future::BoxFuture;

use crate::{notice::ToolSourceNotice, run::RunContext, tools::Tool};
use forgeline_types::AgentError;

/// A source that contributes tools to runs: those of a module, of a plugin, of the page that the input came from.
///
/// It is queried once when a run begins, and once more when a run is resumed. The sources of an agent are queried at the same time, and their tools follow
/// the agent's own, in the order of the sources. The same rules apply as for all tools: names are checked, callers need the permission, and calls are
/// approved. A run waits for at most [`source_timeout`](crate::config::AgentConfig::source_timeout).
///
/// # Examples
///
/// Functions are sources:
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
/// use forgeline::{
///     agent::{
///         Agent, RunInput,
///         run::RunContext,
///         tools::{Calculator, Tool},
///     },
///     testing::{ScriptedProvider, ScriptedTurn},
/// };
///
/// let hello = || ScriptedTurn::new().text("Hello.");
/// let provider = ScriptedProvider::new([hello(), hello()]);
/// let agent = Agent::builder(provider.clone())
///     .tool_source(|run: RunContext| async move {
///         let is_there = run.module() == Some("sums");
///         let tool = || Arc::new(Calculator) as Arc<dyn Tool>;
///         Ok(is_there.then(tool).into_iter().collect())
///     })
///     .build()?;
/// agent.run("Hi").await?;
/// agent.run(RunInput::from("Hi").module("sums")).await?;
/// let offered: Vec<_> = provider.requests().iter().map(|request| request.tools.len()).collect();
/// assert_eq!(offered, [0, 1]);
/// # Ok(())
/// # }
/// ```
pub trait ToolSource: Send + Sync {
    /// Returns the tools of a run, always in the same order.
    ///
    /// # Errors
    ///
    /// An error ends the run before the model is called.
    fn tools(&self, run: RunContext) -> BoxFuture<'static, Result<Vec<Arc<dyn Tool>>, AgentError>>;

    /// Returns `true` if a run continues without these tools when the source fails or takes too long, and without a single tool that cannot be registered.
    /// Default: `false`, the run ends.
    fn is_optional(&self) -> bool {
        false
    }

    /// Returns `true` while a person is asked for something that is needed to list the tools, such as a login. The run then waits longer, for at most six
    /// minutes in total. Default: `false`.
    fn is_asking(&self) -> bool {
        false
    }

    /// Returns what the run reports about the tools that were just listed, such as that some are gone: each is an event
    /// [`Notice::ToolSource`](crate::notice::Notice::ToolSource) at its beginning, at most 64. Not called if [`tools`](Self::tools) failed. Default: nothing.
    fn notices(&self) -> Vec<ToolSourceNotice> {
        Vec::new()
    }
}

impl<F, R> ToolSource for F
where
    F: Fn(RunContext) -> R + Send + Sync,
    R: Future<Output = Result<Vec<Arc<dyn Tool>>, AgentError>> + Send + 'static,
{
    fn tools(&self, run: RunContext) -> BoxFuture<'static, Result<Vec<Arc<dyn Tool>>, AgentError>> {
        Box::pin(self(run))
    }
}
