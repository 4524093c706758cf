//! The trait of tools.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use serde_json::Value;

use super::{ToolContext, ToolError, ToolOutput};
use crate::types::Json;

/// Something that the model can ask the agent to do.
///
/// The trait is object-safe, and its futures are `Send + 'static`, so a tool keeps its state behind
/// `Arc`s. Most tools are written as an async function, see [`tool_fn`](super::tool_fn).
///
/// # Cancel safety
///
/// When a run is cancelled, [`ToolContext::cancelled`] fires first; a future that has not ended a
/// grace period later is dropped. Work that blocks belongs into `tokio::task::spawn_blocking`.
///
/// # Examples
///
/// ```
/// use forgeline::{agent::tools::{Tool, ToolContext, ToolError, ToolOutput}, types::Json};
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
///     fn execute(
///         &self,
///         _context: ToolContext,
///         _arguments: Json,
///     ) -> futures_core::future::BoxFuture<'static, Result<ToolOutput, ToolError>> {
///         Box::pin(async { Ok(ToolOutput::from("1770000000")) })
///     }
/// }
/// ```
pub trait Tool: Send + Sync {
    /// The name that the model calls: letters, digits, `_` and `-`, in parts joined by dots, such
    /// as `files.read`.
    fn name(&self) -> &str;

    /// What it does and when to use it, for the model.
    fn description(&self) -> &str;

    /// JSON schema of the arguments, an object. Asked once, when the tool is registered; arguments
    /// are checked against it before the tool runs.
    fn schema(&self) -> Value;

    /// Whether a successful call ends the run. Default: no.
    fn is_loop_breaking(&self) -> bool {
        false
    }

    /// Whether no other call of the same response may run beside it. Default: no.
    fn runs_alone(&self) -> bool {
        false
    }

    /// Does it.
    ///
    /// # Errors
    ///
    /// What the model should be told instead of a result. A panic is caught and told as well.
    fn execute(
        &self,
        context: ToolContext,
        arguments: Json,
    ) -> BoxFuture<'static, Result<ToolOutput, ToolError>>;
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

    fn execute(
        &self,
        context: ToolContext,
        arguments: Json,
    ) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        (**self).execute(context, arguments)
    }
}
