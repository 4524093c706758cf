//! Facts about tools, on which it depends who runs and approves their calls.

use futures_core::future::BoxFuture;
use serde::{Deserialize, Serialize};

use super::ToolError;
use crate::types::Preview;

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
    /// Calls read, and change nothing.
    Reads,
    /// Calls change what can be changed back.
    #[default]
    Writes,
    /// Calls change what cannot be changed back: they overwrite or remove, send messages, run commands.
    Irreversible,
}

/// The place at which a tool's calls run.
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
    /// Calls are sent to the client, which gives their results; see [`ClientTool`](super::ClientTool).
    Client,
}

/// The making of a preview; `None` where the arguments say all.
pub type PreviewFuture = BoxFuture<'static, Result<Option<Preview>, ToolError>>;
