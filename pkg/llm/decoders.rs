//! The decoder of each protocol.

use super::{
    BodyDecoder, Protocol, anthropic::AnthropicDecoder, cohere::CohereDecoder,
    gemini::GeminiDecoder, ollama::OllamaDecoder, openai::OpenAiDecoder,
    responses::ResponsesDecoder,
};
use crate::types::subslice;

impl Protocol {
    /// Returns a decoder for one body of this protocol.
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

    /// Returns the protocol of a body, by the first words in it that only one protocol has.
    ///
    /// A body without any of them is taken for OpenAI Chat Completions, whose decoder reports what is
    /// wrong with it.
    #[must_use]
    pub fn guess(body: &[u8]) -> Self {
        let head = String::from_utf8_lossy(subslice(body, ..body.len().min(16 << 10)));
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
