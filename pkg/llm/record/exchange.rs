//! One recorded exchange.

use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::path;
use crate::{
    llm::{Protocol, transport::TransportError},
    types::Text,
};

/// One request and what came of it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Exchange {
    /// Its number in the recording, from 1, in the order of the requests.
    pub turn: u32,
    /// Such as `POST`.
    pub method: Text,
    /// The address, without user, password and values of its query.
    pub url: Text,
    /// The harmless headers of the request.
    pub headers: Vec<(Text, Text)>,
    /// The body of the request: its JSON, else its text; null when it was empty.
    pub body: Value,
    /// Whether the body of the request was too long to be kept.
    pub body_cut: bool,
    /// What came.
    pub answer: Answer,
    /// How it ended.
    pub ended: Ended,
}

/// What came of a request.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Answer {
    /// A response, whole or not.
    Response(RecordedResponse),
    /// No response: the exchange failed.
    Failed(Failure),
    /// No response: nobody waited for it any longer.
    Dropped,
}

/// A response, as it came.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct RecordedResponse {
    /// The status code.
    pub status: u16,
    /// The harmless headers.
    pub headers: Vec<(Text, Text)>,
    /// When its head came, since the request was sent.
    pub head: Duration,
    /// The body, as far as it came and was kept.
    pub body: Bytes,
    /// The reads in which the body came.
    pub reads: Vec<Read>,
    /// Whether the body went on but was too long to be kept.
    pub cut: bool,
}

/// One read of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Read {
    /// How long it was.
    pub bytes: usize,
    /// When it came, since the request was sent; to the millisecond.
    pub at: Duration,
}

impl Read {
    /// A read of so many bytes.
    #[must_use]
    pub fn new(bytes: usize, at: Duration) -> Self {
        Self { bytes, at }
    }
}

/// Why there was no response, or not all of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Failure {
    /// What kind of failure it was: `invalid`, `refused`, `connect`, `connect_timeout` or `broken`.
    pub kind: Text,
    /// Host and port, where they are known.
    #[serde(default)]
    pub host: Text,
    /// What the HTTP client said.
    pub message: Text,
}

/// How an exchange ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// The body came to its end.
    Whole,
    /// The connection broke, or was never made.
    Broken,
    /// The reader stopped reading, as providers do when the answer is whole before its body ends.
    Dropped,
}

impl Exchange {
    /// The path of the address, without its query.
    #[must_use]
    pub fn path(&self) -> &str {
        path(&self.url)
    }

    /// The response, when there was one.
    #[must_use]
    pub fn response(&self) -> Option<&RecordedResponse> {
        match &self.answer {
            Answer::Response(response) => Some(response),
            Answer::Failed(_) | Answer::Dropped => None,
        }
    }

    /// The protocol that the address stands for, else the one that the response looks like.
    #[must_use]
    pub fn protocol(&self) -> Protocol {
        let path = self.path();
        let ends = |end: &&str| path.ends_with(end);
        let signs: [(Protocol, &[&str]); 7] = [
            (Protocol::OpenAiChat, &["/chat/completions"]),
            (Protocol::OpenAiResponses, &["/responses"]),
            (Protocol::Anthropic, &["/messages", ":streamRawPredict", ":rawPredict"]),
            (Protocol::Gemini, &[":streamGenerateContent", ":generateContent"]),
            (Protocol::Cohere, &["/v2/chat"]),
            (Protocol::OllamaGenerate, &["/api/generate"]),
            (Protocol::Ollama, &["/api/chat"]),
        ];
        let known = signs.iter().find(|(_, signs)| signs.iter().any(ends));
        known.map_or_else(
            || Protocol::guess(self.response().map_or(&[][..], |response| &response.body)),
            |(protocol, _)| *protocol,
        )
    }
}

impl Failure {
    /// The failure, without what it may show of a secret.
    pub(super) fn of(error: &TransportError, strike: impl Fn(&str) -> String) -> Self {
        let (kind, host) = match error {
            TransportError::Invalid { .. } => ("invalid", ""),
            TransportError::Refused { .. } => ("refused", ""),
            TransportError::Connect { host, .. } => ("connect", host.as_str()),
            TransportError::ConnectTimeout { host, .. } => ("connect_timeout", host.as_str()),
            TransportError::Broken { .. } => ("broken", ""),
        };
        let mut message = error.to_string();
        let mut source = std::error::Error::source(error);
        while let Some(error) = source {
            message = format!("{message}: {error}");
            source = error.source();
        }
        let (host, message) = (Text::from(strike(host)), Text::from(strike(&message)));
        Self { kind: Text::from(kind), host, message }
    }

    /// The failure, to be met again.
    pub(crate) fn to_error(&self) -> TransportError {
        let source = self.message.as_str().into();
        match self.kind.as_str() {
            "invalid" => TransportError::Invalid { source },
            "refused" => TransportError::Refused { message: self.message.clone() },
            "connect" => TransportError::Connect { host: self.host.clone(), source },
            // How long it waited then, nobody waits now.
            "connect_timeout" => {
                TransportError::ConnectTimeout { host: self.host.clone(), after: Duration::ZERO }
            }
            _ => TransportError::Broken { source },
        }
    }
}
