//! Lookups in the setup of an agent.

use crate::{
    approval::{CallGate, SessionGrant},
    run::OutsideSources,
};
use forgeline_types::{Json, Text, ToolCall};
use serde_json::Value;

/// The setup of an agent as a run sees it: each answer depends only on the arguments.
pub(crate) trait RunRules {
    /// Returns the facts about the tool with this name.
    fn tool(&self, name: &str) -> Option<ToolFacts<'_>>;

    /// Returns the arguments of a call as the schema of its tool asks for them, if they are others and nothing is lost.
    fn fitted(&self, call: &ToolCall) -> Option<Json>;

    /// Checks `arguments`, those of the call, against the schema of its tool.
    ///
    /// # Errors
    ///
    /// Returns the problem, worded for the model.
    fn check(&self, call: &ToolCall, arguments: &Value) -> Result<(), String>;

    /// Returns the identity that equal calls of the tool share, if the tool defines one; otherwise all arguments count.
    fn identity(&self, call: &ToolCall) -> Option<String>;

    /// Returns the gate for a call whose checks have passed, given what a person has allowed in `grants`.
    fn gate(&self, call: &ToolCall, grants: &[SessionGrant]) -> CallGate;

    /// Returns `true` when a call needs approval in spite of earlier permissions, because the conversation contains text from outside.
    fn asks_after_outside_text(&self, call: &ToolCall, outside: &OutsideSources) -> bool;

    /// Returns the pattern that "always" allows for a call of its tool; `None` allows all calls of the tool.
    fn grant_pattern(&self, call: &ToolCall) -> Option<String>;

    /// Returns the feedback for a call of an unknown tool, in a run that may not use the tools in `withheld`.
    fn unknown_tool(&self, name: &str, withheld: &[Text]) -> String;

    /// Returns `true` when the agent has a tool that is not in `withheld`.
    fn has_tools(&self, withheld: &[Text]) -> bool;
}

/// The properties of a tool on which its calls depend.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub(crate) struct ToolFacts<'a> {
    /// The name as registered.
    pub(crate) name: &'a Text,
    /// The module that the tool belongs to.
    pub(crate) module: Option<&'a str>,
    pub(crate) order: CallOrder,
    /// `true` when an interrupted call may run again.
    pub(crate) is_idempotent: bool,
    /// `true` when the same call may be repeated.
    pub(crate) may_repeat: bool,
    /// `true` when calls run at the client.
    pub(crate) is_at_client: bool,
}

/// The order of a call among the calls of its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallOrder {
    /// Runs in parallel with others.
    Free,
    /// Runs alone.
    Alone,
    /// Runs alone, and is the last call if it succeeds.
    Last,
}
