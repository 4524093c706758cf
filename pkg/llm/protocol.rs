//! Wire protocols: which one a body speaks, and its decoder.

use std::fmt;

use super::{ProviderError, StreamChunk, openai::OpenAiDecoder};
use crate::types::Text;

/// Decodes the body of one response, in any pieces, into chunks. Pure: no I/O, no clock.
pub trait BodyDecoder: Send {
    /// Takes the next bytes; gives the chunks that they complete.
    ///
    /// # Errors
    ///
    /// When the body cannot be decoded; nothing more can be read then.
    fn push(
        &mut self,
        bytes: &[u8],
        emit: &mut dyn FnMut(StreamChunk),
    ) -> Result<(), ProviderError>;

    /// Ends the body.
    ///
    /// # Errors
    ///
    /// The error that the server reported in the stream, or [`ProviderError::EndedEarly`] when the
    /// protocol's end is missing.
    fn finish(&mut self, emit: &mut dyn FnMut(StreamChunk)) -> Result<(), ProviderError>;

    /// How far the response has come.
    fn progress(&self) -> Progress;
}

/// How far a response has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// The answer is being written.
    Open,
    /// The server has reported an error, which [`BodyDecoder::finish`] will give.
    Failed,
    /// The answer is whole; what may follow are facts about it, such as its usage.
    Complete,
    /// Nothing that follows counts.
    Done,
}

/// A wire protocol of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Protocol {
    /// OpenAI Chat Completions and its dialects.
    OpenAiChat,
}

impl Protocol {
    /// Every protocol that can be decoded.
    pub const ALL: &'static [Self] = &[Self::OpenAiChat];

    /// The name on command lines, such as `openai-chat`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai-chat",
        }
    }

    /// The protocol of this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|protocol| protocol.name() == name)
    }

    /// A decoder for one body of this protocol.
    #[must_use]
    pub fn decoder(self) -> Box<dyn BodyDecoder> {
        match self {
            Self::OpenAiChat => Box::new(OpenAiDecoder::default()),
        }
    }

    /// The protocol that a body speaks, by its first events.
    ///
    /// What looks like none of them is taken for OpenAI Chat Completions, whose decoder says what is
    /// wrong with it.
    ///
    /// # Errors
    ///
    /// [`ProviderError::Unsupported`] when the body speaks a protocol that is known but not decoded.
    pub fn guess(body: &[u8]) -> Result<Self, ProviderError> {
        let head =
            String::from_utf8_lossy(body.get(..body.len().min(16 << 10)).unwrap_or_default());
        let has = |words: &[&str]| words.iter().any(|word| head.contains(word));
        if has(&["\"chat.completion", "\"text_completion\"", "\"delta\":{\"role\":\"assistant\""]) {
            return Ok(Self::OpenAiChat);
        }
        let signs: [(&str, &[&str]); 5] = [
            ("anthropic", &["\"message_start\"", "\"content_block_start\"", "\"type\":\"error\""]),
            (
                "openai-responses",
                &["\"response.created\"", "\"object\":\"response\"", "\"response.failed\""],
            ),
            ("gemini", &["\"candidates\"", "\"usageMetadata\"", "\"promptFeedback\""]),
            ("cohere", &["\"message-start\"", "\"content-delta\""]),
            ("ollama", &["\"done\":false", "\"done\":true", "\"done\": false", "\"done_reason\""]),
        ];
        match signs.iter().find(|(_, words)| has(words)) {
            Some((name, _)) => Err(ProviderError::Unsupported {
                provider: Text::from("this version"),
                feature: Text::from(format!("the protocol {name}")),
            }),
            None => Ok(Self::OpenAiChat),
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}
