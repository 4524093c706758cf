//! The trait of tools.

use std::{sync::Arc, time::Duration};

use futures_core::future::BoxFuture;
use serde_json::Value;

use super::{
    context::ToolContext,
    error::ToolError,
    facts::{PreviewFuture, ToolEffects, ToolPlace},
    output::ToolOutput,
};
use crate::run::Surface;
use forgeline_types::{Json, TextOrigin};

/// The future of a call.
pub type ToolFuture = BoxFuture<'static, Result<ToolOutput, ToolError>>;

/// An action that the model can ask the agent to perform.
///
/// The trait is object-safe, and its futures are `Send + 'static`, so a tool keeps its state behind
/// `Arc`s. Most tools are written as an async function, see [`tool_fn`](crate::tools::tool_fn).
///
/// # Cancel safety
///
/// When a run is cancelled, [`ToolContext::cancelled`] fires first; a future that has not ended after a grace period is dropped. Run blocking work in
/// `tokio::task::spawn_blocking`.
///
/// # Examples
///
/// ```
/// use forgeline::{agent::tools::{Tool, ToolContext, ToolFuture, ToolOutput}, types::Json};
/// use serde_json::{Value, json};
///
/// struct Now;
///
/// impl Tool for Now {
///     fn name(&self) -> &str {
///         "clock.now"
///     }
///
///     fn description(&self) -> &str {
///         "Tells the seconds since the Unix epoch."
///     }
///
///     fn schema(&self) -> Value {
///         json!({ "type": "object", "properties": {} })
///     }
///
///     fn execute(&self, _context: ToolContext, _arguments: Json) -> ToolFuture {
///         Box::pin(async { Ok(ToolOutput::from("1770000000")) })
///     }
/// }
///
/// assert!(!Now.is_loop_breaking());
/// ```
pub trait Tool: Send + Sync {
    /// Returns the name that the model calls: letters, digits, `_` and `-`, in parts joined by dots, such
    /// as `files.read`.
    fn name(&self) -> &str;

    /// Returns a description for the model: what the tool does, and when to use it.
    fn description(&self) -> &str;

    /// Returns the JSON schema of the arguments, an object. Called once, when the tool is registered; arguments are checked against it before the tool
    /// runs.
    fn schema(&self) -> Value;

    /// Returns `true` if a successful call ends the run. Default: `false`.
    fn is_loop_breaking(&self) -> bool {
        false
    }

    /// Returns `true` if no other call of the same response may run at the same time. Default: `false`.
    fn runs_alone(&self) -> bool {
        false
    }

    /// Returns `true` if a call that runs again with the same [key](ToolContext::idempotency_key) has no further effect. A
    /// [resumed](crate::Conversation::resume) run repeats only such calls if they were interrupted. Default: `false`.
    fn is_idempotent(&self) -> bool {
        false
    }

    /// Returns `true` if a model may reasonably repeat the same call, for example to poll the progress of a job. The [loop
    /// guard](crate::config::AgentConfig::loop_guard) does not count such calls; each waits before it runs, at first for a second, and twice as long, up to
    /// half a minute, each time that the result was the same. Default: `false`.
    fn may_repeat(&self) -> bool {
        false
    }

    /// Returns what makes two calls equal for the loop guard; `None` if all arguments do. A tool whose calls contain a number or a reason for a person
    /// leaves that out. Default: `None`.
    fn identity(&self, _arguments: &Json) -> Option<String> {
        None
    }

    /// Returns the place where calls run. For a tool at the client, [`execute`](Self::execute) is not called. Default: [`ToolPlace::Here`].
    fn place(&self) -> ToolPlace {
        ToolPlace::Here
    }

    /// Returns the module of the application that the tool belongs to. Default: `None`.
    fn module(&self) -> Option<&str> {
        None
    }

    /// Returns the name of the permission that a caller needs to use the tool; see [`Permissions`](crate::access::Permissions). Default: `None`, the tool
    /// is for all callers.
    fn permission(&self) -> Option<&str> {
        None
    }

    /// Returns the only surface on which the tool is offered. Default: `None`, all surfaces; for a tool at the client, [`Surface::FullPage`].
    fn surface(&self) -> Option<Surface> {
        match self.place() {
            ToolPlace::Here => None,
            ToolPlace::Client => Some(Surface::FullPage),
        }
    }

    /// Returns the effects of calls, by which [`ApprovalPolicy`](crate::approval::ApprovalPolicy) decides whether to ask a person. Default:
    /// [`ToolEffects::Writes`].
    fn effects(&self) -> ToolEffects {
        ToolEffects::Writes
    }

    /// Returns the origin of the text of results and failures; a [`ToolOutput`] may set another. After text from [outside](TextOrigin::Outside),
    /// irreversible calls require approval again, see [`OutsideText`](crate::approval::OutsideText). Default: [`TextOrigin::Own`].
    fn origin(&self) -> TextOrigin {
        TextOrigin::Own
    }

    /// Returns the name of the only source of results from [outside](TextOrigin::Outside), such as `mcp.notes` for a server. What a person allowed for
    /// the tool then also holds after its results, as long as no other text from outside is in the conversation. Default: `None`, results may come from
    /// anyone.
    fn outside_source(&self) -> Option<&str> {
        None
    }

    /// Returns the maximum duration of a call; `None` for [`AgentConfig::tool_timeout`](crate::config::AgentConfig::tool_timeout). Zero is refused when the
    /// tool is registered. Default: `None`.
    fn timeout(&self) -> Option<Duration> {
        None
    }

    /// Returns the maximum length of the result of a call, in characters; `None` for
    /// [`AgentConfig::max_result_chars`](crate::config::AgentConfig::max_result_chars), `usize::MAX` for no limit. A longer result is replaced by a note,
    /// never cut off. 0 is refused when the tool is registered. Default: `None`.
    fn max_result_chars(&self) -> Option<usize> {
        None
    }

    /// Returns what a person sees before the call is approved, besides its arguments: a diff, a command. Must not change anything. Default: `None`.
    ///
    /// # Errors
    ///
    /// Returns an error if the effects of the call cannot be determined; the call is then not run.
    fn preview(&self, _context: ToolContext, _arguments: Json) -> PreviewFuture {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Returns what a person who answers "always" allows, such as the name of a command; calls with the same value do not require approval again. Default:
    /// `None`, all calls of the tool.
    fn grant_pattern(&self, _arguments: &Json) -> Option<String> {
        None
    }

    /// Runs the tool.
    ///
    /// # Errors
    ///
    /// Returns the text that the model reads instead of a result. A panic is caught and reported as well.
    fn execute(&self, context: ToolContext, arguments: Json) -> ToolFuture;
}

impl<T: Tool + ?Sized> Tool for Arc<T> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn description(&self) -> &str {
        (**self).description()
    }

    fn schema(&self) -> Value {
        (**self).schema()
    }

    fn is_loop_breaking(&self) -> bool {
        (**self).is_loop_breaking()
    }

    fn runs_alone(&self) -> bool {
        (**self).runs_alone()
    }

    fn is_idempotent(&self) -> bool {
        (**self).is_idempotent()
    }

    fn may_repeat(&self) -> bool {
        (**self).may_repeat()
    }

    fn identity(&self, arguments: &Json) -> Option<String> {
        (**self).identity(arguments)
    }

    fn place(&self) -> ToolPlace {
        (**self).place()
    }

    fn module(&self) -> Option<&str> {
        (**self).module()
    }

    fn permission(&self) -> Option<&str> {
        (**self).permission()
    }

    fn surface(&self) -> Option<Surface> {
        (**self).surface()
    }

    fn effects(&self) -> ToolEffects {
        (**self).effects()
    }

    fn origin(&self) -> TextOrigin {
        (**self).origin()
    }

    fn outside_source(&self) -> Option<&str> {
        (**self).outside_source()
    }

    fn timeout(&self) -> Option<Duration> {
        (**self).timeout()
    }

    fn max_result_chars(&self) -> Option<usize> {
        (**self).max_result_chars()
    }

    fn preview(&self, context: ToolContext, arguments: Json) -> PreviewFuture {
        (**self).preview(context, arguments)
    }

    fn grant_pattern(&self, arguments: &Json) -> Option<String> {
        (**self).grant_pattern(arguments)
    }

    fn execute(&self, context: ToolContext, arguments: Json) -> ToolFuture {
        (**self).execute(context, arguments)
    }
}
