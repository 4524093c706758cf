//! Look-ups in the setup of an agent.

use super::verdict::{Gate, Grant};
use crate::types::{Text, ToolCall};

/// The setup of an agent as a run sees it: each answer depends on the arguments alone.
pub(crate) trait Rules {
    /// Returns the facts about the tool that a name means.
    fn tool(&self, name: &str) -> Option<ToolFacts<'_>>;

    /// Checks the arguments of a call against the schema of its tool.
    ///
    /// # Errors
    ///
    /// The problem, for the model.
    fn check(&self, call: &ToolCall) -> Result<(), String>;

    /// Returns what makes two calls of the tool the same, if it says so; else all arguments do.
    fn identity(&self, call: &ToolCall) -> Option<String>;

    /// Returns what may happen to a call, whose checks are passed, where a person has allowed these.
    fn gate(&self, call: &ToolCall, grants: &[Grant]) -> Gate;

    /// Returns `true` when a call is asked about wherever text from outside is in the conversation.
    fn asks_after_outside_text(&self, call: &ToolCall) -> bool;

    /// Returns what "always" means for a call of its tool; `None` for all its calls.
    fn grant_pattern(&self, call: &ToolCall) -> Option<String>;

    /// Returns the feedback for a call of a tool that does not exist, in a run that may not use these.
    fn unknown_tool(&self, name: &str, withheld: &[Text]) -> String;

    /// Returns `true` when the agent has a tool that is not among these.
    fn has_tools(&self, withheld: &[Text]) -> bool;
}

/// The facts about a tool on which its calls depend.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing in common")]
pub(crate) struct ToolFacts<'a> {
    /// The name, as it was registered.
    pub(crate) name: &'a Text,
    /// The module that the tool belongs to.
    pub(crate) module: Option<&'a str>,
    pub(crate) order: Order,
    /// `true` when a call that was interrupted may run again.
    pub(crate) is_idempotent: bool,
    /// `true` when the same call may be made again and again.
    pub(crate) may_repeat: bool,
    /// `true` when calls run at the client.
    pub(crate) is_at_client: bool,
}

/// The order of a call among the calls of its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Runs beside others.
    Free,
    /// Runs beside no other.
    Alone,
    /// Runs beside no other, and is the last when it succeeds.
    Last,
}
