//! The chunks of a body in words.

use std::fmt::Write as _;

use crate::{BodyDecoder, ContentType, Protocol, ProviderError, StreamChunk};
use forgeline_types::{AgentEvent, FinishReason, Json};

/// Bodies up to this length are cut at every byte.
const MAX_CUT_BYTES: usize = 4096;

/// The chunks of a body in words, and then its error: `m:` message, `t:` thinking, `r:` refusal, with adjacent
/// content joined and `/` at the end of a section; `c0#id:name(arguments)` a delta of a call, with `…` if the call
/// goes on; `u` usage; `s:` signatures; `[…]` the kind of an item with its raw value; `+` choices left out; `end:` the finish reason; `.` the end.
struct ChunkWords {
    protocol: Protocol,
    out: String,
    last: Option<ContentType>,
}

impl ChunkWords {
    fn push(&mut self, chunk: StreamChunk) {
        if !chunk.content.is_empty() {
            if self.last.replace(chunk.content_type) != Some(chunk.content_type) {
                self.out.push_str(match chunk.content_type {
                    ContentType::Message => " m:",
                    ContentType::Thinking => " t:",
                    ContentType::Refusal => " r:",
                });
            }
            self.out.push_str(&chunk.content);
        }
        if chunk.ends_section {
            self.out.push('/');
        }
        for call in chunk.tool_calls {
            self.word(format_args!(" c{}", call.index));
            self.out.extend(call.id.map(|id| format!("#{id}")));
            self.out.extend(call.name.map(|name| format!(":{name}")));
            self.out.push_str(if call.hosted { " hosted" } else { "" });
            let end = if call.ended { "" } else { "…" };
            self.word(format_args!("({}{end})", call.arguments));
            if let Some(signature) = call.signature {
                self.word(format_args!("[{}]", signature.proof));
            }
        }
        let details = chunk.details.unwrap_or_default();
        if let Some(id) = details.response_id {
            self.word(format_args!(" id:{id}"));
        }
        if let Some(usage) = chunk.usage {
            let counts = [
                usage.input_tokens,
                usage.output_tokens,
                usage.cache_read_tokens,
                usage.cache_write_tokens,
                usage.reasoning_tokens,
            ];
            let counts = counts.map(|count| count.map_or("-".into(), |count| count.to_string()));
            self.word(format_args!(" u{}", counts.join("/")));
            self.out.extend(details.usage_raw.map(|raw| raw.to_string()));
        }
        if let Some(signature) = details.signature {
            self.check_protocol(&signature.protocol);
            self.word(format_args!(" s:{}", signature.proof));
        }
        for event in details.events {
            let AgentEvent::ProviderItem(item) = event else { panic!("{event:?}") };
            self.check_protocol(&item.protocol);
            let kind = serde_json::to_string(&item.kind).unwrap();
            self.word(format_args!(" [{kind} {}]", item.raw));
        }
        if details.ignored_choices > 0 {
            self.word(format_args!(" +{}", details.ignored_choices));
        }
        if let Some(reason) = chunk.finish_reason.as_ref().map(FinishReason::as_str) {
            self.word(format_args!(" end:{reason}"));
        }
        if chunk.finished {
            self.word(format_args!(" ."));
        }
    }

    fn check_protocol(&self, name: &str) {
        assert_eq!(self.protocol.name(), name);
    }

    fn word(&mut self, word: std::fmt::Arguments<'_>) {
        self.last = None;
        self.out.write_fmt(word).unwrap();
    }
}

/// Returns the chunks of a body that arrives in these pieces, in words, and its error.
pub(crate) fn read<'a>(
    protocol: Protocol,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (String, Option<ProviderError>) {
    read_by(protocol, protocol.decoder(), pieces)
}

/// Like [`read`], by this decoder.
pub(crate) fn read_by<'a>(
    protocol: Protocol,
    mut decoder: impl BodyDecoder,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (String, Option<ProviderError>) {
    let mut words = ChunkWords { protocol, out: String::new(), last: None };
    let mut error = None;
    for piece in pieces {
        error = error.or_else(|| decoder.push(piece, &mut |chunk| words.push(chunk)).err());
    }
    let error = error.or_else(|| decoder.finish(&mut |chunk| words.push(chunk)).err());
    (words.out.trim_start().to_owned(), error)
}

/// Like [`read`]; every cut of the body must give the same.
pub(super) fn read_at_every_cut(
    name: &str,
    protocol: Protocol,
    body: &[u8],
) -> (String, Option<ProviderError>) {
    let whole = read(protocol, [body]);
    let shown = format!("{whole:?}");
    for size in [1, 7, 1400] {
        assert_eq!(format!("{:?}", read(protocol, body.chunks(size))), shown, "{name} in {size}s");
    }
    let cuts = if body.len() > MAX_CUT_BYTES { 0..=0 } else { 0..=body.len() };
    for (start, rest) in cuts.map(|at| body.split_at(at)) {
        let at = start.len();
        assert_eq!(format!("{:?}", read(protocol, [start, rest])), shown, "{name} cut at {at}");
    }
    whole
}

/// Returns the error in words: its code, where it is or what the vendor said.
pub(super) fn error_words(error: &ProviderError) -> String {
    let code = serde_json::to_value(error.code()).unwrap();
    let code = code.as_str().unwrap();
    if let ProviderError::Decode { offset, reason } = error {
        // What follows are words of the JSON parser.
        return format!("!{code}@{offset} {}", reason.split(": ").next().unwrap_or_default());
    }
    let ProviderError::InStream { message, code: own, raw, .. } = error else {
        return format!("!{code}");
    };
    let (own, raw) = (own.as_deref().unwrap_or("-"), raw.as_ref().map_or("-", Json::as_str));
    format!("!{code} {own} {message} {raw}")
}

/// Returns a body of these events, as the protocol frames them.
pub(crate) fn body(protocol: Protocol, events: &[impl AsRef<str>]) -> Vec<u8> {
    let frame = |event: &str| match protocol {
        Protocol::Ollama | Protocol::OllamaGenerate => format!("{event}\n"),
        Protocol::Gemini => format!("data: {event}\r\n\r\n"),
        Protocol::OpenAiChat
        | Protocol::OpenAiResponses
        | Protocol::Anthropic
        | Protocol::Cohere => format!("data: {event}\n\n"),
    };
    events.iter().map(|event| frame(event.as_ref())).collect::<String>().into_bytes()
}
