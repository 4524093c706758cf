//! Properties of tools that determine who runs and approves their calls.

use futures_core::future::BoxFuture;
use serde::{Deserialize, Serialize};

use super::error::ToolError;
use forgeline_types::Preview;

/// The effects of a tool's calls.
///
/// # Examples
///
/// ```
/// use forgeline::agent::tools::{Calculator, Tool as _, ToolEffects};
///
/// assert_eq!(Calculator.effects(), ToolEffects::Reads);
/// assert!(ToolEffects::Writes < ToolEffects::Irreversible);
/// ```
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolEffects {
    /// Calls only read.
    Reads,
    /// Calls make reversible changes.
    #[default]
    Writes,
    /// Calls make irreversible changes: they overwrite or remove, send messages, or run commands.
    Irreversible,
}

/// The place where a tool's calls run.
///
/// # Examples
///
/// ```
/// use forgeline::agent::tools::{Calculator, Tool as _, ToolPlace};
///
/// assert_eq!(Calculator.place(), ToolPlace::Here);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolPlace {
    /// Calls run in this process.
    #[default]
    Here,
    /// Calls are sent to the client, which returns their results; see [`ClientTool`](crate::tools::ClientTool).
    Client,
}

/// The future of a preview; `None` if the arguments say everything.
pub type PreviewFuture = BoxFuture<'static, Result<Option<Preview>, ToolError>>;
