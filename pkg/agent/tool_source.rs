//! Tools that are found anew for each run.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use serde_json::Value;

use super::{RunContext, tools::Tool};
use crate::types::AgentError;

/// Contributes tools to runs: those of a module, of a plugin, of the page from which the input came.
///
/// It is asked once when a run begins, and once more when one is resumed; the sources of an agent are asked at the
/// same time, and what they contribute stands behind the agent's own tools, in the order of the sources. The rules
/// are those for all tools: names are checked, callers need the permission, calls are approved. A run waits for
/// at most [`source_timeout`](super::AgentConfig::source_timeout).
///
/// # Examples
///
/// A function is a source:
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
/// use forgeline::{
///     agent::{DefaultAgent, RunContext, RunInput, tools::{Calculator, Tool}},
///     testing::{ScriptedProvider, ScriptedTurn},
/// };
///
/// let hello = || ScriptedTurn::new().text("Hello.");
/// let provider = ScriptedProvider::new([hello(), hello()]);
/// let agent = DefaultAgent::builder(provider.clone())
///     .tool_source(|run: RunContext| async move {
///         let is_there = run.module() == Some("sums");
///         let tool = || Arc::new(Calculator) as Arc<dyn Tool>;
///         Ok(is_there.then(tool).into_iter().collect())
///     })
///     .build()?;
/// agent.fork().run("Hi").await?;
/// agent.fork().run(RunInput::from("Hi").module("sums")).await?;
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
    /// An error ends the run before the model is asked.
    fn tools(&self, run: RunContext) -> BoxFuture<'static, Result<Vec<Arc<dyn Tool>>, AgentError>>;

    /// Returns `true` when a run goes on without these tools if the source fails or takes too long, and without one of them if
    /// that one cannot be registered. Default: `false`, the run ends.
    fn is_optional(&self) -> bool {
        false
    }

    /// Returns `true` while a person is asked for something without which the tools cannot be listed, such as a login. The
    /// run waits on then, for at most six minutes in all. Default: `false`.
    fn is_asking(&self) -> bool {
        false
    }

    /// Returns what the run should say of the tools that were just listed, such as that some are gone: each is the data of
    /// a custom event [`TOOL_SOURCE`](super::TOOL_SOURCE) at its beginning, at most 64. It is not asked where
    /// [`tools`](Self::tools) failed. Default: nothing.
    fn notices(&self) -> Vec<Value> {
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
