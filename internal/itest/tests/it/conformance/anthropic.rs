//! Anthropic Messages.

use std::sync::Arc;

use bytes::Bytes;
use forgeline::{
    llm::{ProviderError, anthropic::Messages},
    types::{ErrorCode, FinishReason},
};
use forgeline_testkit::conformance::{
    Answer, AnswerCall, AnswerEnd, AnswerPart, Candidate, Setup, Subject, sse_frame,
};
use serde_json::{Value, json};

use super::conforms;

struct Anthropic;

/// An event, whose name is in its data as well.
fn event(data: &Value) -> Bytes {
    sse_frame(data["type"].as_str(), data)
}

/// The content blocks so far.
#[derive(Default)]
struct Blocks {
    frames: Vec<Bytes>,
    next: usize,
}

impl Blocks {
    fn start(&mut self, block: &Value) -> usize {
        let index = self.next;
        self.next += 1;
        let start =
            json!({ "type": "content_block_start", "index": index, "content_block": block });
        self.frames.push(event(&start));
        index
    }

    fn delta(&mut self, index: usize, delta: &Value) {
        let delta = json!({ "type": "content_block_delta", "index": index, "delta": delta });
        self.frames.push(event(&delta));
    }

    fn stop(&mut self, index: usize) {
        self.frames.push(event(&json!({ "type": "content_block_stop", "index": index })));
    }

    fn part(&mut self, part: &AnswerPart, is_cut: bool) -> Option<()> {
        match part {
            AnswerPart::Text(deltas) => {
                let index = self.start(&json!({ "type": "text", "text": "" }));
                for text in deltas {
                    self.delta(index, &json!({ "type": "text_delta", "text": text }));
                }
                if !is_cut {
                    self.stop(index);
                }
            }
            AnswerPart::Thinking { deltas, signature, .. } => {
                let block = json!({ "type": "thinking", "thinking": "", "signature": "" });
                let index = self.start(&block);
                for text in deltas {
                    self.delta(index, &json!({ "type": "thinking_delta", "thinking": text }));
                }
                if let Some(signature) = signature {
                    let delta = json!({ "type": "signature_delta", "signature": signature });
                    self.delta(index, &delta);
                }
                if !is_cut {
                    self.stop(index);
                }
            }
            AnswerPart::Calls(calls) => self.calls(calls),
            _ => return None,
        }
        Some(())
    }

    /// The blocks beside each other, their deltas in turns.
    fn calls(&mut self, calls: &[AnswerCall]) {
        let start = |call: &AnswerCall| json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": {} });
        let indices: Vec<_> = calls.iter().map(|call| self.start(&start(call))).collect();
        let longest = calls.iter().map(|call| call.arguments.len()).max().unwrap_or_default();
        for at in 0..longest {
            for (call, index) in calls.iter().zip(&indices) {
                if let Some(piece) = call.arguments.get(at) {
                    let delta = json!({ "type": "input_json_delta", "partial_json": piece });
                    self.delta(*index, &delta);
                }
            }
        }
        for index in indices {
            self.stop(index);
        }
    }
}

impl Subject for Anthropic {
    fn provider(&self, setup: &Setup) -> Result<Arc<dyn Candidate>, ProviderError> {
        Ok(Arc::new(setup.http::<Messages>().build()?))
    }

    fn answer(&self, answer: &Answer) -> Option<Vec<Bytes>> {
        let mut start = json!({ "input_tokens": 1, "output_tokens": 1 });
        let mut end = json!({ "output_tokens": 1 });
        if let Some(usage) = answer.usage {
            if usage.reasoning.is_some() {
                return None;
            }
            let (read, write) = (usage.cache_read.unwrap_or(0), usage.cache_write.unwrap_or(0));
            start = json!({
                "input_tokens": usage.input - read - write,
                "cache_read_input_tokens": read,
                "cache_creation_input_tokens": write,
                "output_tokens": 1,
            });
            end = json!({ "output_tokens": usage.output });
        }
        let message = json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
            "stop_reason": null, "stop_sequence": null, "usage": start,
        });
        let mut blocks = Blocks::default();
        blocks.frames.push(event(&json!({ "type": "message_start", "message": message })));
        let is_cut = !matches!(answer.end, AnswerEnd::Finish(_));
        for part in &answer.parts {
            blocks.part(part, is_cut)?;
        }
        let mut frames = blocks.frames;
        match &answer.end {
            AnswerEnd::Cut => {}
            AnswerEnd::Error { code, message, .. } => {
                let error = json!({ "type": code, "message": message });
                frames.push(event(&json!({ "type": "error", "error": error })));
            }
            AnswerEnd::Finish(reason) => {
                let word = match reason {
                    FinishReason::Stop => "end_turn",
                    FinishReason::Length => "max_tokens",
                    FinishReason::ToolCalls => "tool_use",
                    FinishReason::Refusal => "refusal",
                    FinishReason::Pause => "pause_turn",
                    FinishReason::ContextExceeded => "model_context_window_exceeded",
                    _ => return None,
                };
                let delta = json!({ "stop_reason": word, "stop_sequence": null });
                let delta = json!({ "type": "message_delta", "delta": delta, "usage": end });
                frames.push(event(&delta));
                frames.push(event(&json!({ "type": "message_stop" })));
            }
            _ => return None,
        }
        Some(frames)
    }

    fn unknown(&self) -> Option<Bytes> {
        Some(event(&json!({ "type": "birch_grown", "rings": [1, { "x": null }] })))
    }

    fn comment(&self) -> Option<Bytes> {
        Some(event(&json!({ "type": "ping" })))
    }

    fn error_body(&self, kind: ErrorCode, message: &str) -> Bytes {
        let word = match kind {
            ErrorCode::QuotaExhausted => "billing_error",
            ErrorCode::RateLimited => "rate_limit_error",
            ErrorCode::Auth => "authentication_error",
            ErrorCode::InvalidRequest => "invalid_request_error",
            ErrorCode::Overloaded => "overloaded_error",
            _ => "api_error",
        };
        let error = json!({ "type": word, "message": message });
        Bytes::from(json!({ "type": "error", "error": error, "request_id": "req_1" }).to_string())
    }

    fn models_body(&self, model: &str) -> Bytes {
        let list = json!({ "data": [{ "type": "model", "id": model }], "has_more": false });
        Bytes::from(list.to_string())
    }
}

// Covers: T-05
#[test]
fn anthropic_conforms() {
    conforms(&Anthropic, &["refusal"]);
}
