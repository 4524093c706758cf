//! The records of a journal.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    state::{RunState, StepInput, UnixMillis},
    support::digest,
};
use forgeline_llm::ToolSpec;
use forgeline_types::{Message, Text};

/// The version of the record format, and of the way in which a state processes its inputs.
pub(crate) const VERSION: u32 = 4;

/// A record of a journal. Records to write borrow their data, records that were read own it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Record<S = Box<RunState>, I = StepInput, M = Vec<Arc<Message>>> {
    /// A run starts.
    Began { version: u32, tools: Vec<ToolMark>, state: S },
    /// The run has accepted an input, which added these messages; `events` is the number of events emitted before.
    Took { at: UnixMillis, input: I, messages: M, events: u64, done: bool },
    /// The conversation was cleared.
    Cleared,
    /// A run, and those after it, were removed from the conversation.
    Rewound { run: Text },
}

/// The properties of a tool that a run depends on.
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

/// Returns the first difference between two lists of tools; `None` when they are equal.
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
