//! OpenAI Responses.

use std::sync::Arc;

use bytes::Bytes;
use forgeline::{
    llm::{ProviderError, responses::Responses},
    types::FinishReason,
};
use forgeline_testkit::conformance::{
    Answer, AnswerCall, AnswerEnd, AnswerPart, AnswerUsage, Candidate, Setup, Subject, sse_frame,
};
use serde_json::{Value, json};

use super::conforms;

struct OpenAiResponses;

/// The events so far, and the items of the answer.
#[derive(Default)]
struct Events {
    frames: Vec<Bytes>,
    items: Vec<Value>,
}

impl Events {
    fn push(&mut self, name: &str, mut data: Value) {
        data["type"] = json!(name);
        data["sequence_number"] = json!(self.frames.len());
        self.frames.push(sse_frame(Some(name), &data));
    }

    /// Deltas of a content part of a message.
    fn message(&mut self, deltas: &[String], is_refusal: bool, is_open: bool) {
        let index = self.items.len();
        let id = format!("msg_{index}");
        let (kind, key, event) = if is_refusal {
            ("refusal", "refusal", "response.refusal")
        } else {
            ("output_text", "text", "response.output_text")
        };
        let at = json!({ "item_id": id, "output_index": index, "content_index": 0 });
        let with = |key: &str, value: Value| {
            let mut data = at.clone();
            data[key] = value;
            data
        };
        let part = |text: &str| json!({ "type": kind, key: text, "annotations": [] });
        let item = |status: &str, content: Value| json!({ "id": id, "type": "message", "role": "assistant", "status": status, "content": content });
        let added = json!({ "output_index": index, "item": item("in_progress", json!([])) });
        self.push("response.output_item.added", added);
        self.push("response.content_part.added", with("part", part("")));
        for text in deltas {
            self.push(&format!("{event}.delta"), with("delta", json!(text)));
        }
        let text = deltas.concat();
        let done = item("completed", json!([part(&text)]));
        self.items.push(done.clone());
        if is_open {
            return;
        }
        self.push(&format!("{event}.done"), with(key, json!(text)));
        self.push("response.content_part.done", with("part", part(&text)));
        self.push("response.output_item.done", json!({ "output_index": index, "item": done }));
    }

    fn thinking(&mut self, deltas: &[String], signature: Option<&str>, is_open: bool) {
        let index = self.items.len();
        let id = format!("rs_{index}");
        let item = |summary: Value, proof: Option<&str>| json!({ "id": id, "type": "reasoning", "summary": summary, "encrypted_content": proof });
        let at = |key: &str, value: Value| {
            let mut data = json!({ "item_id": id, "output_index": index, "summary_index": 0 });
            data[key] = value;
            data
        };
        let part = |text: &str| json!({ "type": "summary_text", "text": text });
        let added = json!({ "output_index": index, "item": item(json!([]), None) });
        self.push("response.output_item.added", added);
        self.push("response.reasoning_summary_part.added", at("part", part("")));
        for text in deltas {
            self.push("response.reasoning_summary_text.delta", at("delta", json!(text)));
        }
        let text = deltas.concat();
        let done = item(json!([part(&text)]), signature);
        self.items.push(done.clone());
        if is_open {
            return;
        }
        self.push("response.reasoning_summary_text.done", at("text", json!(text)));
        self.push("response.reasoning_summary_part.done", at("part", part(&text)));
        self.push("response.output_item.done", json!({ "output_index": index, "item": done }));
    }

    /// The items beside each other, their deltas in turns.
    fn calls(&mut self, calls: &[AnswerCall]) {
        let first = self.items.len();
        let item = |index: usize, call: &AnswerCall, status: &str, arguments: &str| {
            json!({
                "id": format!("fc_{index}"), "type": "function_call", "call_id": call.id,
                "name": call.name, "arguments": arguments, "status": status,
            })
        };
        let numbered: Vec<_> = (first..).zip(calls).collect();
        for (index, call) in &numbered {
            let added = item(*index, call, "in_progress", "");
            self.push(
                "response.output_item.added",
                json!({ "output_index": index, "item": added }),
            );
        }
        let longest = calls.iter().map(|call| call.arguments.len()).max().unwrap_or_default();
        for at in 0..longest {
            for (index, call) in &numbered {
                if let Some(piece) = call.arguments.get(at) {
                    let id = format!("fc_{index}");
                    let data = json!({ "item_id": id, "output_index": index, "delta": piece });
                    self.push("response.function_call_arguments.delta", data);
                }
            }
        }
        for (index, call) in &numbered {
            let arguments = call.arguments();
            let id = format!("fc_{index}");
            let data = json!({ "item_id": id, "output_index": index, "arguments": arguments });
            self.push("response.function_call_arguments.done", data);
            let done = item(*index, call, "completed", &arguments);
            self.items.push(done.clone());
            self.push("response.output_item.done", json!({ "output_index": index, "item": done }));
        }
    }

    fn end(&mut self, answer: &Answer) -> Option<()> {
        let mut response = json!({
            "id": "resp_1", "object": "response", "model": "m", "status": "completed",
            "output": self.items, "usage": null, "error": null, "incomplete_details": null,
        });
        match &answer.end {
            AnswerEnd::Cut => {}
            AnswerEnd::Error { code, message, .. } => {
                response["status"] = json!("failed");
                response["error"] = json!({ "code": code, "message": message });
                self.push("response.failed", json!({ "response": response }));
            }
            AnswerEnd::Finish(reason) => {
                if let Some(told) = answer.usage {
                    response["usage"] = usage(told)?;
                }
                let cause = match reason {
                    FinishReason::Stop => None,
                    FinishReason::Length => Some("max_output_tokens"),
                    FinishReason::ContentFilter => Some("content_filter"),
                    _ => return None,
                };
                if let Some(cause) = cause {
                    response["status"] = json!("incomplete");
                    response["incomplete_details"] = json!({ "reason": cause });
                    self.push("response.incomplete", json!({ "response": response }));
                } else {
                    self.push("response.completed", json!({ "response": response }));
                }
            }
            _ => return None,
        }
        Some(())
    }
}

fn usage(usage: AnswerUsage) -> Option<Value> {
    let told = json!({
        "input_tokens": usage.input,
        "input_tokens_details": { "cached_tokens": usage.cache_read.unwrap_or(0) },
        "output_tokens": usage.output,
        "output_tokens_details": { "reasoning_tokens": usage.reasoning.unwrap_or(0) },
        "total_tokens": usage.input + usage.output,
    });
    usage.cache_write.is_none().then_some(told)
}

impl Subject for OpenAiResponses {
    fn provider(&self, setup: &Setup) -> Result<Arc<dyn Candidate>, ProviderError> {
        Ok(Arc::new(setup.http::<Responses>().build()?))
    }

    fn answer(&self, answer: &Answer) -> Option<Vec<Bytes>> {
        let mut events = Events::default();
        let begun = json!({ "id": "resp_1", "object": "response", "model": "m",
            "status": "in_progress", "output": [] });
        events.push("response.created", json!({ "response": begun }));
        events.push("response.in_progress", json!({ "response": begun }));
        let is_open = !matches!(answer.end, AnswerEnd::Finish(_));
        for part in &answer.parts {
            match part {
                AnswerPart::Text(deltas) => events.message(deltas, false, is_open),
                AnswerPart::Refusal(deltas) => events.message(deltas, true, is_open),
                AnswerPart::Thinking { deltas, signature, .. } => {
                    events.thinking(deltas, signature.as_deref(), is_open);
                }
                AnswerPart::Calls(calls) => events.calls(calls),
                _ => return None,
            }
        }
        events.end(answer)?;
        Some(events.frames)
    }

    fn unknown(&self) -> Option<Bytes> {
        let unknown = json!({ "type": "response.birch.grown", "rings": [1, { "x": null }] });
        Some(sse_frame(Some("response.birch.grown"), &unknown))
    }

    fn comment(&self) -> Option<Bytes> {
        Some(Bytes::from_static(b": still at work\n\n"))
    }
}

// Covers: T-05
#[test]
fn openai_responses_conforms() {
    conforms(&OpenAiResponses, &[]);
}
