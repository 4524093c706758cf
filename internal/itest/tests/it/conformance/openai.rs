//! Chat Completions.

use std::sync::Arc;

use bytes::Bytes;
use forgeline::{
    llm::{ProviderError, openai::ChatCompletions},
    types::FinishReason,
};
use forgeline_testkit::conformance::{
    Answer, AnswerCall, AnswerEnd, AnswerPart, AnswerUsage, Candidate, Setup, Subject, sse_frame,
};
use serde_json::{Value, json};

use super::conforms;

pub(super) struct OpenAi;

fn chunk(delta: &Value, finish: &Value) -> Bytes {
    let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
    sse_frame(
        None,
        &json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "m", "choices": [choice],
        }),
    )
}

fn delta(delta: &Value) -> Bytes {
    chunk(delta, &Value::Null)
}

/// The calls' deltas in turns, the name before the arguments.
fn calls(calls: &[AnswerCall]) -> Vec<Bytes> {
    let of_call = |fields: Value| delta(&json!({ "tool_calls": [fields] }));
    let mut frames = Vec::new();
    for (index, call) in calls.iter().enumerate() {
        let function = json!({ "name": call.name, "arguments": "" });
        frames.push(of_call(
            json!({ "index": index, "id": call.id, "type": "function", "function": function }),
        ));
    }
    let longest = calls.iter().map(|call| call.arguments.len()).max().unwrap_or_default();
    for at in 0..longest {
        for (index, call) in calls.iter().enumerate() {
            let piece = call.arguments.get(at);
            let piece =
                piece.map(|piece| json!({ "index": index, "function": { "arguments": piece } }));
            frames.extend(piece.map(of_call));
        }
    }
    frames
}

fn usage(usage: AnswerUsage) -> Option<Bytes> {
    let mut told = json!({
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
    });
    if let Some(read) = usage.cache_read {
        told["prompt_tokens_details"] = json!({ "cached_tokens": read });
    }
    if let Some(reasoning) = usage.reasoning {
        told["completion_tokens_details"] = json!({ "reasoning_tokens": reasoning });
    }
    // The protocol tells nothing of writes.
    usage
        .cache_write
        .is_none()
        .then(|| sse_frame(None, &json!({ "id": "chatcmpl-1", "choices": [], "usage": told })))
}

impl Subject for OpenAi {
    fn provider(&self, setup: &Setup) -> Result<Arc<dyn Candidate>, ProviderError> {
        Ok(Arc::new(setup.http::<ChatCompletions>().build()?))
    }

    fn answer(&self, answer: &Answer) -> Option<Vec<Bytes>> {
        let mut frames = vec![delta(&json!({ "role": "assistant", "content": "" }))];
        for part in &answer.parts {
            let field = |name: &str, deltas: &[String]| -> Vec<Bytes> {
                deltas.iter().map(|text| delta(&json!({ name: text }))).collect()
            };
            frames.extend(match part {
                AnswerPart::Text(deltas) => field("content", deltas),
                AnswerPart::Thinking { deltas, signature: None, .. } => {
                    field("reasoning_content", deltas)
                }
                AnswerPart::Refusal(deltas) => field("refusal", deltas),
                AnswerPart::Calls(list) => calls(list),
                _ => return None,
            });
        }
        match &answer.end {
            AnswerEnd::Cut => return Some(frames),
            AnswerEnd::Error { code, message, .. } => {
                let error = json!({ "message": message, "type": code, "code": code });
                frames.push(sse_frame(None, &json!({ "error": error })));
                return Some(frames);
            }
            AnswerEnd::Finish(reason) => {
                let word = match reason {
                    FinishReason::Stop => "stop",
                    FinishReason::Length => "length",
                    FinishReason::ToolCalls => "tool_calls",
                    FinishReason::ContentFilter => "content_filter",
                    _ => return None,
                };
                frames.push(chunk(&json!({}), &json!(word)));
            }
            _ => return None,
        }
        if let Some(told) = answer.usage {
            frames.push(usage(told)?);
        }
        frames.push(Bytes::from_static(b"data: [DONE]\n\n"));
        Some(frames)
    }

    fn unknown(&self) -> Option<Bytes> {
        let unknown =
            json!({ "object": "birch.grown", "choices": [], "rings": [1, { "x": null }] });
        Some(sse_frame(Some("birch"), &unknown))
    }

    fn comment(&self) -> Option<Bytes> {
        Some(Bytes::from_static(b": still at work\n\n"))
    }
}

// Covers: T-05
#[test]
fn openai_chat_conforms() {
    conforms(&OpenAi, &["signature-returns"]);
}
