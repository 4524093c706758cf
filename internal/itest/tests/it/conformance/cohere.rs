//! Cohere, version 2.

use std::sync::Arc;

use bytes::Bytes;
use forgeline::{
    llm::{ProviderError, cohere::ChatV2},
    types::{ErrorCode, FinishReason},
};
use forgeline_testkit::conformance::{
    Answer, AnswerCall, AnswerEnd, AnswerPart, Candidate, Setup, Subject, sse_frame,
};
use serde_json::{Value, json};

use super::conforms;

struct Cohere;

/// An event, whose name is in its data as well.
fn event(data: &Value) -> Bytes {
    sse_frame(data["type"].as_str(), data)
}

fn content(index: usize, kind: &str, deltas: &[String]) -> Vec<Bytes> {
    let start = json!({ "type": kind, kind: "" });
    let delta = |name: &str, content: Value| {
        let delta = json!({ "message": { "content": content } });
        event(&json!({ "type": name, "index": index, "delta": delta }))
    };
    let mut frames = vec![delta("content-start", start)];
    frames.extend(deltas.iter().map(|text| delta("content-delta", json!({ kind: text }))));
    frames
}

/// One call after another.
fn calls(calls: &[AnswerCall]) -> Vec<Bytes> {
    let mut frames = Vec::new();
    for (index, call) in calls.iter().enumerate() {
        let mut push = |name: &str, call: Value| {
            let delta = json!({ "message": { "tool_calls": call } });
            frames.push(event(&json!({ "type": name, "index": index, "delta": delta })));
        };
        let function = json!({ "name": call.name, "arguments": "" });
        push("tool-call-start", json!({ "id": call.id, "type": "function", "function": function }));
        for piece in &call.arguments {
            push("tool-call-delta", json!({ "function": { "arguments": piece } }));
        }
        frames.push(event(&json!({ "type": "tool-call-end", "index": index })));
    }
    frames
}

impl Subject for Cohere {
    fn provider(&self, setup: &Setup) -> Result<Arc<dyn Candidate>, ProviderError> {
        Ok(Arc::new(setup.http::<ChatV2>().build()?))
    }

    fn answer(&self, answer: &Answer) -> Option<Vec<Bytes>> {
        let start = json!({ "message": { "role": "assistant", "content": [], "tool_plan": "" } });
        let mut frames =
            vec![event(&json!({ "type": "message-start", "id": "r-1", "delta": start }))];
        let is_open = !matches!(answer.end, AnswerEnd::Finish(_));
        for (index, part) in answer.parts.iter().enumerate() {
            match part {
                AnswerPart::Text(deltas) => frames.extend(content(index, "text", deltas)),
                AnswerPart::Thinking { deltas, signature: None, .. } => {
                    frames.extend(content(index, "thinking", deltas));
                }
                AnswerPart::Calls(list) => {
                    frames.extend(calls(list));
                    continue;
                }
                _ => return None,
            }
            if !is_open {
                frames.push(event(&json!({ "type": "content-end", "index": index })));
            }
        }
        let mut end = match &answer.end {
            AnswerEnd::Cut => return Some(frames),
            AnswerEnd::Error { message, .. } => {
                json!({ "finish_reason": "ERROR", "error": message })
            }
            AnswerEnd::Finish(FinishReason::Stop) => json!({ "finish_reason": "COMPLETE" }),
            AnswerEnd::Finish(FinishReason::Length) => json!({ "finish_reason": "MAX_TOKENS" }),
            AnswerEnd::Finish(FinishReason::ToolCalls) => json!({ "finish_reason": "TOOL_CALL" }),
            _ => return None,
        };
        if let Some(usage) = answer.usage {
            if !usage.is_plain() {
                return None;
            }
            let counts = json!({ "input_tokens": usage.input, "output_tokens": usage.output });
            end["usage"] = json!({ "billed_units": counts, "tokens": counts });
        }
        frames.push(event(&json!({ "type": "message-end", "id": "r-1", "delta": end })));
        Some(frames)
    }

    fn unknown(&self) -> Option<Bytes> {
        Some(event(&json!({ "type": "birch-grown", "rings": [1, { "x": null }] })))
    }

    fn comment(&self) -> Option<Bytes> {
        Some(Bytes::from_static(b": still at work\n\n"))
    }

    fn error_body(&self, _kind: ErrorCode, message: &str) -> Bytes {
        Bytes::from(json!({ "id": "r-1", "message": message }).to_string())
    }

    fn models_body(&self, model: &str) -> Bytes {
        Bytes::from(json!({ "models": [{ "name": model, "endpoints": ["chat"] }] }).to_string())
    }
}

// Covers: T-05
#[test]
fn cohere_conforms() {
    conforms(&Cohere, &["refusal", "signature-returns"]);
}
