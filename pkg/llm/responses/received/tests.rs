//! Requests of clients, as they come.

use serde_json::{Value, json};

use super::{read_request, read_stored_request};
use crate::{ResponseFormat, Thinking, ToolChoice, gateway::ClientRequest};
use forgeline_types::{ItemKind, Message, MessageRole, Part, ToolCall, Transcript};

fn read(body: &Value) -> Result<ClientRequest, String> {
    read_request(body.to_string().as_bytes()).map_err(|error| error.to_string())
}

fn with(member: &str, value: Value) -> Value {
    let mut body = json!({ "model": "m", "input": "Hi" });
    body[member] = value;
    body
}

/// A request with what clients send.
fn conversation() -> Value {
    json!({
        "model": "m", "stream": true, "store": false, "include": ["reasoning.encrypted_content"], "instructions": "Be brief.",
        "max_output_tokens": 9, "temperature": 0.7, "top_p": 0.5, "metadata": { "team": "a" }, "parallel_tool_calls": false,
        "prompt_cache_key": "k", "truncation": null, "stream_options": { "include_obfuscation": false },
        "reasoning": { "effort": "low", "summary": "auto", "context": "all" },
        "text": { "format": { "type": "json_schema", "name": "a", "schema": { "type": "object" }, "strict": true }, "verbosity": "low" },
        "tools": [{ "type": "function", "name": "look", "description": null, "parameters": { "type": "object" }, "strict": true }],
        "tool_choice": { "type": "function", "name": "look" },
        "input": [
            { "role": "developer", "content": "Be kind." },
            { "type": "message", "role": "user", "name": "Ann", "content": [
                { "type": "input_text", "text": "What is it?" },
                { "type": "input_image", "image_url": "data:image/webp;base64,AAAA", "detail": "low" },
                { "type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,BBBB" },
                { "type": "input_file", "file_url": "https://x/y.pdf" },
            ] },
            { "type": "reasoning", "id": "r1", "summary": [{ "type": "summary_text", "text": "I look." }], "encrypted_content": "e" },
            { "type": "message", "id": "m1", "status": "completed", "role": "assistant", "phase": "commentary", "content": [{ "type": "output_text", "text": "So.", "annotations": [] }] },
            { "type": "web_search_call", "id": "w1", "status": "completed", "action": { "type": "search" } },
            { "type": "function_call", "id": "f1", "call_id": "c1", "name": "look", "arguments": "{\"at\":1.50}", "status": "completed" },
            { "type": "function_call", "call_id": "c2", "name": "look", "arguments": "" },
            { "type": "function_call_output", "call_id": "c2", "output": "two" },
            { "type": "function_call_output", "call_id": "c1", "output": [{ "type": "input_text", "text": "one" }, { "type": "input_image", "image_url": "https://x/y.png" }] },
            { "role": "assistant", "content": [{ "type": "refusal", "refusal": "No." }] },
        ],
    })
}

#[test]
fn an_input_with_calls_and_pictures_is_read() {
    use MessageRole::{Assistant, System, Tool, User};
    let received = read(&conversation()).unwrap();
    assert!(received.stream && received.include_usage);
    assert_eq!(received.left_out, ["input[1].name", "reasoning.context", "text.verbosity"]);
    let request = received.request;
    assert_eq!(Value::from(request.extra), json!({ "prompt_cache_key": "k" }));
    assert_eq!(request.system.as_deref(), Some("Be brief."));
    assert_eq!(
        (request.max_tokens, request.temperature, request.top_p),
        (Some(9), Some(0.7), Some(0.5))
    );
    assert_eq!(
        (request.thinking, request.reasoning_effort.as_deref()),
        (Some(Thinking::On), Some("low"))
    );
    assert_eq!((request.parallel_tool_calls, &*request.metadata["team"]), (Some(false), "a"));
    assert_eq!((request.tools.len(), request.tools[0].strict), (1, true));
    assert_eq!(request.tool_choice, Some(ToolChoice::Tool("look".into())));
    assert!(matches!(
        request.response_format,
        Some(ResponseFormat::JsonSchema { strict: true, .. })
    ));
    let messages = request.messages.messages();
    let roles: Vec<_> = messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [System, User, Assistant, Tool, Assistant]);
    let [
        _,
        Part::Image { media_type, data, .. },
        Part::Document { name, .. },
        Part::Document { data: url, .. },
    ] = messages[1].parts.as_slice()
    else {
        panic!("{:?}", messages[1])
    };
    assert_eq!((&**media_type, &**data), ("image/webp", "AAAA"));
    assert_eq!((name.as_deref(), &**url), (Some("a.pdf"), "https://x/y.pdf"));
    let [
        Part::Thinking { text, .. },
        Part::ProviderItem(reasoning),
        Part::Text { .. },
        Part::ProviderItem(phase),
        Part::ProviderItem(search),
        Part::ToolCall(first),
        Part::ToolCall(second),
    ] = messages[2].parts.as_slice()
    else {
        panic!("{:?}", messages[2])
    };
    assert_eq!((&**text, &reasoning.kind), ("I look.", &ItemKind::Reasoning));
    assert_eq!(phase.raw.as_str(), "\"commentary\"");
    assert!(matches!(search.kind, ItemKind::ServerToolCall { .. }));
    assert_eq!((&*first.arguments_raw, &*second.arguments_raw), ("{\"at\":1.50}", "{}"));
    let results: Vec<_> = messages[3]
        .tool_results()
        .map(|it| (&*it.call_id, &*it.name, &*it.content, it.parts.len()))
        .collect();
    assert_eq!(results, [("c2", "look", "two", 0), ("c1", "look", "one", 1)]);
    assert_eq!(messages[4].text(), "No.");
}

#[test]
fn a_wrong_responses_request_names_the_place() {
    let item = |item: Value| with("input", json!([item]));
    let part = |part: Value| item(json!({ "role": "user", "content": [part] }));
    let parts = "expected `input_text`, `output_text`, `input_image` with `image_url`, or `input_file` with `file_data` or `file_url`";
    let items = "expected `message`, `function_call`, `function_call_output`, `reasoning` or an item of the vendor's tools";
    #[rustfmt::skip]
    let rows = [
        (json!([]),                           "the body: expected an object, found a list".to_owned()),
        (json!({ "input": [] }),              "model: is missing".to_owned()),
        (with("input", json!(7)),             "input: expected a text or a list of items, found a number".to_owned()),
        (item(json!(7)),                      "input[0]: expected an object, found a number".to_owned()),
        (item(json!({ "content": "x" })),     "input[0].role: is missing".to_owned()),
        (item(json!({ "role": "tool" })),     "input[0].role: expected `user`, `assistant`, `system` or `developer`, found \"tool\"".to_owned()),
        (item(json!({ "role": "user", "content": 7 })), "input[0].content: expected a text or a list of parts, found a number".to_owned()),
        (part(json!({ "type": "input_audio" })), format!("input[0].content[0]: {parts}, found \"input_audio\"")),
        (part(json!({ "type": "input_file", "file_id": "f" })), format!("input[0].content[0]: {parts}, found \"input_file\"")),
        (part(json!({ "type": "input_text" })), "input[0].content[0].text: is missing".to_owned()),
        (item(json!({ "type": "function_call", "call_id": "c" })), "input[0].name: is missing".to_owned()),
        (item(json!({ "type": "function_call", "call_id": "c", "name": "f", "arguments": {} })), "input[0].arguments: expected a text, found an object".to_owned()),
        (item(json!({ "type": "function_call_output", "call_id": "c", "output": "x" })), "input[0].call_id: no call before it has the id \"c\"".to_owned()),
        (item(json!({ "type": "item_reference", "id": "i" })), "input[0]: nothing is stored here; send the item itself".to_owned()),
        (item(json!({ "type": "custom_tool_call" })), format!("input[0].type: {items}, found \"custom_tool_call\"")),
        (with("previous_response_id", json!("resp_1")), "previous_response_id: no responses are stored here; send the whole input, found \"resp_1\"".to_owned()),
        (with("conversation", json!("conv_1")), "conversation: nothing is stored here; send the whole input".to_owned()),
        (with("background", json!(true)),     "background: responses in the background are not possible here; expected false".to_owned()),
        (with("tools", json!([{ "type": "web_search" }])), "tools[0].type: expected `function`, found \"web_search\"".to_owned()),
        (with("tools", json!([{ "type": "function" }])), "tools[0].name: is missing".to_owned()),
        (with("tool_choice", json!("any")),   "tool_choice: expected `auto`, `none`, `required` or a function, found \"any\"".to_owned()),
        (with("text", json!({ "format": { "type": "xml" } })), "text.format.type: expected `text`, `json_object` or `json_schema`, found \"xml\"".to_owned()),
        (with("text", json!({ "format": { "type": "json_schema" } })), "text.format.schema: is missing".to_owned()),
        (with("reasoning", json!({ "effort": 7 })), "reasoning.effort: expected a text, found a number".to_owned()),
        (with("max_output_tokens", json!(1.5)), "max_output_tokens: expected a whole number that is not negative, found 1.5".to_owned()),
    ];
    for (body, want) in rows {
        assert_eq!(read(&body).err(), Some(want), "{body}");
    }
}

#[test]
fn a_server_that_stores_responses_continues_them() {
    let call = Part::ToolCall(ToolCall::new("c1", "look", json!({})));
    let stored = vec![Message::user("Look."), Message::new(MessageRole::Assistant, vec![call])];
    let mut body = with("previous_response_id", json!("resp_1"));
    body["input"] = json!([{ "type": "function_call_output", "call_id": "c1", "output": "one" }]);
    let body = body.to_string();
    let known = |id: &str| (id == "resp_1").then(|| Transcript::from(stored.clone()));
    let request = read_stored_request(body.as_bytes(), known).unwrap().request;
    assert_eq!(request.messages.len(), 3);
    assert_eq!(request.messages.last().unwrap().tool_results().next().unwrap().name, "look");
    let error = read_stored_request(body.as_bytes(), |_| None).unwrap_err();
    assert_eq!(error.to_string(), "previous_response_id: no response has the id \"resp_1\"");
}

#[test]
fn mutated_responses_requests_are_read_or_named() {
    crate::gateway::mutated(&conversation(), |body| read_request(body).map(drop));
}
