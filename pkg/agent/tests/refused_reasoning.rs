//! A refused signature in the middle of calls and results: the turn goes on, as the vendor requires.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures_util::stream;
use serde_json::Value;

use super::*;
use crate::memory::ConversationMemory;
use forgeline_llm::{
    Request, RetryPolicy, Thinking,
    anthropic::Anthropic,
    transport::{HttpRequest, HttpResponse, Transport, TransportFuture},
};
use forgeline_types::{Message, MessageRole, Part, Signature, ToolCall, ToolResult, Transcript};

/// A server with the vendor's rules about reasoning, which refuses the signature `old`.
#[derive(Clone, Default)]
struct Vendor(Arc<Mutex<Vec<Value>>>);

impl Vendor {
    /// Returns what is wrong with a request.
    fn fault(body: &Value) -> Option<&'static str> {
        if body.to_string().contains(r#""signature":"old""#) {
            return Some("messages.1.content.0: Invalid `signature` in `thinking` block");
        }
        let messages = body["messages"].as_array().unwrap();
        // What the user says after a result is of the same turn.
        let is_question = |pair: &[Value]| {
            pair[1]["role"] == "user"
                && pair[1]["content"][0]["type"] != "tool_result"
                && pair[0]["content"][0]["type"] != "tool_result"
        };
        let question = messages.windows(2).rposition(is_question).map_or(0, |at| at + 1);
        let answer = messages[question..].iter().find(|message| message["role"] == "assistant");
        let is_on = body["thinking"]["type"] == "enabled";
        let begins = |answer: &Value| answer["content"][0]["type"] == "thinking";
        (is_on && answer.is_some_and(|answer| !begins(answer)))
            .then_some("messages.1.content.0.type: expected `thinking`, but found `tool_use`")
    }
}

impl Transport for Vendor {
    fn send(&self, request: HttpRequest) -> TransportFuture {
        let body: Value = serde_json::from_slice(&request.body.concat()).unwrap();
        let (status, answer) = match Self::fault(&body) {
            Some(words) => (
                400,
                json!({ "type": "error", "error": { "type": "invalid_request_error", "message": words } }),
            ),
            None => (
                200,
                json!({
                    "type": "message", "role": "assistant", "stop_reason": "end_turn",
                    "content": [{ "type": "text", "text": "It is done." }],
                }),
            ),
        };
        self.0.lock().unwrap().push(body);
        let body = stream::iter([Ok(Bytes::from(answer.to_string()))]);
        Box::pin(std::future::ready(Ok(HttpResponse::new(status, Box::pin(body)))))
    }
}

// Rows: N-23
#[tokio::test(start_paused = true)]
async fn a_refused_signature_between_call_and_result_ends_the_reasoning_of_that_turn() {
    let thought = |proof: &str| Part::thinking("I look.", Signature::new("anthropic", proof));
    let call = |id: &str| Part::ToolCall(ToolCall::new(id, "look", json!({})));
    let said = |parts: Vec<Part>| Message::new(MessageRole::Assistant, parts);
    let result = |id: &str| {
        let result = Part::ToolResult(ToolResult::new(id, "look", "A page."));
        Message::new(MessageRole::Tool, vec![result])
    };
    let text = || Part::text("Well.");
    #[rustfmt::skip]
    let rows = [
        ("nothing is refused", vec![said(vec![thought("new"), call("a")]), result("a")],  1, "enabled"),
        ("before a call",      vec![said(vec![thought("old"), call("a")]), result("a")],  2, "disabled"),
        ("with text",          vec![said(vec![thought("old"), text(), call("a")]), result("a")], 2, "disabled"),
        ("the second call",    vec![said(vec![thought("old"), call("a")]), result("a"), said(vec![call("b")]), result("b")], 2, "disabled"),
        ("of an earlier turn", vec![said(vec![thought("old"), text()]), Message::user("Again.")], 2, "enabled"),
    ];
    for (name, turn, requests, thinking) in rows {
        let vendor = Vendor::default();
        let builder = Anthropic::builder().api_key("k").model("claude-haiku-4-5");
        let provider = builder.retry(RetryPolicy::NONE).transport(vendor.clone()).build().unwrap();
        let history = [vec![Message::user("Look.")], turn].concat();
        let mut request = Request::default();
        request.thinking = Some(Thinking::On);
        let memory = ConversationMemory::from(Transcript::from(history));
        let agent = Agent::builder(provider).memory(memory).request(request);
        let agent = agent.build().unwrap().conversation();
        // The user says more in the same turn.
        let outcome = agent.run("Go on.").await;
        let outcome = outcome.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(outcome.text, "It is done.", "{name}");
        let sent = vendor.0.lock().unwrap().clone();
        assert_eq!(sent.len(), requests, "{name}");
        assert_eq!(sent.last().unwrap()["thinking"]["type"], thinking, "{name}");
        // The next turn has its reasoning again.
        agent.run("And now?").await.unwrap();
        let sent = vendor.0.lock().unwrap().clone();
        assert_eq!(
            (sent.len(), &sent.last().unwrap()["thinking"]["type"]),
            (requests + 1, &json!("enabled")),
            "{name}"
        );
    }
}
