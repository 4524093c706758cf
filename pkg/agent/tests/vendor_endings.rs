//! The ends of each vendor's answers, from the bytes of its server to the outcome.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};

use super::{answering_server::Server, *};
use forgeline_llm::{
    Provider, RetryPolicy,
    anthropic::Messages,
    cohere::ChatV2,
    gemini::GenerateContent,
    http::{HttpProvider, WireFormat},
    ollama::OllamaChat,
    openai::ChatCompletions,
    responses::Responses as ResponsesApi,
};
use forgeline_types::Ending;

fn provider<W: WireFormat>(server: Server) -> Arc<dyn Provider> {
    let builder = HttpProvider::<W>::builder().base_url("http://h").model("m").api_key("k");
    Arc::new(builder.retry(RetryPolicy::NONE).transport(server).build().unwrap())
}

fn sse(events: &[Value]) -> Bytes {
    let frames: Vec<_> = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    frames.concat().into()
}

/// An answer of Chat Completions.
fn chat(delta: &Value, finish: &str) -> Bytes {
    let choice = |delta: &Value, finish: Value| json!({ "id": "r", "model": "m", "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] });
    sse(&[choice(delta, Value::Null), choice(&json!({}), json!(finish))])
}

fn chat_call() -> Value {
    json!({ "tool_calls": [{ "index": 0, "id": "c", "type": "function", "function": { "name": "echo", "arguments": "{\"text\":\"x\"}" } }] })
}

fn gemini(part: &Value, finish: &str, said: Option<&str>) -> Bytes {
    let candidate = json!({ "index": 0, "content": { "role": "model", "parts": [part] }, "finishReason": finish, "finishMessage": said });
    sse(&[json!({ "candidates": [candidate], "modelVersion": "m", "responseId": "r" })])
}

fn anthropic(block: Option<(&Value, &Value)>, stop: &str, details: &Value) -> Bytes {
    let mut events = vec![
        json!({ "type": "message_start", "message": { "id": "r", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": { "input_tokens": 1, "output_tokens": 1 } } }),
    ];
    if let Some((block, delta)) = block {
        events.push(json!({ "type": "content_block_start", "index": 0, "content_block": block }));
        events.push(json!({ "type": "content_block_delta", "index": 0, "delta": delta }));
        events.push(json!({ "type": "content_block_stop", "index": 0 }));
    }
    events.push(json!({ "type": "message_delta", "delta": { "stop_reason": stop, "stop_details": details }, "usage": { "output_tokens": 2 } }));
    events.push(json!({ "type": "message_stop" }));
    sse(&events)
}

fn responses(output: &Value, status: &str, details: &Value) -> Bytes {
    let response = json!({ "id": "r", "model": "m", "status": status, "output": output, "incomplete_details": details });
    sse(&[json!({ "type": format!("response.{status}"), "response": response })])
}

fn cohere(finish: &str) -> Bytes {
    sse(&[
        json!({ "type": "message-start", "id": "r", "delta": { "message": { "role": "assistant", "content": [] } } }),
        json!({ "type": "message-end", "delta": { "finish_reason": finish } }),
    ])
}

fn ollama(message: &Value, done: &str) -> Bytes {
    format!("{}\n", json!({ "model": "m", "message": message, "done": true, "done_reason": done }))
        .into()
}

type Connect = fn(Server) -> Arc<dyn Provider>;

// Rows: N-01, N-02, N-03, N-09
#[tokio::test(start_paused = true)]
async fn each_vendors_answer_ends_as_what_it_is_and_no_withheld_call_runs() {
    use Ending::{Empty, Filtered, Malformed, Refused};
    let (none, args) = (Value::Null, json!({ "text": "x" }));
    let text =
        (json!({ "type": "text", "text": "" }), json!({ "type": "text_delta", "text": "I can" }));
    let tool = (
        json!({ "type": "tool_use", "id": "c", "name": "echo", "input": {} }),
        json!({ "type": "input_json_delta", "partial_json": "{\"text\":\"x\"}" }),
    );
    let why = json!({ "type": "refusal", "category": "cyber", "explanation": "It could harm." });
    let filter = json!({ "reason": "content_filter" });
    let item_call = json!([{ "type": "function_call", "id": "f", "call_id": "c", "name": "echo", "arguments": "{\"text\":\"x\"}" }]);
    let refusal = json!([{ "type": "message", "id": "i", "role": "assistant", "content": [{ "type": "refusal", "refusal": "I must not." }] }]);
    let thought =
        json!([{ "type": "reasoning", "id": "i", "summary": [], "encrypted_content": "x" }]);
    let call = json!({ "functionCall": { "name": "echo", "args": args } });
    let signature = json!({ "text": "", "thoughtSignature": "c2ln" });
    let (open_ai, claude): (Connect, Connect) = (provider::<ChatCompletions>, provider::<Messages>);
    let (google, open_ai_2): (Connect, Connect) =
        (provider::<GenerateContent>, provider::<ResponsesApi>);
    let (co, local): (Connect, Connect) = (provider::<ChatV2>, provider::<OllamaChat>);
    #[rustfmt::skip]
    let rows = [
        ("chat, filtered",          open_ai,   chat(&json!({ "content": "I" }), "content_filter"),       Filtered,  "content_filter"),
        ("chat, filtered call",     open_ai,   chat(&chat_call(), "content_filter"),                     Filtered,  "content_filter"),
        ("chat, a guardrail",       open_ai,   chat(&json!({ "content": "I" }), "guardrail_intervened"), Filtered,  "guardrail_intervened"),
        ("chat, sensitive",         open_ai,   chat(&json!({ "content": "" }), "sensitive"),             Filtered,  "sensitive"),
        ("chat, refusal",           open_ai,   chat(&json!({ "refusal": "I must not." }), "stop"),       Refused,   "I must not."),
        ("chat, no call",           open_ai,   chat(&json!({ "content": "One moment." }), "tool_calls"), Malformed, "tool_calls"),
        ("chat, malformed",         open_ai,   chat(&chat_call(), "malformed_tool_use"),                 Malformed, "malformed_tool_use"),
        ("chat, reasoning",         open_ai,   chat(&json!({ "reasoning_content": "Hm." }), "stop"),     Empty,     "no answer"),
        ("responses, filtered",     open_ai_2, responses(&json!([]), "incomplete", &filter),             Filtered,  ": content_filter"),
        ("responses, call",         open_ai_2, responses(&item_call, "incomplete", &filter),             Filtered,  "content filter"),
        ("responses, refusal",      open_ai_2, responses(&refusal, "completed", &none),                  Refused,   "I must not."),
        ("responses, reasoning",    open_ai_2, responses(&thought, "completed", &none),                  Empty,     "no answer"),
        ("anthropic, nothing",      claude,    anthropic(None, "refusal", &why),                         Refused,   "It could harm."),
        ("anthropic, text",         claude,    anthropic(Some((&text.0, &text.1)), "refusal", &why),     Refused,   "It could harm."),
        ("anthropic, a call",       claude,    anthropic(Some((&tool.0, &tool.1)), "refusal", &none),    Refused,   "refusal"),
        ("anthropic, no call",      claude,    anthropic(None, "tool_use", &none),                       Malformed, "tool_use"),
        ("gemini, safety",          google,    gemini(&json!({ "text": "I" }), "SAFETY", None),          Filtered,  "SAFETY"),
        ("gemini, safety, call",    google,    gemini(&call, "SAFETY", Some("Blocked.")),                Filtered,  "Blocked."),
        ("gemini, prohibited",      google,    gemini(&call, "PROHIBITED_CONTENT", None),                Filtered,  "PROHIBITED_CONTENT"),
        ("gemini, malformed",       google,    gemini(&json!({ "text": "" }), "MALFORMED_FUNCTION_CALL", Some("f(x")), Malformed, "f(x"),
        ("gemini, malformed, call", google,    gemini(&call, "MALFORMED_FUNCTION_CALL", None),           Malformed, "MALFORMED_FUNCTION_CALL"),
        ("gemini, unexpected",      google,    gemini(&call, "UNEXPECTED_TOOL_CALL", None),              Malformed, "UNEXPECTED_TOOL_CALL"),
        ("gemini, signature",       google,    gemini(&signature, "STOP", None),                         Empty,     "no answer"),
        ("cohere, toxic",           co,        cohere("ERROR_TOXIC"),                                    Filtered,  "ERROR_TOXIC"),
        ("cohere, no call",         co,        cohere("TOOL_CALL"),                                      Malformed, "TOOL_CALL"),
        ("cohere, nothing",         co,        cohere("COMPLETE"),                                       Empty,     "no answer"),
        ("ollama, nothing",         local,     ollama(&json!({ "role": "assistant", "content": "" }), "stop"), Empty, "no answer"),
        ("ollama, thinking",        local,     ollama(&json!({ "role": "assistant", "content": "", "thinking": "Hm." }), "stop"), Empty, "no answer"),
    ];
    for (name, connect, body, ending, words) in rows {
        let server = Server::new([body.clone(), body]);
        let echo = tool_fn("echo", "", |_: ToolContext, echo: Echo| async move { echo.text });
        let agent =
            Agent::builder(connect(server.clone())).tool(echo).build().unwrap().conversation();
        let mut stream = agent.run_stream("Go.");
        let mut events = Vec::new();
        to_the_end(&mut stream, &mut events).await;
        let failed = stream.outcome().await.unwrap_err();
        assert_eq!(failed.outcome.reason.ending(), ending, "{name}: {}", failed.error);
        assert!(failed.error.message.contains(words), "{name}: {}", failed.error);
        assert_eq!((count(&events, "tool_call"), count(&events, "error")), (0, 1), "{name}");
        let again = matches!(ending, Malformed | Empty);
        assert_eq!(server.sent().len(), 1 + usize::from(again), "{name}: asked again or not");
    }
}
