//! Found tools with providers that put all tools at the beginning: from the agent to the wire and back.

use std::sync::Arc;

use bytes::Bytes;

use super::{answering_server::Server, tool_search::many, *};
use crate::tools::{CALL_FOUND_TOOL, TOOL_SEARCH};
use forgeline_llm::{
    Provider, RetryPolicy,
    cohere::ChatV2,
    gemini::GenerateContent,
    http::{HttpProvider, WireFormat},
    ollama::OllamaChat,
    openai::ChatCompletions,
};

fn events(events: impl IntoIterator<Item = Value>) -> Bytes {
    let events = events.into_iter().map(|event| format!("data: {event}\n\n"));
    Bytes::from(events.collect::<String>())
}

/// The answers of a protocol: a call with these arguments, and words.
struct Protocol {
    call: fn(&str, &str, &Value) -> Bytes,
    text: fn(&str) -> Bytes,
    provider: fn(Server) -> Arc<dyn Provider>,
    /// The member of the body with the conversation, and the end of the body after it.
    messages: &'static str,
}

fn provider<W: WireFormat>(server: Server) -> Arc<dyn Provider> {
    let builder = HttpProvider::<W>::builder().base_url("http://h").model("m").api_key("k");
    Arc::new(builder.retry(RetryPolicy::NONE).transport(server).build().unwrap())
}

fn chat_end(reason: &str) -> Value {
    json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] })
}

fn chat_delta(delta: &Value) -> Value {
    json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
}

const CHAT: Protocol = Protocol {
    call: |id, name, arguments| {
        let text = arguments.to_string();
        let (head, tail) = text.split_at(text.len() / 2);
        let first = json!({ "tool_calls": [{
            "index": 0, "id": id, "type": "function",
            "function": { "name": name, "arguments": head },
        }] });
        let more = json!({ "tool_calls": [{ "index": 0, "function": { "arguments": tail } }] });
        events([chat_delta(&first), chat_delta(&more), chat_end("tool_calls")])
    },
    text: |text| events([chat_delta(&json!({ "content": text })), chat_end("stop")]),
    provider: provider::<ChatCompletions>,
    messages: "messages",
};

fn gemini(part: &Value) -> Bytes {
    let content = json!({ "role": "model", "parts": [part] });
    events([json!({ "candidates": [{ "content": content, "finishReason": "STOP" }] })])
}

const GEMINI: Protocol = Protocol {
    call: |_, name, arguments| {
        gemini(&json!({ "functionCall": { "name": name, "args": arguments } }))
    },
    text: |text| gemini(&json!({ "text": text })),
    provider: provider::<GenerateContent>,
    messages: "contents",
};

fn ollama(message: &Value) -> Bytes {
    let lines = [
        json!({ "model": "m", "message": message, "done": false }),
        json!({ "model": "m", "message": { "role": "assistant", "content": "" }, "done": true, "done_reason": "stop" }),
    ];
    Bytes::from(lines.map(|line| format!("{line}\n")).concat())
}

const OLLAMA: Protocol = Protocol {
    call: |_, name, arguments| {
        let call = json!({ "function": { "name": name, "arguments": arguments } });
        ollama(&json!({ "role": "assistant", "content": "", "tool_calls": [call] }))
    },
    text: |text| ollama(&json!({ "role": "assistant", "content": text })),
    provider: provider::<OllamaChat>,
    messages: "messages",
};

fn cohere(steps: impl IntoIterator<Item = (&'static str, Value)>, reason: &str) -> Bytes {
    let start = json!({ "type": "message-start", "id": "m", "delta": { "message": { "role": "assistant" } } });
    let steps = steps.into_iter().map(
        |(kind, message)| json!({ "type": kind, "index": 0, "delta": { "message": message } }),
    );
    let end = json!({ "type": "message-end", "delta": { "finish_reason": reason } });
    events([start].into_iter().chain(steps).chain([end]))
}

const COHERE: Protocol = Protocol {
    call: |id, name, arguments| {
        let text = arguments.to_string();
        let (head, tail) = text.split_at(text.len() / 2);
        let calls = |call: Value| json!({ "tool_calls": call });
        let function = json!({ "name": name, "arguments": head });
        let start = calls(json!({ "id": id, "type": "function", "function": function }));
        let more = calls(json!({ "function": { "arguments": tail } }));
        let steps =
            [("tool-call-start", start), ("tool-call-delta", more), ("tool-call-end", json!({}))];
        cohere(steps, "TOOL_CALL")
    },
    text: |text| cohere([("content-delta", json!({ "content": { "text": text } }))], "COMPLETE"),
    provider: provider::<ChatV2>,
    messages: "messages",
};

/// Returns the tools of a body, as they were written.
fn tools(body: &str) -> String {
    serde_json::from_str::<Value>(body).unwrap()["tools"].to_string()
}

#[tokio::test(start_paused = true)]
async fn the_tools_and_all_that_was_sent_keep_their_bytes_around_a_search() {
    for (name, protocol) in
        [("chat", CHAT), ("gemini", GEMINI), ("ollama", OLLAMA), ("cohere", COHERE)]
    {
        let title = json!({ "title": "Rehearsal" });
        let through = json!({ "name": "calendar.n7_create", "arguments": title });
        let server = Server::new([
            (protocol.call)("a", TOOL_SEARCH, &json!({ "query": "calendar.n7_create" })),
            (protocol.call)("b", CALL_FOUND_TOOL, &through),
            (protocol.call)("c", TOOL_SEARCH, &json!({ "query": "mail.n2_list" })),
            (protocol.text)("Done."),
            (protocol.text)("Again."),
        ]);
        let provider = (protocol.provider)(server.clone());
        let agent = Agent::builder(provider).system("You help.").tools(many(0..1_000));
        let agent = agent.build().unwrap().conversation();
        let outcome = agent.run("Plan the rehearsal.").await.unwrap();
        assert_eq!(outcome.text, "Done.", "{name}");
        agent.run("And now?").await.unwrap();
        let sent = server.sent();
        assert_eq!(sent.len(), 5, "{name}");
        for pair in sent.windows(2) {
            assert_eq!(tools(&pair[0]), tools(&pair[1]), "{name}");
            // The whole text up to the end of the conversation.
            let (before, behind) = pair[0].rsplit_once(']').unwrap();
            let body: Value = serde_json::from_str(&pair[0]).unwrap();
            assert!(body[protocol.messages].is_array(), "{name}");
            assert!(behind.len() < 2, "the conversation is last: {name}: {}", pair[0]);
            assert!(pair[1].starts_with(before), "{name}:\n{}\n{}", pair[0], pair[1]);
        }
        // The server reads its own call again, and the tool's result under that name.
        let last = &sent[2];
        assert!(last.contains(CALL_FOUND_TOOL) && last.contains("calendar.n7_create did it"));
        let transcript = agent.transcript();
        let call = transcript.messages()[3].tool_calls().next().unwrap();
        assert_eq!((call.name.as_str(), call.indirect), ("calendar.n7_create", true), "{name}");
        assert_eq!(call.arguments.as_ref().unwrap().to_value(), title, "{name}");
    }
}
