//! Requests of clients, as they come.

use serde_json::{Value, json};

use super::{
    super::{ChunkWriter, OpenAiDecoder},
    read_request,
};
use crate::{BodyDecoder as _, ResponseFormat, ToolChoice, collect, gateway::ClientRequest};
use forgeline_types::{Completion, FinishReason, Json, MessageRole, Part, ToolCall, UsageInfo};

fn read(body: &Value) -> Result<ClientRequest, String> {
    read_request(body.to_string().as_bytes()).map_err(|error| error.to_string())
}

fn with(member: &str, value: Value) -> Value {
    let mut body = json!({ "model": "m", "messages": [{ "role": "user", "content": "Hi" }] });
    body[member] = value;
    body
}

// Rows: N-84
#[test]
fn a_conversation_with_calls_and_pictures_is_read() {
    use MessageRole::{Assistant, System, Tool, User};
    let body = json!({
        "model": "m", "stream": true, "stream_options": { "include_usage": true }, "n": 1, "user": "u", "logit_bias": null,
        "max_tokens": 9, "max_completion_tokens": 8, "temperature": 0.7, "seed": 5, "stop": "END",
        "parallel_tool_calls": false, "metadata": { "team": "a" }, "reasoning_effort": "low",
        "tools": [{ "type": "function", "function": { "name": "look", "parameters": { "type": "object" }, "strict": true } }],
        "tool_choice": { "type": "function", "function": { "name": "look" } },
        "response_format": { "type": "json_schema", "json_schema": { "name": "a", "schema": { "type": "object" }, "strict": true } },
        "messages": [
            { "role": "system", "content": "Be brief." },
            { "role": "developer", "content": [{ "type": "text", "text": "Be kind." }] },
            { "role": "user", "name": "Ann", "content": [
                { "type": "text", "text": "What is it?" },
                { "type": "image_url", "image_url": { "url": "data:image/webp;base64,AAAA", "detail": "low" } },
                { "type": "image_url", "image_url": { "url": "https://x/y.png" } },
                { "type": "file", "file": { "filename": "a.pdf", "file_data": "data:application/pdf;base64,BBBB" } },
            ] },
            { "role": "assistant", "content": null, "reasoning_content": "I look.", "tool_calls": [
                { "id": "c1", "type": "function", "function": { "name": "look", "arguments": "{\"at\":1.50}" } },
                { "id": "c2", "type": "function", "function": { "name": "look", "arguments": "" } },
            ] },
            { "role": "tool", "tool_call_id": "c2", "content": "two" },
            { "role": "tool", "tool_call_id": "c1", "content": [{ "type": "text", "text": "one" }] },
            { "role": "system", "content": "Now in German." },
            { "role": "assistant", "content": "Es ist eins.", "refusal": null },
        ],
    });
    let received = read(&body).unwrap();
    assert!(received.stream && received.include_usage);
    assert_eq!(received.left_out, ["messages[2].name"]);
    let request = received.request;
    assert_eq!(Value::from(request.extra), json!({ "n": 1, "user": "u" }));
    assert_eq!(request.system.as_deref(), Some("Be brief."));
    assert_eq!(
        (request.max_tokens, request.temperature, request.seed),
        (Some(8), Some(0.7), Some(5))
    );
    assert_eq!((request.stop, request.parallel_tool_calls), (vec!["END".to_owned()], Some(false)));
    assert_eq!(request.metadata["team"], "a");
    assert_eq!(request.reasoning_effort.as_deref(), Some("low"));
    assert_eq!((request.tools.len(), request.tools[0].strict), (1, true));
    assert_eq!(request.tool_choice, Some(ToolChoice::Tool("look".into())));
    assert!(matches!(
        request.response_format,
        Some(ResponseFormat::JsonSchema { strict: true, .. })
    ));
    let messages = request.messages.messages();
    let roles: Vec<_> = messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [System, User, Assistant, Tool, System, Assistant]);
    let [
        _,
        Part::Image { media_type, data, .. },
        Part::Image { data: url, .. },
        Part::Document { name, .. },
    ] = messages[1].parts.as_slice()
    else {
        panic!("{:?}", messages[1])
    };
    assert_eq!((&**media_type, &**data, &**url), ("image/webp", "AAAA", "https://x/y.png"));
    assert_eq!(name.as_deref(), Some("a.pdf"));
    let calls: Vec<_> =
        messages[2].tool_calls().map(|call| (&*call.id, &*call.arguments_raw)).collect();
    assert_eq!(calls, [("c1", "{\"at\":1.50}"), ("c2", "{}")]);
    assert_eq!(messages[2].parts[0].as_thinking(), Some("I look."));
    let results: Vec<_> =
        messages[3].tool_results().map(|it| (&*it.call_id, &*it.name, &*it.content)).collect();
    assert_eq!(results, [("c2", "look", "two"), ("c1", "look", "one")]);
}

#[test]
fn what_cannot_be_read_is_told_with_its_place() {
    let message = |message: Value| with("messages", json!([message]));
    let part = |part: Value| message(json!({ "role": "user", "content": [part] }));
    let call = |call: Value| message(json!({ "role": "assistant", "tool_calls": [call] }));
    #[rustfmt::skip]
    let rows = [
        (json!([]),                              "the body: expected an object, found a list"),
        (json!({ "messages": [] }),              "model: is missing"),
        (json!({ "model": "m" }),                "messages: expected a list, found null"),
        (with("messages", json!([7])),           "messages[0]: expected an object, found a number"),
        (message(json!({ "content": "x" })),     "messages[0].role: is missing"),
        (message(json!({ "role": "ipython" })),  "messages[0].role: expected `system`, `developer`, `user`, `assistant` or `tool`, found \"ipython\""),
        (part(json!({ "type": "input_audio" })), "messages[0].content[0]: expected `text`, `image_url`, or `file` with `file_data`, found \"input_audio\""),
        (part(json!({ "type": "file", "file": { "file_id": "f" } })), "messages[0].content[0]: expected `text`, `image_url`, or `file` with `file_data`, found \"file\""),
        (part(json!({ "type": "text" })),        "messages[0].content[0].text: is missing"),
        (message(json!({ "role": "tool", "tool_call_id": "c", "content": "x" })), "messages[0].tool_call_id: no call before it has the id \"c\""),
        (message(json!({ "role": "tool", "content": "x" })), "messages[0].tool_call_id: is missing"),
        (call(json!({ "type": "custom" })),      "messages[0].tool_calls[0].type: expected `function`, found \"custom\""),
        (call(json!({ "function": {} })),        "messages[0].tool_calls[0].function.name: is missing"),
        (call(json!({ "function": { "name": "f", "arguments": {} } })), "messages[0].tool_calls[0].function.arguments: expected a text, found an object"),
        (with("tools", json!([{ "type": "web_search" }])), "tools[0].type: expected `function`, found \"web_search\""),
        (with("tools", json!([{ "type": "function", "function": {} }])), "tools[0].function.name: is missing"),
        (with("tool_choice", json!("any")),      "tool_choice: expected `auto`, `none`, `required` or a function, found \"any\""),
        (with("response_format", json!({ "type": "xml" })), "response_format: expected `text`, `json_object` or `json_schema`, found {\"type\":\"xml\"}"),
        (with("max_tokens", json!(-1)),          "max_tokens: expected a whole number that is not negative, found -1"),
        (with("temperature", json!("warm")),     "temperature: expected a number, found a text"),
        (with("stream", json!("yes")),           "stream: expected true or false, found a text"),
        (with("stop", json!([1])),               "stop[0]: expected a text, found a number"),
    ];
    for (body, want) in rows {
        assert_eq!(read(&body).err().as_deref(), Some(want), "{body}");
    }
    let cut = read_request(b"{\"model\":").unwrap_err();
    assert!(cut.to_string().starts_with("the body: is not JSON: "), "{cut}");
    let error = read_request(with("stream", json!(1)).to_string().as_bytes()).unwrap_err();
    let body: Value = serde_json::from_str(&error.to_body()).unwrap();
    assert_eq!(
        (&body["error"]["param"], &body["error"]["type"]),
        (&json!("stream"), &json!("invalid_request_error"))
    );
}

#[test]
fn random_bodies_are_read_or_told() {
    use proptest::prelude::*;
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z]{0,4}".prop_map(Value::from),
        prop_oneof![Just("user"), Just("tool"), Just("assistant"), Just("text"), Just("function")]
            .prop_map(Value::from),
    ];
    let name = prop_oneof![
        Just("model"),
        Just("messages"),
        Just("role"),
        Just("content"),
        Just("tool_calls"),
        Just("function"),
        Just("name"),
        Just("type"),
        Just("text"),
        Just("tools"),
        Just("tool_call_id"),
        Just("stop"),
        Just("metadata"),
    ];
    let tree = leaf.prop_recursive(6, 64, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((name.clone(), inner), 0..6).prop_map(|members| members
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect()),
        ]
    });
    proptest!(|(mut body in tree)| {
        if let Value::Object(members) = &mut body {
            members.insert("model".into(), json!("m"));
        }
        if let Err(error) = read(&body) {
            prop_assert!(error.contains(": "), "{error}");
        }
    });
}

#[tokio::test]
async fn a_whole_answer_reads_as_it_was_written() {
    let mut usage = UsageInfo::default();
    (usage.input_tokens, usage.output_tokens) = (Some(7), Some(3));
    let mut written = Completion::default();
    written.text = "Two \"calls\".\n".into();
    written.thinking = "hm".into();
    written.tool_calls = vec![
        ToolCall::new("a", "look", Json::parse("{\"at\":1.50}").unwrap()),
        ToolCall::new("b", "look", json!({})),
    ];
    written.tool_calls[1].index = 1;
    (written.usage, written.finish_reason) = (Some(usage), Some(FinishReason::Stop));
    let body = ChunkWriter::new("id", "m").created(1).complete(&written);
    let (mut chunks, mut decoder) = (Vec::new(), OpenAiDecoder::default());
    decoder.push(body.as_bytes(), &mut |chunk| chunks.push(Ok(chunk))).unwrap();
    decoder.finish(&mut |chunk| chunks.push(Ok(chunk))).unwrap();
    let read = collect(Box::pin(futures_util::stream::iter(chunks))).await.unwrap();
    assert_eq!((&read.text, &read.thinking), (&written.text, &written.thinking));
    assert_eq!(read.usage, written.usage);
    assert_eq!(read.finish_reason, Some(FinishReason::ToolCalls));
    let calls = |of: &Completion| -> Vec<_> {
        of.tool_calls
            .iter()
            .map(|it| (it.id.clone(), it.name.clone(), it.arguments_raw.clone()))
            .collect()
    };
    assert_eq!(calls(&read), calls(&written));
}
