//! Requests of the clients of both chat protocols.

use serde::Deserialize;
use serde_json::Value;

use super::{ui_files::FileFields, user_message::UserMessage};
use crate::{
    Problem, conversations::regenerate::RegenerateRequest, http::ids::digest_text,
    readers::until_wait::ReadingQuery,
};
use forgeline_agent::{RunInput, approval::Decision};
use forgeline_types::{
    ClientFailure, ClientReturn, ClientToolRequest, Message, MessageRole, Part, Text,
};

/// Maximum number of messages of a client with which a conversation begins.
const MAX_HISTORY: usize = 200;

/// Maximum size of their texts, in bytes.
const MAX_HISTORY_BYTES: usize = 256 << 10;

/// A request of `useChat`; unknown members are ignored.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ChatRequest {
    id: Option<Text>,
    #[serde(rename = "chatId")]
    conversation: Option<Text>,
    message: Option<ChatMessage>,
    #[serde(default)]
    messages: Vec<UiMessage>,
    project_id: Option<Value>,
    current_path: Option<Value>,
    trigger: Option<String>,
    message_id: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected `message` to be a string, or a message")]
enum ChatMessage {
    Text(String),
    Message(Box<UiMessage>),
}

/// A message, with its text in its parts or its content.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UiMessage {
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

#[derive(Debug, Deserialize)]
struct CallReference {
    id: UiCallId,
}

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected `content` to be a string, or an array of parts")]
enum UiContent {
    Text(String),
    Parts(Vec<RequestPart>),
}

#[derive(Debug, Deserialize)]
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

#[derive(Debug, Deserialize)]
struct ApprovalPart {
    id: Text,
    approved: Option<bool>,
    #[serde(default)]
    reason: Option<String>,
}

/// The position at which an answer was paused.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AnswerMetadata {
    run_id: Option<Text>,
    next: Option<u64>,
}

/// The id of a call, as encoders write it.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(super) struct UiCallId(Text);

impl UiCallId {
    /// Returns `true` if `id` is the call's id within its answer.
    pub(super) fn ends(&self, id: &str) -> bool {
        self.0.strip_suffix(id).is_some_and(|place| place.ends_with('.'))
    }

    /// Returns the id as it was sent.
    pub(super) fn sent(&self) -> &Text {
        &self.0
    }

    /// Returns the call with this id, if it is open.
    pub(super) fn find<'c>(
        &self,
        open: &'c [(String, ClientToolRequest)],
    ) -> Option<&'c ClientToolRequest> {
        open.iter().find(|(key, _)| *key == *self.0).map(|(_, call)| call)
    }
}

/// The last message of a chat, with the decisions and results of its reader.
#[derive(Debug)]
pub(super) struct AnsweredMessage {
    metadata: AnswerMetadata,
    parts: Vec<RequestPart>,
}

/// An answer of a reader: a decision, or a result.
#[derive(Debug)]
pub(super) enum ReaderAnswer {
    Decided { approval_id: Text, decision: Decision },
    Ran { tool_call_id: UiCallId, end: ClientReturn },
}

impl From<UiMessage> for AnsweredMessage {
    fn from(message: UiMessage) -> Self {
        Self { metadata: message.metadata.unwrap_or_default(), parts: message.parts }
    }
}

impl AnsweredMessage {
    pub(super) fn run_id(&self) -> Option<&Text> {
        self.metadata.run_id.as_ref()
    }

    /// Returns the number of the event with which the message continues.
    pub(super) fn next(&self) -> Option<u64> {
        self.metadata.next
    }

    pub(super) fn answers(self) -> impl Iterator<Item = ReaderAnswer> {
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

/// Returns the number of messages with a text of the user or of the model.
pub(super) fn history(messages: &[UiMessage]) -> usize {
    let is_said = |it: &&UiMessage| it.is_users() || it.is_of("assistant");
    messages.iter().filter(is_said).filter(|it| !it.text().trim().is_empty()).count()
}

/// Returns the last of these messages whose texts may begin a conversation, beginning with one of the user: no instructions, calls or results.
pub(super) fn earlier_messages(messages: &[UiMessage]) -> Vec<Message> {
    let (mut taken, mut bytes) = (Vec::new(), 0);
    for message in messages.iter().rev() {
        let (text, is_users) = (message.text(), message.is_users());
        if text.trim().is_empty() || !(is_users || message.is_of("assistant")) {
            continue;
        }
        bytes += text.len();
        if taken.len() == MAX_HISTORY || bytes > MAX_HISTORY_BYTES {
            break;
        }
        taken.push(if is_users { Message::user(text) } else { Message::assistant(text) });
    }
    taken.reverse();
    let first = taken.iter().position(|message| message.role == MessageRole::User);
    taken.split_off(first.unwrap_or(taken.len()))
}

/// Returns the decision of a person.
pub(super) fn decided(approved: bool, reason: Option<String>) -> Decision {
    if approved { Decision::Grant } else { Decision::reject(reason.unwrap_or_default()) }
}

/// Returns a text as user input; `None` if it is empty.
fn text_parts(text: String) -> Result<Option<Vec<Part>>, Problem> {
    let is_empty = text.trim().is_empty();
    if is_empty { Ok(None) } else { UserMessage::Text(text).parts().map(Some) }
}

/// Returns the result of a call at the client.
fn returned(output: Value) -> ClientReturn {
    if let Value::String(text) = output { text.into() } else { output.to_string().into() }
}

impl UiMessage {
    fn is_of(&self, role: &str) -> bool {
        self.role.as_deref() == Some(role)
    }

    /// Returns `true` for a message of the user.
    pub(super) fn is_users(&self) -> bool {
        self.is_of("user")
    }

    /// Returns `true` for a message of the model that contains answers of its reader.
    fn is_answered(&self) -> bool {
        let states = ["approval-responded", "output-available", "output-error"];
        let state =
            |part: &RequestPart| part.state.as_deref().is_some_and(|it| states.contains(&it));
        self.is_of("assistant") && self.parts.iter().any(state)
    }

    /// Returns the id, if it has one.
    pub(super) fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Returns the text.
    pub(super) fn text(&self) -> String {
        let parts = match &self.content {
            Some(UiContent::Text(text)) => return text.clone(),
            Some(UiContent::Parts(parts)) => parts,
            None => &self.parts,
        };
        parts.iter().filter(|part| part.kind == "text").map(|part| part.text.as_str()).collect()
    }

    /// Returns the content of a user message; `None` if it is empty.
    pub(super) fn said(self) -> Result<Option<Vec<Part>>, Problem> {
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
    pub(super) fn called(&self) -> impl Iterator<Item = &UiCallId> {
        self.called.iter().flatten().map(|called| &called.id)
    }

    /// Returns the id of the call whose result the message is.
    pub(super) fn call_id(&self) -> Option<&UiCallId> {
        self.tool_call_id.as_ref().filter(|_| self.is_of("tool"))
    }

    /// Returns the result of a call at the client from a tool message.
    pub(super) fn ran(self) -> Option<(UiCallId, ClientReturn)> {
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

/// Returns the key of a message of a conversation: the same for a request that is repeated, and another one where the message has another text, or is for
/// another agent or model.
pub(super) fn message_key(conversation: &str, id: &str, text: &str, of: &ReadingQuery) -> Text {
    let parts = (conversation, id, text, &of.agent, &of.model);
    let whole = serde_json::to_vec(&parts).unwrap_or_default();
    format!("message {}", digest_text(&whole)).into()
}

impl ChatRequest {
    /// Returns the key of the user's message; `None` without its id or that of the conversation.
    pub(super) fn message_key(&self, of: &ReadingQuery) -> Option<Text> {
        let message = match &self.message {
            Some(ChatMessage::Message(message)) => message,
            Some(ChatMessage::Text(_)) => return None,
            None => self.messages.last()?,
        };
        let is_said = message.role.is_none() || message.is_users();
        let id = message.id.as_deref().filter(|id| is_said && !id.is_empty())?;
        Some(message_key(&self.conversation()?, id, &message.text(), of))
    }

    /// Returns the earlier messages in the request, once its last one was taken.
    pub(super) fn earlier(&self) -> &[UiMessage] {
        &self.messages
    }

    /// Returns the id of the conversation.
    pub(super) fn conversation(&self) -> Option<Text> {
        self.conversation.clone().or_else(|| self.id.clone())
    }

    /// Adds the members about the page where the message was written to the metadata of the run, for the host's prompt parts and tools.
    pub(super) fn about(&mut self, mut input: RunInput) -> RunInput {
        for (name, value) in
            [("projectId", self.project_id.take()), ("currentPath", self.current_path.take())]
        {
            if let Some(value) = value.filter(|value| !value.is_null()) {
                input = input.metadata(name, value);
            }
        }
        input
    }

    /// Returns the user's messages if the last one is to be answered again or was edited. Drops the messages that follow it.
    pub(super) fn again(&mut self) -> Option<RegenerateRequest> {
        let may_be_users = |it: &UiMessage| it.role.is_none() || it.is_users();
        let is_edited = match self.trigger.as_deref() {
            Some("regenerate-message") => false,
            // Only the whole chat shows which message was edited.
            Some("submit-message") if self.message.is_none() => {
                let last = self.messages.last().filter(|last| last.is_users())?;
                (last.id.is_some() && last.id == self.message_id).then_some(true)?
            }
            _ => return None,
        };
        while self.messages.last().is_some_and(|last| !may_be_users(last)) {
            self.messages.pop();
        }
        let said = match &self.message {
            Some(ChatMessage::Text(text)) => vec![text.clone()],
            Some(ChatMessage::Message(message)) => vec![message.text()],
            None => {
                let users = self.messages.iter().filter(|it| may_be_users(it));
                users.map(UiMessage::text).collect()
            }
        };
        Some(RegenerateRequest { said, is_edited })
    }

    /// Returns the user's input; `None` if it is empty.
    pub(super) fn said(&mut self) -> Result<Option<Vec<Part>>, Problem> {
        match self.message.take() {
            Some(ChatMessage::Text(text)) => text_parts(text),
            Some(ChatMessage::Message(message)) => message.said(),
            None => self.messages.pop().map_or(Ok(None), UiMessage::said),
        }
    }

    /// Takes the last message, if it is one of the model that contains answers of its reader.
    pub(super) fn answered(&mut self) -> Option<AnsweredMessage> {
        let last = match &self.message {
            Some(ChatMessage::Message(message)) => message,
            Some(ChatMessage::Text(_)) => return None,
            None => self.messages.last()?,
        };
        if !last.is_answered() {
            return None;
        }
        match self.message.take() {
            Some(ChatMessage::Message(message)) => Some((*message).into()),
            Some(ChatMessage::Text(_)) | None => self.messages.pop().map(Into::into),
        }
    }

    /// Takes the last message of the model, if it contains answers of its reader and precedes the user's new messages.
    pub(super) fn answered_before(&mut self) -> Option<AnsweredMessage> {
        let users = |it: &&UiMessage| it.role.is_none() || it.is_users();
        let said = self.messages.iter().rev().take_while(users).count();
        if said == 0 && self.message.is_none() {
            return None;
        }
        let at = self.messages.len().checked_sub(said + 1)?;
        let is_answered = self.messages.get(at).is_some_and(UiMessage::is_answered);
        is_answered.then(|| self.messages.remove(at).into())
    }
}
