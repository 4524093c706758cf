//! The reading of a vendor's error: the part of the request that it refuses.

use super::vendor_error::{ErrorBody, parse_error_body};
use crate::{ProviderError, RefusedContent};
use forgeline_types::ErrorCode;

/// Words about signatures of reasoning and encrypted reasoning.
const PROOF: [&str; 9] = [
    "signature",
    "encrypted_content",
    "encrypted content",
    "encrypted reasoning",
    "redacted_thinking",
    "thinking block",
    "thinking_block",
    "reasoning item",
    "reasoning_item",
];

/// Words about images and documents. Servers that know only text complain about the list of parts that contains them.
const MEDIA: [&str; 17] = [
    "image",
    "picture",
    "mmproj",
    "vision",
    "multimodal",
    "multi-modal",
    "pdf",
    "document",
    "attachment",
    "media type",
    "media_type",
    "mime",
    "unsupported file",
    "file type",
    "inline_data",
    "must be a string",
    "expected a string",
];

/// Words before the number of tokens that a model may read.
const WINDOW: [&str; 11] = [
    "maximum",
    "max_",
    "limit",
    "context size",
    "context length",
    "context window",
    "exceeds",
    "too large for",
    "at most",
    ">",
    "<=",
];

/// Minimum of a number that is read as one of tokens: greater than that of any status.
const LEAST_TOKENS: u64 = 600;

impl ProviderError {
    /// Returns what the provider refused of the request; `None` if the error is about something else.
    ///
    /// The caller must know whether the request has such content: errors about media and signatures are known by their words.
    #[must_use]
    pub fn refused_content(&self) -> Option<RefusedContent> {
        match self.root() {
            Self::Status(status) => status
                .refused
                .or_else(|| RefusedContent::of(status.kind, &parse_error_body(&status.message))),
            Self::InStream { kind, message, raw, .. } => {
                let body = raw.as_ref().map_or(&**message, |raw| raw.as_str());
                RefusedContent::of(*kind, &parse_error_body(body))
            }
            Self::Unsupported { feature, .. } => {
                let is_media = MEDIA.iter().any(|word| feature.contains(word));
                is_media.then_some(RefusedContent::Media)
            }
            Self::Connect { .. }
            | Self::Timeout { .. }
            | Self::Decode { .. }
            | Self::EndedEarly { .. }
            | Self::Body { .. }
            | Self::Aborted { .. }
            | Self::RetriesExhausted { .. }
            | Self::InvalidAnswer { .. }
            | Self::SchemaUnsupported { .. }
            | Self::Cancelled
            | Self::Panicked { .. }
            | Self::Config { .. } => None,
        }
    }
}

impl RefusedContent {
    /// Returns what an error of this kind is about.
    pub(crate) fn of(kind: ErrorCode, said: &ErrorBody) -> Option<Self> {
        use ErrorCode::{ContextExceeded, InStream, InvalidRequest, Status, Unsupported};
        if kind == ContextExceeded {
            return Some(said.length());
        }
        if !matches!(kind, InvalidRequest | Unsupported | Status | InStream) {
            return None;
        }
        let words = said.words.replace("documentation", "");
        let has = |signs: &[&str]| signs.iter().any(|sign| words.contains(sign));
        if has(&PROOF) {
            return Some(Self::Proof);
        }
        has(&MEDIA).then_some(Self::Media)
    }
}

impl ErrorBody {
    /// Returns the lengths that the body states.
    fn length(&self) -> RefusedContent {
        let (mut window, mut tokens, mut is_compared) = (None, None, false);
        let mut rest = &*self.words;
        let mut before = String::new();
        while let Some(at) = rest.find(|sign: char| sign.is_ascii_digit()) {
            let (words, number) = rest.split_at(at);
            let end = number.find(|sign: char| !sign.is_ascii_digit() && sign != ',');
            let (digits, behind) = number.split_at(end.unwrap_or(number.len()));
            rest = behind;
            before.push_str(words);
            // A digit in a name, such as that of a model, is none of a number.
            let is_in_name = |sign: char| sign.is_ascii_alphanumeric() || "-_./".contains(sign);
            let is_name = words.ends_with(is_in_name)
                || behind.starts_with(|sign: char| sign.is_ascii_alphanumeric() || sign == '-');
            let value = digits.replace(',', "").parse().ok();
            let Some(value) = value.filter(|value| !is_name && *value >= LEAST_TOKENS) else {
                continue;
            };
            let compares = before.contains('>');
            if WINDOW.iter().any(|word| before.contains(word)) {
                if !is_compared {
                    window = Some(value);
                }
                is_compared |= compares;
            } else {
                tokens = tokens.or(Some(value));
            }
            before.clear();
        }
        let window = self.window.or(window);
        let is_more = |tokens: &u64| window.is_none_or(|window| *tokens > window);
        let tokens = self.tokens.or(tokens).filter(is_more);
        RefusedContent::Context { window, tokens }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        StatusError,
        decode::vendor_error::{in_stream, kind},
    };

    // Rows: N-23, N-24, N-25
    #[test]
    fn each_vendors_refusal_names_its_content() {
        use RefusedContent::{Context, Media, Proof};
        let long = |window, tokens| {
            let known = |number| Some(number).filter(|number| *number > 0);
            Some(Context { window: known(window), tokens: known(tokens) })
        };
        #[rustfmt::skip]
        let rows = [
            // Lengths.
            (400, r#"{"error":{"message":"The maximum context length is 8192 tokens, the messages came to 9001 tokens.","code":"context_length_exceeded"}}"#, long(8192, 9001)),
            (400, r#"{"object":"error","message":"maximum context length is 4096 tokens; you requested 5000 tokens (3000 in messages, 2000 in the completion)","code":400}"#, long(4096, 5000)),
            (400, r#"{"error":{"code":400,"message":"the context size is not enough","type":"exceed_context_size_error","n_prompt_tokens":9001,"n_ctx":8192}}"#, long(8192, 9001)),
            (400, r#"{"error":{"type":"invalid_request_error","message":"prompt is too long: 214,676 tokens > 200,000 maximum"}}"#, long(200_000, 214_676)),
            (400, r#"{"error":{"type":"invalid_request_error","message":"input and `max_tokens` exceed the context limit: 190000 + 20000 > 200000"}}"#, long(200_000, 0)),
            (400, r#"{"error":{"code":400,"message":"The token count of the input (2000000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}"#, long(1_048_576, 2_000_000)),
            (400, r#"{"message":"Prompt contains 40000 tokens, too large for model with 32768 maximum context length"}"#, long(32_768, 40_000)),
            (422, r#"{"error":"`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 20 `max_new_tokens`"}"#, long(4096, 5000)),
            (400, r#"{"error":"maximum prompt length is 131072, the request has 537812 tokens"}"#, long(131_072, 537_812)),
            (400, r#"{"error":{"message":"prompt token count of 130000 exceeds the limit of 128000"}}"#, long(128_000, 130_000)),
            (400, r#"{"error":{"message":"exceeded model token limit: 262144 (requested: 300000)"}}"#, long(262_144, 300_000)),
            (400, r#"{"error":"the input length exceeds the context length"}"#, long(0, 0)),
            (413, r#"{"error":{"message":"Request too large for model `m-120b-0905`: Limit 6000, Requested 9000","code":"rate_limit_exceeded"}}"#, long(6000, 9000)),
            (413, "<html><head><title>413 Request Entity Too Large</title></head></html>", long(0, 0)),
            (413, r#"{"type":"error","error":{"type":"request_too_large","message":"the request is too big"}}"#, long(0, 0)),
            // Images and documents.
            (400, r#"{"error":{"message":"the image cannot be processed"}}"#, Some(Media)),
            (400, r#"{"error":{"message":"messages.0.content.1.image.source.base64: over 5 MB: 10053760 bytes > 5242880 bytes"}}"#, Some(Media)),
            (400, r#"{"error":{"message":"unsupported MIME type: application/zip","status":"INVALID_ARGUMENT"}}"#, Some(Media)),
            (400, r#"{"error":{"message":"The PDF has no pages"}}"#, Some(Media)),
            (404, r#"{"error":{"message":"no endpoint takes image input","code":404}}"#, Some(Media)),
            (422, r#"{"error":"unknown variant `image_url`, only `text` is known"}"#, Some(Media)),
            (500, r#"{"error":{"message":"image input needs the mmproj","code":500}}"#, Some(Media)),
            (400, r#"{"error":{"message":"messages[0].content must be a string"}}"#, Some(Media)),
            // Signatures and encrypted reasoning.
            (400, r#"{"error":{"type":"invalid_request_error","message":"messages.1.content.0: invalid `signature` of a `thinking` block"}}"#, Some(Proof)),
            (400, r#"{"error":{"code":"invalid_encrypted_content","message":"the item cannot be verified"}}"#, Some(Proof)),
            (400, r#"{"error":{"message":"Function call `f` lacks a thought_signature","status":"INVALID_ARGUMENT"}}"#, Some(Proof)),
            (400, r#"{"error":{"message":"a call came without its reasoning item"}}"#, Some(Proof)),
            // Something else.
            (400, r#"{"error":{"message":"temperature must be at most 1; see the documentation"}}"#, None),
            (401, r#"{"error":{"message":"the signature of the key is wrong"}}"#, None),
            (429, r#"{"error":{"message":"too many images a minute"}}"#, None),
            (503, r#"{"error":{"message":"the image service is overloaded"}}"#, None),
            (500, r#"{"error":{"message":"internal error"}}"#, None),
        ];
        for (status, body, want) in rows {
            let said = parse_error_body(body);
            let code = kind(Some(status), &said);
            assert_eq!(RefusedContent::of(code, &said), want, "{status} {body}");
            // The message alone says no less, but for members of their own and the status.
            if status != 413 && !body.contains("n_ctx") && !body.contains("invalid_encrypted") {
                let error = StatusError::new(status, code, said.message.clone());
                let error = ProviderError::Status(Box::new(error));
                assert_eq!(error.refused_content(), want, "{status} {body}");
            }
            if status == 400 && body.starts_with('{') {
                assert_eq!(
                    in_stream(Some(body), body).refused_content(),
                    want,
                    "in stream: {body}"
                );
            }
        }
        let unable = ProviderError::unsupported("acme", "images");
        assert_eq!(unable.refused_content(), Some(Media));
        assert_eq!(ProviderError::unsupported("acme", "audio").refused_content(), None);
    }
}
