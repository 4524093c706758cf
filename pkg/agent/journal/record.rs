//! The records of a journal.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::value::RawValue;

use super::answer_link::AnswerLink;
use crate::{
    state::{RunState, StepInput, UnixMillis},
    support::digest,
};
use forgeline_llm::ToolSpec;
use forgeline_types::{Message, Text};

/// The version of the record format, and of the way in which a state processes its inputs.
pub(crate) const VERSION: u32 = 7;

/// The oldest version that is read: its records contain their messages, and its answers repeat theirs. Up to version 5 a last answer without text was
/// kept in other words; up to version 6 a call that was denied could be asked about again at once.
pub(super) const OLDEST_VERSION: u32 = 4;

/// A record of a journal. Records to write borrow their data, records that were read own it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Record<S = Box<RunState>, I = StepInput> {
    /// A run starts.
    Began { version: u32, tools: Vec<ToolMark>, state: S },
    /// The run has accepted an input, which added these messages; `events` is the number of events emitted before.
    Took {
        at: UnixMillis,
        input: I,
        /// The parts of an answer that `input` leaves out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<AnswerLink>,
        messages: MessageList,
        events: u64,
        done: bool,
    },
    /// These messages, which no run added, were put at the end of the conversation.
    Given { messages: MessageList },
    /// The conversation was cleared.
    Cleared,
    /// A run, and those after it, were removed from the conversation.
    Rewound { run: Text },
}

/// The messages of a record: the number of those written beside it, or, as of format 4, the messages.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum MessageList {
    Beside(usize),
    Here(Vec<Arc<Message>>),
}

impl<'de> Deserialize<'de> for MessageList {
    /// Reads the source of the list: an enum without tags would lose the spelling of its numbers.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let source = Box::<RawValue>::deserialize(deserializer)?;
        if let Ok(count) = serde_json::from_str(source.get()) {
            return Ok(Self::Beside(count));
        }
        serde_json::from_str(source.get()).map(Self::Here).map_err(D::Error::custom)
    }
}

impl MessageList {
    /// Returns the messages, given those beside the record; `None` if these are others than were written.
    pub(super) fn with(self, beside: Vec<Arc<Message>>) -> Option<Vec<Arc<Message>>> {
        match self {
            Self::Beside(count) => (beside.len() == count).then_some(beside),
            Self::Here(messages) => beside.is_empty().then_some(messages),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A message with a call, as a model spells its numbers.
    const MESSAGE: &str = r#"{"role":"assistant","parts":[{"type":"tool_call","index":0,"id":"c","name":"f","server_name":null,"arguments_raw":"","arguments":{"n":1.50,"m":123456789012345678901234567890},"outcome":"complete","reason":null,"offset":null,"repairs":[]}]}"#;

    #[test]
    fn messages_in_records_keep_the_spelling_of_numbers() {
        let list: MessageList = serde_json::from_str(&format!("[{MESSAGE}]")).unwrap();
        assert_eq!(serde_json::to_string(&list).unwrap(), format!("[{MESSAGE}]"));
        let link = format!(r#"{{"message":{MESSAGE},"has_text":true}}"#);
        let read: AnswerLink = serde_json::from_str(&link).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), link);
        let took = format!(
            r#"{{"took":{{"at":1,"input":"resumed","answer":{link},"messages":[{MESSAGE}],"events":0,"done":false}}}}"#
        );
        let read: Record = serde_json::from_str(&took).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), took);
    }
}
