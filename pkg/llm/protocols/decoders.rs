//! The decoder of each protocol.

use super::Protocol;
use crate::{
    BodyDecoder, anthropic::AnthropicDecoder, cohere::CohereDecoder, decode::JsonEntries,
    gemini::GeminiDecoder, ollama::OllamaDecoder, openai::OpenAiDecoder,
    responses::ResponsesDecoder,
};
use forgeline_json::subslice;

impl Protocol {
    /// Returns a decoder for one body in this protocol.
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

    /// Guesses the protocol of a body: by the members of its first events, or else by the first text in it
    /// that only one protocol uses.
    ///
    /// If the body has neither, it is assumed to be OpenAI Chat Completions, whose decoder reports what is
    /// wrong with it.
    #[must_use]
    pub fn guess(body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(subslice(body, ..body.len().min(MAX_GUESS_BYTES)));
        let lines = text.lines().map(|line| line.strip_prefix("data:").unwrap_or(line));
        let events = [&*text].into_iter().chain(lines.take(MAX_LINES)).map(str::trim);
        let mut events = events.filter(|event| event.starts_with('{'));
        events.find_map(by_members).or_else(|| by_words(&text)).unwrap_or(Self::OpenAiChat)
    }
}

/// Maximum number of bytes of a body that are examined to guess its protocol.
const MAX_GUESS_BYTES: usize = 16 << 20;
/// Maximum number of lines of such a body.
const MAX_LINES: usize = 64;

/// Returns the protocol whose events or whole answers have these members.
fn by_members(json: &str) -> Option<Protocol> {
    let event = JsonEntries::parse(json);
    let (kind, object) = (event.text("type"), event.text("object"));
    let has = |name: &str| event.written(name).is_some();
    let starts =
        |name: &str, with: char| event.get(name).is_some_and(|it| it.get().starts_with(with));
    let rows = [
        (
            Protocol::OpenAiChat,
            has("choices") || object.starts_with("chat.completion") || object == "text_completion",
        ),
        (Protocol::OpenAiResponses, kind.starts_with("response.") || object == "response"),
        (
            Protocol::Anthropic,
            matches!(kind.as_str(), "message_start" | "message_delta" | "message_stop")
                || kind.starts_with("content_block_")
                || (kind == "message" && starts("content", '['))
                || (kind == "error" && starts("error", '{')),
        ),
        (
            Protocol::Gemini,
            ["candidates", "usageMetadata", "promptFeedback"].iter().any(|name| has(name))
                || event.get("response.candidates").is_some(),
        ),
        (
            Protocol::Cohere,
            matches!(kind.as_str(), "message-start" | "message-end" | "tool-plan-delta")
                || ["content-", "tool-call-", "citation-"].iter().any(|it| kind.starts_with(it))
                || (starts("message", '{') && has("finish_reason")),
        ),
        (Protocol::OllamaGenerate, starts("response", '"') && (has("done") || has("created_at"))),
        (Protocol::Ollama, has("done") || (starts("message", '{') && has("created_at"))),
    ];
    rows.into_iter().find(|(_, is_so)| *is_so).map(|(protocol, _)| protocol)
}

/// Returns the protocol whose text comes first.
fn by_words(text: &str) -> Option<Protocol> {
    let first = |words: &[&str]| words.iter().filter_map(|word| text.find(word)).min();
    let signs: [(Protocol, &[&str]); 7] = [
        (
            Protocol::OpenAiChat,
            &["\"chat.completion", "\"text_completion\"", "\"delta\":{\"role\":\"assistant\""],
        ),
        (
            Protocol::Anthropic,
            &["\"message_start\"", "\"content_block_start\"", "\"type\":\"error\""],
        ),
        (
            Protocol::OpenAiResponses,
            &[
                "\"response.created\"",
                "\"response.output_",
                "\"response.failed\"",
                "\"object\":\"response\"",
                "\"object\": \"response\"",
            ],
        ),
        (Protocol::Gemini, &["\"candidates\"", "\"usageMetadata\"", "\"promptFeedback\""]),
        (Protocol::Cohere, &["\"message-start\"", "\"content-delta\""]),
        (Protocol::OllamaGenerate, &["\"response\":\"", "\"response\": \""]),
        (Protocol::Ollama, &["\"done\":", "\"done_reason\""]),
    ];
    let found = signs.iter().filter_map(|(protocol, words)| Some((first(words)?, *protocol)));
    found.min_by_key(|(at, _)| *at).map(|(_, protocol)| protocol)
}
