//! Ollama's chat.

use std::sync::Arc;

use bytes::Bytes;
use forgeline::{
    llm::{ProviderError, ollama::OllamaChat},
    types::{ErrorCode, FinishReason},
};
use forgeline_testkit::conformance::{
    Answer, AnswerCall, AnswerEnd, AnswerPart, Candidate, Setup, Subject, ndjson_frame,
};
use serde_json::{Value, json};

use super::conforms;

struct Ollama;

fn line(message: &str) -> Bytes {
    let created = "2026-11-22T09:00:00Z";
    Bytes::from(format!(
        "{{\"model\":\"m\",\"created_at\":\"{created}\",\"message\":{message},\"done\":false}}\n"
    ))
}

fn field(name: &str, deltas: &[String]) -> Vec<Bytes> {
    let message = |text: &String| match name {
        "content" => json!({ "role": "assistant", "content": text }),
        _ => json!({ "role": "assistant", "content": "", name: text }),
    };
    deltas.iter().map(|text| line(&message(text).to_string())).collect()
}

/// Arguments are an object here, written as the model spelled it.
fn calls(calls: &[AnswerCall]) -> Bytes {
    let written: Vec<_> = calls
        .iter()
        .enumerate()
        .map(|(index, call)| {
            let arguments = call.arguments();
            let arguments = if arguments.is_empty() { "{}" } else { arguments.as_str() };
            let (id, name) = (json!(call.id), json!(call.name));
            format!(
                r#"{{"id":{id},"function":{{"index":{index},"name":{name},"arguments":{arguments}}}}}"#
            )
        })
        .collect();
    let written = written.join(",");
    line(&format!(r#"{{"role":"assistant","content":"","tool_calls":[{written}]}}"#))
}

impl Subject for Ollama {
    fn provider(&self, setup: &Setup) -> Result<Arc<dyn Candidate>, ProviderError> {
        Ok(Arc::new(setup.http::<OllamaChat>().build()?))
    }

    fn answer(&self, answer: &Answer) -> Option<Vec<Bytes>> {
        let mut frames = Vec::new();
        for part in &answer.parts {
            match part {
                AnswerPart::Text(deltas) => frames.extend(field("content", deltas)),
                AnswerPart::Thinking { deltas, signature: None, .. } => {
                    frames.extend(field("thinking", deltas));
                }
                AnswerPart::Calls(list) => frames.push(calls(list)),
                _ => return None,
            }
        }
        match &answer.end {
            AnswerEnd::Cut => {}
            AnswerEnd::Error { message, .. } => {
                frames.push(ndjson_frame(&json!({ "error": message })));
            }
            AnswerEnd::Finish(reason) => {
                let word = match reason {
                    FinishReason::Stop => "stop",
                    FinishReason::Length => "length",
                    _ => return None,
                };
                let mut last = json!({
                    "model": "m", "created_at": "2026-11-22T09:00:01Z", "done": true,
                    "message": { "role": "assistant", "content": "" }, "done_reason": word,
                });
                if let Some(usage) = answer.usage {
                    if !usage.is_plain() {
                        return None;
                    }
                    last["prompt_eval_count"] = json!(usage.input);
                    last["eval_count"] = json!(usage.output);
                }
                frames.push(ndjson_frame(&last));
            }
            _ => return None,
        }
        Some(frames)
    }

    fn unknown(&self) -> Option<Bytes> {
        Some(ndjson_frame(&json!({ "birch": { "rings": [1, Value::Null] }, "done": false })))
    }

    fn content_type(&self) -> &'static str {
        "application/x-ndjson"
    }

    fn error_body(&self, _kind: ErrorCode, message: &str) -> Bytes {
        Bytes::from(json!({ "error": message }).to_string())
    }

    fn models_body(&self, model: &str) -> Bytes {
        Bytes::from(json!({ "models": [{ "name": model, "model": model }] }).to_string())
    }

    fn exempt(&self) -> &[(&str, &str)] {
        &[("no-retry-on-quota", "the server has no quotas, and no word for them")]
    }
}

// Covers: T-05
#[test]
fn ollama_conforms() {
    let exempt = ["refusal", "no-retry-on-quota", "comments-are-life", "signature-returns"];
    conforms(&Ollama, &exempt);
}
