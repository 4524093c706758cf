//! Gemini.

use std::sync::Arc;

use bytes::Bytes;
use forgeline::{
    llm::{ProviderError, gemini::GenerateContent},
    types::{ErrorCode, FinishReason},
};
use forgeline_testkit::conformance::{
    Answer, AnswerCall, AnswerEnd, AnswerPart, AnswerUsage, Candidate, Setup, Subject,
};
use serde_json::{Value, json};

use super::conforms;

struct Gemini;

/// An event, with the line ends that the vendor writes.
fn event(data: &str) -> Bytes {
    Bytes::from(format!("data: {data}\r\n\r\n"))
}

fn part(part: &str) -> Bytes {
    event(&format!(
        r#"{{"candidates":[{{"content":{{"role":"model","parts":[{part}]}},"index":0}}],"modelVersion":"m","responseId":"r"}}"#
    ))
}

/// Arguments are an object here, written as the model spelled it.
fn call(call: &AnswerCall) -> Bytes {
    let arguments = call.arguments();
    let arguments = if arguments.is_empty() { "{}" } else { arguments.as_str() };
    let (name, id) = (json!(call.name), json!(call.id));
    part(&format!(r#"{{"functionCall":{{"name":{name},"args":{arguments},"id":{id}}}}}"#))
}

fn usage(usage: AnswerUsage) -> Option<Value> {
    if usage.cache_write.is_some() {
        return None;
    }
    let reasoning = usage.reasoning.unwrap_or(0);
    let mut told = json!({
        "promptTokenCount": usage.input,
        "candidatesTokenCount": usage.output - reasoning,
        "totalTokenCount": usage.input + usage.output,
    });
    if let Some(read) = usage.cache_read {
        told["cachedContentTokenCount"] = json!(read);
    }
    if reasoning > 0 {
        told["thoughtsTokenCount"] = json!(reasoning);
    }
    Some(told)
}

impl Subject for Gemini {
    fn provider(&self, setup: &Setup) -> Result<Arc<dyn Candidate>, ProviderError> {
        Ok(Arc::new(setup.http::<GenerateContent>().build()?))
    }

    fn answer(&self, answer: &Answer) -> Option<Vec<Bytes>> {
        let mut frames = Vec::new();
        for it in &answer.parts {
            match it {
                AnswerPart::Text(deltas) => {
                    frames.extend(
                        deltas.iter().map(|text| part(&json!({ "text": text }).to_string())),
                    );
                }
                AnswerPart::Thinking { deltas, signature, .. } => {
                    for (at, text) in deltas.iter().enumerate() {
                        let mut thought = json!({ "text": text, "thought": true });
                        if let Some(signature) =
                            signature.as_ref().filter(|_| at + 1 == deltas.len())
                        {
                            thought["thoughtSignature"] = json!(signature);
                        }
                        frames.push(part(&thought.to_string()));
                    }
                }
                AnswerPart::Calls(calls) => frames.extend(calls.iter().map(call)),
                _ => return None,
            }
        }
        match &answer.end {
            AnswerEnd::Cut => {}
            AnswerEnd::Error { code, message, .. } => {
                let error = json!({ "code": 500, "message": message, "status": code });
                frames.push(event(&json!({ "error": error }).to_string()));
            }
            AnswerEnd::Finish(reason) => {
                let word = match reason {
                    FinishReason::Stop => "STOP",
                    FinishReason::Length => "MAX_TOKENS",
                    FinishReason::ContentFilter => "SAFETY",
                    _ => return None,
                };
                let content = json!({ "role": "model", "parts": [{ "text": "" }] });
                let candidate = json!({ "content": content, "finishReason": word, "index": 0 });
                let mut last = json!({ "candidates": [candidate], "modelVersion": "m" });
                if let Some(told) = answer.usage {
                    last["usageMetadata"] = usage(told)?;
                }
                frames.push(event(&last.to_string()));
            }
            _ => return None,
        }
        Some(frames)
    }

    fn unknown(&self) -> Option<Bytes> {
        Some(event(r#"{"birchMetadata":{"rings":[1,null]}}"#))
    }

    fn comment(&self) -> Option<Bytes> {
        Some(Bytes::from_static(b": still at work\r\n\r\n"))
    }

    fn error_body(&self, kind: ErrorCode, message: &str) -> Bytes {
        let word = match kind {
            ErrorCode::Auth => "UNAUTHENTICATED",
            ErrorCode::InvalidRequest => "INVALID_ARGUMENT",
            ErrorCode::RateLimited | ErrorCode::QuotaExhausted => "RESOURCE_EXHAUSTED",
            ErrorCode::Overloaded => "UNAVAILABLE",
            _ => "INTERNAL",
        };
        let error = json!({ "code": 500, "message": message, "status": word });
        Bytes::from(json!({ "error": error }).to_string())
    }

    fn models_body(&self, model: &str) -> Bytes {
        let name = format!("models/{model}");
        Bytes::from(json!({ "models": [{ "name": name, "version": "001" }] }).to_string())
    }
}

// Covers: T-05
#[test]
fn gemini_conforms() {
    conforms(&Gemini, &["refusal"]);
}
