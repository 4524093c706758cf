//! Requests of clients, as they come.

use serde_json::{Value, json};

use super::read_request;
use crate::{
    PromptCache, ResponseFormat, Thinking, ToolChoice,
    gateway::{ClientRequest, RequestProblem},
};
use forgeline_types::{ItemKind, MessageRole, Part};

fn read(body: &Value) -> Result<ClientRequest, String> {
    read_request(body.to_string().as_bytes()).map_err(|error| error.to_string())
}

fn with(member: &str, value: Value) -> Value {
    let mut body =
        json!({ "model": "m", "max_tokens": 9, "messages": [{ "role": "user", "content": "Hi" }] });
    body[member] = value;
    body
}

/// A request with what clients send.
fn conversation() -> Value {
    json!({
        "model": "m", "max_tokens": 9, "stream": true, "temperature": 0.7, "top_k": 5, "stop_sequences": ["END"],
        "metadata": { "user_id": "u" }, "service_tier": "auto", "container": null,
        "thinking": { "type": "enabled", "budget_tokens": 2000, "display": "omitted" },
        "output_config": { "effort": "low", "format": { "type": "json_schema", "schema": { "type": "object" } } },
        "tools": [{ "name": "look", "description": "Looks.", "input_schema": { "type": "object" }, "strict": true, "cache_control": { "type": "ephemeral", "ttl": "1h" } }],
        "tool_choice": { "type": "tool", "name": "look", "disable_parallel_tool_use": true },
        "system": [{ "type": "text", "text": "Be brief." }, { "type": "text", "text": "Be kind." }],
        "messages": [
            { "role": "user", "content": [
                { "type": "text", "text": "What is it?" },
                { "type": "image", "source": { "type": "base64", "media_type": "image/webp", "data": "AAAA" } },
                { "type": "image", "source": { "type": "url", "url": "https://x/y.png" } },
                { "type": "document", "source": { "type": "text", "media_type": "text/plain", "data": "é" }, "title": "a.txt", "context": "c" },
            ] },
            { "role": "assistant", "content": [
                { "type": "thinking", "thinking": "I look.", "signature": "proof" },
                { "type": "redacted_thinking", "data": "x" },
                { "type": "text", "text": "So.", "citations": null },
                { "type": "server_tool_use", "id": "s1", "name": "web_search", "input": { "n": 1.50 } },
                { "type": "tool_use", "id": "c1", "name": "look", "input": { "at": 1.5 }, "caller": { "type": "code", "tool_id": "s1" } },
                { "type": "tool_use", "id": "call_x20_2", "name": "look", "input": {} },
            ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "call_x20_2", "is_error": true },
                { "type": "tool_result", "tool_use_id": "c1", "content": [
                    { "type": "text", "text": "one" },
                    { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "AAAA" } },
                    { "type": "text", "text": "two" },
                ] },
                { "type": "text", "text": "And then?" },
            ] },
            { "role": "assistant", "content": "It is one." },
        ],
    })
}

#[test]
fn a_messages_conversation_with_calls_and_pictures_is_read() {
    use MessageRole::{Assistant, System, Tool, User};
    let received = read(&conversation()).unwrap();
    assert!(received.stream && received.include_usage);
    let left_out =
        ["messages[0].content[3].context", "tools[0].cache_control.ttl", "thinking.display"];
    assert_eq!(received.left_out, left_out);
    let request = received.request;
    assert_eq!(Value::from(request.extra), json!({ "service_tier": "auto" }));
    assert_eq!(request.system.as_deref(), Some("Be brief."));
    assert_eq!(
        (request.max_tokens, request.temperature, request.top_k),
        (Some(9), Some(0.7), Some(5))
    );
    assert_eq!((request.stop, request.parallel_tool_calls), (vec!["END".to_owned()], Some(false)));
    assert_eq!(request.metadata["user_id"], "u");
    assert_eq!(request.reasoning_effort.as_deref(), Some("low"));
    assert_eq!(
        (request.thinking, request.cache),
        (Some(Thinking::Budget(2000)), Some(PromptCache::Marks))
    );
    assert_eq!((request.tools.len(), request.tools[0].strict), (1, true));
    assert_eq!(request.tool_choice, Some(ToolChoice::Tool("look".into())));
    assert!(matches!(request.response_format, Some(ResponseFormat::JsonSchema { .. })));
    let messages = request.messages.messages();
    let roles: Vec<_> = messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [System, User, Assistant, Tool, Assistant]);
    let [
        _,
        Part::Image { media_type, data, .. },
        Part::Image { data: url, .. },
        Part::Document { data: text, name, .. },
    ] = messages[1].parts.as_slice()
    else {
        panic!("{:?}", messages[1])
    };
    assert_eq!((&**media_type, &**data, &**url), ("image/webp", "AAAA", "https://x/y.png"));
    assert_eq!((&**text, name.as_deref()), ("w6k=", Some("a.txt")));
    let [
        Part::Thinking { text, signature, .. },
        Part::ProviderItem(redacted),
        _,
        Part::ProviderItem(search),
        ..,
    ] = messages[2].parts.as_slice()
    else {
        panic!("{:?}", messages[2])
    };
    let proof = signature.as_ref().and_then(|signature| signature.for_protocol("anthropic"));
    assert_eq!((&**text, proof.map(|proof| &**proof)), ("I look.", Some("proof")));
    assert_eq!(redacted.kind, ItemKind::Reasoning);
    assert!(matches!(search.kind, ItemKind::ServerToolCall { .. }));
    let calls: Vec<_> =
        messages[2].tool_calls().map(|it| (&*it.id, &*it.arguments_raw, it.index)).collect();
    assert_eq!(calls, [("c1", "{\"at\":1.5}", 0), ("call 2", "{}", 1)]);
    assert!(messages[2].tool_calls().next().unwrap().signature.is_some(), "the caller goes back");
    let results: Vec<_> = messages[3].tool_results().collect();
    assert_eq!(
        (&*results[0].call_id, results[0].is_error, &*results[0].content),
        ("call 2", true, "")
    );
    assert_eq!(
        (&*results[1].name, &*results[1].content, results[1].parts.len()),
        ("look", "one", 2)
    );
    assert_eq!(messages[3].text(), "And then?");
}

#[test]
fn numbers_of_calls_and_items_keep_their_spelling() {
    let body = br#"{"model":"m","messages":[{"role":"assistant","content":[
        {"type":"tool_use","id":"c","name":"f","input":{"x":1.50,"y":12345678901234567890123}},
        {"type":"web_search_tool_result","tool_use_id":"s","content":[{"n":1.50}]}]}]}"#;
    let request = read_request(body).unwrap().request;
    let parts = &request.messages.messages()[0].parts;
    let call = parts[0].as_tool_call().unwrap();
    assert_eq!(call.arguments_raw, r#"{"x":1.50,"y":12345678901234567890123}"#);
    assert!(parts[1].as_provider_item().unwrap().raw.as_str().contains("1.50"));
}

#[test]
fn a_wrong_messages_request_names_the_place() {
    let message = |message: Value| with("messages", json!([message]));
    let block = |block: Value| message(json!({ "role": "user", "content": [block] }));
    let said = |block: Value| message(json!({ "role": "assistant", "content": [block] }));
    #[rustfmt::skip]
    let rows = [
        (json!([]),                              "the body: expected an object, found a list"),
        (json!({ "messages": [] }),              "model: is missing"),
        (json!({ "model": "m" }),                "messages: expected a list, found null"),
        (with("messages", json!([7])),           "messages[0]: expected an object, found a number"),
        (message(json!({ "content": "x" })),     "messages[0].role: is missing"),
        (message(json!({ "role": "system" })),   "messages[0].role: expected `user` or `assistant`, found \"system\""),
        (message(json!({ "role": "user", "content": 7 })), "messages[0].content: expected a text or a list of blocks, found a number"),
        (block(json!("x")),                      "messages[0].content[0]: expected an object, found a text"),
        (block(json!({ "type": "audio" })),      "messages[0].content[0].type: expected `text`, `image`, `document` or `tool_result`, found \"audio\""),
        (block(json!({ "type": "text" })),       "messages[0].content[0].text: is missing"),
        (block(json!({ "type": "image", "source": { "type": "file", "file_id": "f" } })), "messages[0].content[0].source.type: expected `base64` or `url`, found \"file\""),
        (block(json!({ "type": "tool_result", "tool_use_id": "c" })), "messages[0].content[0].tool_use_id: no call before it has the id \"c\""),
        (said(json!({ "type": "tool_use", "id": "c", "name": "f" })), "messages[0].content[0].input: expected an object, found null"),
        (said(json!({ "type": "tool_use", "id": "c", "input": {} })), "messages[0].content[0].name: is missing"),
        (with("system", json!([{ "type": "image" }])), "system[0].type: expected `text`, found \"image\""),
        (with("tools", json!([{ "type": "bash_20250124", "name": "bash" }])), "tools[0].type: expected `custom`, found \"bash_20250124\""),
        (with("tools", json!([{}])),             "tools[0].name: is missing"),
        (with("tool_choice", json!({ "type": "all" })), "tool_choice.type: expected `auto`, `any`, `tool` or `none`, found \"all\""),
        (with("thinking", json!({ "type": "enabled" })), "thinking.budget_tokens: is missing"),
        (with("thinking", json!({ "type": "deep" })), "thinking.type: expected `enabled`, `adaptive` or `disabled`, found \"deep\""),
        (with("output_config", json!({ "format": { "type": "xml" } })), "output_config.format.type: expected `json_schema`, found \"xml\""),
        (with("max_tokens", json!(-1)),          "max_tokens: expected a whole number that is not negative, found -1"),
        (with("stop_sequences", json!([1])),     "stop_sequences[0]: expected a text, found a number"),
        (with("metadata", json!([])),            "metadata: expected an object, found a list"),
    ];
    for (body, want) in rows {
        assert_eq!(read(&body).err().as_deref(), Some(want), "{body}");
    }
    let twice = read_request(br#"{"model":"m","messages":[],"messages":[]}"#).unwrap_err();
    assert_eq!(twice.place, "messages");
}

#[test]
fn a_long_text_is_not_said_again_whole() {
    let body = with("thinking", json!({ "type": "é".repeat(1 << 20) }));
    let error = read(&body).unwrap_err();
    assert!(error.len() < 2000 && error.ends_with('…'), "{}", error.len());
    let problem = RequestProblem::new("x", "y");
    assert_eq!((problem.place.as_str(), problem.problem.as_str()), ("x", "y"));
}

#[test]
fn mutated_messages_requests_are_read_or_named() {
    crate::gateway::mutated(&conversation(), |body| read_request(body).map(drop));
}
