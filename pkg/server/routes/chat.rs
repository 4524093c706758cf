//! The chat of the AI SDK: `useChat` reads it.

use axum::{
    extract::{Path, State},
    http::{HeaderName, HeaderValue},
    response::Response,
};
use serde::Deserialize;

use crate::{
    agent::RunInput,
    server::{
        Problem, Service, body,
        encode::UiMessageStream,
        extract::{Body, Caller},
        service::Asked,
    },
    types::Text,
};

/// A request of `useChat`, which may have more.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Chat {
    id: Option<Text>,
    #[serde(rename = "chatId")]
    conversation: Option<Text>,
    message: Option<SaidMessage>,
    #[serde(default)]
    messages: Vec<UiMessage>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum SaidMessage {
    Text(String),
    Message(UiMessage),
}

/// A message; its parts or its content are the text.
#[derive(Debug, Deserialize)]
pub(super) struct UiMessage {
    role: Option<String>,
    #[serde(default)]
    parts: Vec<UiPart>,
    content: Option<String>,
}

#[derive(Debug, Deserialize)]
struct UiPart {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    text: String,
}

impl UiMessage {
    /// Returns the text of a message of the user.
    pub(super) fn said(self) -> Option<String> {
        if self.role.is_some_and(|role| role != "user") {
            return None;
        }
        let texts = self.parts.into_iter().filter(|part| part.kind == "text").map(|part| part.text);
        let text = self.content.unwrap_or_else(|| texts.collect());
        Some(text).filter(|text| !text.trim().is_empty())
    }
}

impl Chat {
    fn said(&mut self) -> Option<String> {
        match self.message.take() {
            Some(SaidMessage::Text(text)) => Some(text).filter(|text| !text.trim().is_empty()),
            Some(SaidMessage::Message(message)) => message.said(),
            None => self.messages.pop()?.said(),
        }
    }
}

pub(super) async fn begin(
    State(service): State<Service>,
    Caller(caller): Caller,
    Body(mut chat): Body<Chat>,
) -> Result<Response, Problem> {
    let Some(said) = chat.said() else {
        return Err(Problem::bad("Message is required"));
    };
    let conversation = chat.conversation.or(chat.id);
    let asked = Asked { input: RunInput::from(said), agent: None, conversation, request: None };
    let run = service.begin(caller, asked).await?;
    let mut response = body::answer(&service, run.key.clone(), 0, UiMessageStream::new());
    versioned(&mut response);
    if let Ok(id) = HeaderValue::from_str(&run.conversation) {
        response.headers_mut().insert(HeaderName::from_static("x-chat-id"), id);
    }
    Ok(response)
}

/// Reads the run of a chat that goes on, from its beginning.
pub(super) async fn resume(
    State(service): State<Service>,
    Caller(caller): Caller,
    Path(id): Path<String>,
) -> Response {
    let Some(run) = service.open_run(&caller, &id) else { return body::nothing() };
    let mut response = body::answer(&service, run.key.clone(), 0, UiMessageStream::new());
    versioned(&mut response);
    response
}

fn versioned(response: &mut Response) {
    let (name, value) = UiMessageStream::HEADER;
    let (name, value) = (HeaderName::from_static(name), HeaderValue::from_static(value));
    response.headers_mut().insert(name, value);
}
