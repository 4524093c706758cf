//! The records of a journal.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    agent::{
        digest::digest,
        state::{RunState, StepInput, Time},
    },
    llm::ToolSpec,
    types::{Message, Text},
};

/// The version of the form of records, and of what a state makes of its inputs.
pub(crate) const VERSION: u32 = 4;

/// One thing that a journal keeps. What is written borrows, what is read owns.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Record<S = Box<RunState>, I = StepInput, M = Vec<Arc<Message>>> {
    /// A run begins.
    Began { version: u32, tools: Vec<ToolMark>, state: S },
    /// The run has taken an input, by which these messages were added, behind this number of events.
    Took { at: Time, input: I, messages: M, events: u64, done: bool },
    /// The conversation was cleared.
    Cleared,
    /// A run, and those behind it, were taken out of the conversation.
    Rewound { run: Text },
}

/// A tool, as far as a run depends on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ToolMark {
    pub(crate) name: Text,
    digest: Text,
}

impl ToolMark {
    pub(crate) fn new(spec: &ToolSpec, facts: &str) -> Self {
        let parameters = spec.parameters.to_string();
        let digest = digest(parameters.as_bytes().iter().chain(facts.as_bytes()));
        Self { name: spec.name.clone(), digest: format!("{digest:016x}").into() }
    }
}

/// Returns what of two lists of tools differs first; `None` when they are equal.
pub(super) fn difference(written: &[ToolMark], own: &[ToolMark]) -> Option<String> {
    let by_name =
        |tools: &[ToolMark], name: &Text| tools.iter().find(|tool| tool.name == *name).cloned();
    for tool in written {
        match by_name(own, &tool.name) {
            None => return Some(format!("`{}` is missing", tool.name)),
            Some(other) if other != *tool => return Some(format!("`{}` has changed", tool.name)),
            Some(_) => {}
        }
    }
    let added = own.iter().find(|tool| by_name(written, &tool.name).is_none());
    added.map(|tool| format!("`{}` was added", tool.name))
}
