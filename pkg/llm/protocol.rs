//! Wire protocols: which one a body speaks, and its decoder.

use std::fmt;

use super::{
    ProviderError, StreamChunk, anthropic::AnthropicDecoder, cohere::CohereDecoder,
    gemini::GeminiDecoder, ollama::OllamaDecoder, openai::OpenAiDecoder,
    responses::ResponsesDecoder,
};

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
    /// OpenAI Responses.
    OpenAiResponses,
    /// Anthropic Messages.
    Anthropic,
    /// Gemini.
    Gemini,
    /// Ollama's chat.
    Ollama,
    /// Ollama's generate.
    OllamaGenerate,
    /// Cohere, version 2 of its API.
    Cohere,
}

impl Protocol {
    /// Every protocol that can be decoded.
    pub const ALL: &'static [Self] = &[
        Self::OpenAiChat,
        Self::OpenAiResponses,
        Self::Anthropic,
        Self::Gemini,
        Self::Ollama,
        Self::OllamaGenerate,
        Self::Cohere,
    ];

    /// The name on command lines, such as `openai-chat`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai-chat",
            Self::OpenAiResponses => "openai-responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
            Self::OllamaGenerate => "ollama-generate",
            Self::Cohere => "cohere",
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
            Self::OpenAiResponses => Box::new(ResponsesDecoder::default()),
            Self::Anthropic => Box::new(AnthropicDecoder::default()),
            Self::Gemini => Box::new(GeminiDecoder::default()),
            Self::Ollama | Self::OllamaGenerate => Box::new(OllamaDecoder::default()),
            Self::Cohere => Box::new(CohereDecoder::default()),
        }
    }

    /// The protocol that a body speaks, by the first words of it that only one protocol has.
    ///
    /// What looks like none of them is taken for OpenAI Chat Completions, whose decoder says what is
    /// wrong with it.
    #[must_use]
    pub fn guess(body: &[u8]) -> Self {
        let head =
            String::from_utf8_lossy(body.get(..body.len().min(16 << 10)).unwrap_or_default());
        let first = |words: &[&str]| words.iter().filter_map(|word| head.find(word)).min();
        let signs: [(Self, &[&str]); 7] = [
            (
                Self::OpenAiChat,
                &["\"chat.completion", "\"text_completion\"", "\"delta\":{\"role\":\"assistant\""],
            ),
            (
                Self::Anthropic,
                &["\"message_start\"", "\"content_block_start\"", "\"type\":\"error\""],
            ),
            (
                Self::OpenAiResponses,
                &[
                    "\"response.created\"",
                    "\"response.output_",
                    "\"response.failed\"",
                    "\"object\":\"response\"",
                    "\"object\": \"response\"",
                ],
            ),
            (Self::Gemini, &["\"candidates\"", "\"usageMetadata\"", "\"promptFeedback\""]),
            (Self::Cohere, &["\"message-start\"", "\"content-delta\""]),
            (Self::OllamaGenerate, &["\"response\":\"", "\"response\": \""]),
            (Self::Ollama, &["\"done\":", "\"done_reason\""]),
        ];
        let found = signs.iter().filter_map(|(protocol, words)| Some((first(words)?, *protocol)));
        found.min_by_key(|(at, _)| *at).map_or(Self::OpenAiChat, |(_, protocol)| protocol)
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}
