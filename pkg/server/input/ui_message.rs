//! Messages of the clients of both chat protocols, and what their readers answer.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ui_files::FileFields, user_message::UserMessage};
use crate::Problem;
use forgeline_agent::approval::Decision;
use forgeline_types::{ClientFailure, ClientReturn, ClientToolRequest, Part, Text};

/// A message, with its text in its parts or its content.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UiMessage {
    id: Option<String>,
    role: Option<String>,
    #[serde(default)]
    parts: Vec<RequestPart>,
    content: Option<UiContent>,
    metadata: Option<AnswerMetadata>,
    /// The id of the call, for a result.
    tool_call_id: Option<UiCallId>,
    error: Option<String>,
    /// The calls of a message of the model.
    #[serde(rename = "toolCalls")]
    called: Option<Vec<CallReference>>,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
struct CallReference {
    id: UiCallId,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(untagged, expecting = "expected `content` to be a string, or an array of parts")]
enum UiContent {
    Text(String),
    Parts(Vec<RequestPart>),
}

#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct RequestPart {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    text: String,
    state: Option<String>,
    tool_call_id: Option<UiCallId>,
    approval: Option<ApprovalPart>,
    output: Option<Value>,
    error_text: Option<String>,
    #[serde(flatten)]
    file: FileFields,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
struct ApprovalPart {
    id: Text,
    approved: Option<bool>,
    #[serde(default)]
    reason: Option<String>,
}

/// The position at which an answer was paused.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct AnswerMetadata {
    run_id: Option<Text>,
    next: Option<u64>,
}

/// The id of a call, as encoders write it.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(transparent)]
pub(crate) struct UiCallId(Text);

impl UiCallId {
    /// Returns `true` if `id` is the call's id within its answer.
    pub(crate) fn ends(&self, id: &str) -> bool {
        self.0.strip_suffix(id).is_some_and(|place| place.ends_with('.'))
    }

    /// Returns the id as it was sent.
    pub(crate) fn sent(&self) -> &Text {
        &self.0
    }

    /// Returns the call with this id, if it is open.
    pub(crate) fn find<'c>(
        &self,
        open: &'c [(String, ClientToolRequest)],
    ) -> Option<&'c ClientToolRequest> {
        open.iter().find(|(key, _)| *key == *self.0).map(|(_, call)| call)
    }
}

/// The last message of a chat, with the decisions and results of its reader.
#[derive(Debug)]
pub(crate) struct AnsweredMessage {
    metadata: AnswerMetadata,
    parts: Vec<RequestPart>,
}

/// An answer of a reader: a decision, or a result.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ReaderAnswer {
    Decided { approval_id: Text, decision: Decision },
    Ran { tool_call_id: UiCallId, end: ClientReturn },
}

impl From<UiMessage> for AnsweredMessage {
    fn from(message: UiMessage) -> Self {
        Self { metadata: message.metadata.unwrap_or_default(), parts: message.parts }
    }
}

impl AnsweredMessage {
    pub(crate) fn run_id(&self) -> Option<&Text> {
        self.metadata.run_id.as_ref()
    }

    /// Returns the number of the event with which the message continues.
    pub(crate) fn next(&self) -> Option<u64> {
        self.metadata.next
    }

    pub(crate) fn answers(self) -> impl Iterator<Item = ReaderAnswer> {
        self.parts.into_iter().filter_map(RequestPart::answer)
    }
}

impl RequestPart {
    fn answer(self) -> Option<ReaderAnswer> {
        match (self.state.as_deref()?, self.approval, self.tool_call_id) {
            ("approval-responded", Some(ApprovalPart { id, approved, reason }), _) => {
                let decision = decided(approved?, reason);
                Some(ReaderAnswer::Decided { approval_id: id, decision })
            }
            ("output-available", _, Some(tool_call_id)) => {
                Some(ReaderAnswer::Ran { tool_call_id, end: returned(self.output?) })
            }
            ("output-error", _, Some(tool_call_id)) => {
                let message = self.error_text.unwrap_or_default();
                let end = ClientReturn::failed(ClientFailure::ToolThrew, message);
                Some(ReaderAnswer::Ran { tool_call_id, end })
            }
            _ => None,
        }
    }
}

/// Returns the decision of a person.
pub(crate) fn decided(approved: bool, reason: Option<String>) -> Decision {
    if approved { Decision::Grant } else { Decision::reject(reason.unwrap_or_default()) }
}

/// Returns a text as user input; `None` if it is empty.
pub(crate) fn text_parts(text: String) -> Result<Option<Vec<Part>>, Problem> {
    let is_empty = text.trim().is_empty();
    if is_empty { Ok(None) } else { UserMessage::Text(text).parts().map(Some) }
}

/// Returns the result of a call at the client.
fn returned(output: Value) -> ClientReturn {
    if let Value::String(text) = output { text.into() } else { output.to_string().into() }
}

impl UiMessage {
    /// Returns a message of the user.
    pub(crate) fn users(text: String) -> Self {
        Self::of("user", text, None)
    }

    /// Returns the result of a call.
    pub(crate) fn result(id: impl Into<Text>, content: String) -> Self {
        Self::of("tool", content, Some(UiCallId(id.into())))
    }

    fn of(role: &str, text: String, tool_call_id: Option<UiCallId>) -> Self {
        let (id, parts, metadata, error, called) = (None, Vec::new(), None, None, None);
        let (role, content) = (Some(role.to_owned()), Some(UiContent::Text(text)));
        Self { id, role, parts, content, metadata, tool_call_id, error, called }
    }

    /// Returns `true` for a message of this role.
    pub(crate) fn is_of(&self, role: &str) -> bool {
        self.role.as_deref() == Some(role)
    }

    /// Returns `true` for a message of the user, or one without a role.
    pub(crate) fn may_be_users(&self) -> bool {
        self.role.is_none() || self.is_users()
    }

    /// Returns `true` for a message of the user.
    pub(crate) fn is_users(&self) -> bool {
        self.is_of("user")
    }

    /// Returns `true` for a message of the model that contains answers of its reader.
    pub(crate) fn is_answered(&self) -> bool {
        let states = ["approval-responded", "output-available", "output-error"];
        let state =
            |part: &RequestPart| part.state.as_deref().is_some_and(|it| states.contains(&it));
        self.is_of("assistant") && self.parts.iter().any(state)
    }

    /// Returns the id, if it has one.
    pub(crate) fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Returns the text.
    pub(crate) fn text(&self) -> String {
        let parts = match &self.content {
            Some(UiContent::Text(text)) => return text.clone(),
            Some(UiContent::Parts(parts)) => parts,
            None => &self.parts,
        };
        parts.iter().filter(|part| part.kind == "text").map(|part| part.text.as_str()).collect()
    }

    /// Returns the content of a user message; `None` if it is empty.
    pub(crate) fn said(self) -> Result<Option<Vec<Part>>, Problem> {
        if self.role.as_ref().is_some_and(|role| role != "user") {
            return Ok(None);
        }
        let parts = match self.content {
            Some(UiContent::Text(text)) => return text_parts(text),
            Some(UiContent::Parts(parts)) => parts,
            None => self.parts,
        };
        let mut said: Vec<Part> = Vec::new();
        for RequestPart { kind, text, file, .. } in parts {
            if kind != "text" {
                said.extend(file.part(&kind).transpose()?);
            } else if let Some(Part::Text { text: before, .. }) = said.last_mut() {
                before.push_str(&text);
            } else {
                said.push(Part::text(text));
            }
        }
        let is_empty = |part: &Part| part.as_text().is_some_and(|text| text.trim().is_empty());
        if said.iter().all(is_empty) {
            return Ok(None);
        }
        UserMessage::Parts(said).parts().map(Some)
    }

    /// Returns the ids of the calls in the message.
    pub(crate) fn called(&self) -> impl Iterator<Item = &UiCallId> {
        self.called.iter().flatten().map(|called| &called.id)
    }

    /// Returns the id of the call whose result the message is.
    pub(crate) fn call_id(&self) -> Option<&UiCallId> {
        self.tool_call_id.as_ref().filter(|_| self.is_of("tool"))
    }

    /// Returns the result of a call at the client from a tool message.
    pub(crate) fn ran(self) -> Option<(UiCallId, ClientReturn)> {
        if !self.is_of("tool") {
            return None;
        }
        let end = match self.error {
            Some(message) => ClientReturn::failed(ClientFailure::ToolThrew, message),
            None => self.text().into(),
        };
        Some((self.tool_call_id?, end))
    }
}

/// The answer of an AG-UI client to an interrupt.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InterruptAnswer {
    pub(crate) interrupt_id: Text,
    pub(crate) status: InterruptStatus,
    pub(crate) payload: Option<Value>,
}

/// The way in which an interrupt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum InterruptStatus {
    Resolved,
    Cancelled,
}
