//! Requests of the clients of both chat protocols.

use serde::Deserialize;
use serde_json::Value;

use crate::{
    Problem,
    conversations::regenerate::RegenerateRequest,
    http::ids::digest_text,
    input::ui_message::{AnsweredMessage, UiMessage, text_parts},
    readers::until_wait::ReadingQuery,
};
use forgeline_agent::RunInput;
use forgeline_types::{Message, MessageRole, Part, Text};

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
        let is_said = message.may_be_users();
        let id = message.id().filter(|id| is_said && !id.is_empty())?;
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
        let may_be_users = |it: &UiMessage| it.may_be_users();
        let is_edited = match self.trigger.as_deref() {
            Some("regenerate-message") => false,
            // Only the whole chat shows which message was edited.
            Some("submit-message") if self.message.is_none() => {
                let last = self.messages.last().filter(|last| last.is_users())?;
                (last.id().is_some() && last.id() == self.message_id.as_deref()).then_some(true)?
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
        let users = |it: &&UiMessage| it.may_be_users();
        let said = self.messages.iter().rev().take_while(users).count();
        if said == 0 && self.message.is_none() {
            return None;
        }
        let at = self.messages.len().checked_sub(said + 1)?;
        let is_answered = self.messages.get(at).is_some_and(UiMessage::is_answered);
        is_answered.then(|| self.messages.remove(at).into())
    }
}
