//! Request bodies of Responses: what they say, and that what the vendor sent goes back unchanged.

use std::{path::Path, sync::Arc};

use forgeline::{
    llm::{
        BodyDecoder as _, Provider, ProviderError, Request, ResponseFormat, Thinking, ToolChoice,
        ToolSpec, collect,
        http::HttpBuilder,
        responses::{OpenAiResponses, Responses},
    },
    types::{
        Citation, ItemKind, Json, Message, MessageRole, Part, ProviderItem, ToolCall, ToolResult,
        Transcript,
    },
};
use forgeline_testkit::{
    canned::{Canned, sent, sent_json},
    recorded,
};
use serde_json::{Value, json};

struct Setup {
    url: &'static str,
    model: &'static str,
    store: bool,
}

const LOCAL: Setup = Setup { url: "http://local", model: "m", store: false };

impl Setup {
    fn builder(&self) -> HttpBuilder<Responses> {
        let builder = OpenAiResponses::builder().base_url(self.url).model(self.model).api_key("k");
        builder.wire(|wire| wire.store = self.store)
    }

    fn provider(&self, server: &Arc<Canned>) -> OpenAiResponses {
        self.builder().transport(Arc::clone(server)).build().unwrap()
    }

    async fn value(&self, request: &Request) -> Value {
        sent_json(self.builder(), request).await
    }
}

fn item(kind: ItemKind, raw: &Value) -> Part {
    Part::ProviderItem(ProviderItem::new("openai-responses", kind, Json::from(raw)))
}

fn text(text: &str) -> Part {
    Part::text(text)
}

/// A conversation with everything that a message can hold.
fn conversation(reasoning: &Value, search: &Value) -> Transcript {
    let mut cut = ToolCall::new("c2", "files.read", json!({}));
    (cut.arguments, cut.arguments_raw) = (None, "{\"pa".to_owned());
    let foreign = ProviderItem::new("anthropic", ItemKind::Reasoning, Json::from(&json!({})));
    let server_call = ItemKind::server_tool_call("ws", "web_search", Json::from(&json!({})));
    let server_result = ItemKind::server_tool_result("ws", "web_search", false);
    let phase = ItemKind::other("phase");
    Transcript::from(vec![
        Message::new(MessageRole::System, vec![text("Rules.")]),
        Message::user("Hello"),
        Message::new(
            MessageRole::Assistant,
            vec![
                Part::thinking("hm", None),
                item(ItemKind::Reasoning, reasoning),
                item(server_call, search),
                item(server_result, &Value::Null),
                text("Let me see."),
                item(ItemKind::Citation(Citation::default()), &json!({ "url": "u" })),
                item(phase.clone(), &json!("commentary")),
                item(ItemKind::other("event:new"), &json!({ "type": "new" })),
                text("Well."),
                Part::ProviderItem(foreign),
                Part::ToolCall(ToolCall::new("c1", "files.read", json!({ "path": "é" }))),
                Part::ToolCall(cut),
            ],
        ),
        Message::new(
            MessageRole::Tool,
            vec![
                Part::ToolResult(ToolResult::new("c1", "files.read", "one")),
                Part::ToolResult(ToolResult::new("c2", "files.read", "cut").error(true)),
            ],
        ),
        Message::new(
            MessageRole::User,
            vec![
                text("And this?"),
                Part::image("image/png", "AAAA"),
                Part::image("image/png", "https://x/y.png"),
                Part::document("application/pdf", "AAAA", "a.pdf".to_owned()),
                Part::document("application/pdf", "https://x/a.pdf", None),
            ],
        ),
    ])
}

#[tokio::test]
async fn every_field_of_a_request_has_its_place() {
    let schema = json!({ "type": "object", "additionalProperties": false });
    let reasoning = json!({ "type": "reasoning", "id": "rs", "encrypted_content": "e", "summary": [], "x": 1.50 });
    let search = json!({ "type": "web_search_call", "id": "ws", "status": "completed" });
    let request = Request::new(conversation(&reasoning, &search))
        .system("Be brief.")
        .tools(vec![ToolSpec::new("files.read", "Reads", schema.clone()).strict(true)])
        .tool_choice(ToolChoice::Tool("files.read".into()))
        .parallel_tool_calls(false)
        .max_tokens(5)
        .temperature(0.5)
        .top_p(0.25)
        .thinking(Thinking::On)
        .reasoning_effort("low")
        .metadata("user", "u1")
        .response_format(ResponseFormat::json_schema("n", schema.clone(), true))
        .seed(7)
        .extra("seed", 8)
        .extra("vendor", json!({ "a": 1 }));
    let call = |id: &str, arguments: &str| json!({ "type": "function_call", "call_id": id, "name": "files_read", "arguments": arguments });
    let result = |id: &str, output: &str| json!({ "type": "function_call_output", "call_id": id, "output": output });
    let format = json!({ "type": "json_schema", "name": "n", "schema": schema, "strict": true });
    let mut want = json!({
        "model": "m",
        "stream": true,
        "store": false,
        "include": ["reasoning.encrypted_content"],
        "max_output_tokens": 5,
        "temperature": 0.5,
        "top_p": 0.25,
        "reasoning": { "effort": "low", "summary": "auto" },
        "text": { "format": format },
        "metadata": { "user": "u1" },
        "tool_choice": { "type": "function", "name": "files_read" },
        "parallel_tool_calls": false,
        "tools": [{ "type": "function", "name": "files_read", "description": "Reads", "parameters": schema, "strict": true }],
        "instructions": "Be brief.",
        "seed": 8,
        "vendor": { "a": 1 },
        "input": [
            { "type": "message", "role": "system", "content": [{ "type": "input_text", "text": "Rules." }] },
            { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "Hello" }] },
            reasoning,
            search,
            { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "Let me see." }], "phase": "commentary" },
            { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "Well." }] },
            call("c1", "{\"path\":\"é\"}"),
            call("c2", "{}"),
            result("c1", "one"),
            result("c2", "cut"),
            { "type": "message", "role": "user", "content": [
                { "type": "input_text", "text": "And this?" },
                { "type": "input_image", "image_url": "data:image/png;base64,AAAA" },
                { "type": "input_image", "image_url": "https://x/y.png" },
                { "type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA" },
                { "type": "input_file", "file_url": "https://x/a.pdf" },
            ] },
        ],
    });
    let vendor = Setup { url: "https://api.openai.com/v1", ..LOCAL };
    assert_eq!(vendor.value(&request).await, want);
    let chat = json!({ "type": "json_schema", "json_schema": { "name": "n", "schema": schema, "strict": true } });
    want["response_format"] = chat;
    assert_eq!(LOCAL.value(&request).await, want, "a local server reads another field");
    let input = json!([{ "role": "user", "content": "mine" }]);
    let own = request.extra("input", input.clone()).extra("instructions", "mine");
    let body = LOCAL.value(&own).await;
    assert_eq!((&body["input"], &body["instructions"]), (&input, &json!("mine")));
}

#[tokio::test]
async fn what_the_api_lacks_is_an_error_before_anything_is_sent() {
    #[rustfmt::skip]
    let cases = [
        ("stop",             Request::prompt("a").stop(vec!["b".into()])),
        ("seed",             Request::prompt("a").seed(1)),
        ("top_k",            Request::prompt("a").top_k(1)),
        ("reasoning_effort", Request::prompt("a").thinking(Thinking::Budget(9))),
        ("own messages",     Request::new(Transcript::from(vec![Message::new(MessageRole::Assistant, vec![
            Part::image("image/png", "AAAA"),
        ])]))),
    ];
    for (name, request) in cases {
        let error = sent(LOCAL.builder(), &request).await.unwrap_err();
        assert!(matches!(error, ProviderError::Unsupported { .. }), "{name}: {error:?}");
        assert!(error.to_string().contains(name), "{name}: {error}");
    }
}

#[tokio::test]
async fn reasoning_is_asked_for_as_the_model_and_the_request_want() {
    #[rustfmt::skip]
    let cases = [
        ("gpt-5.2",            false, true),
        ("o3",                 false, true),
        ("",                   false, true),
        ("gpt-4o",             false, false),
        ("openai/gpt-4.1",     false, false),
        ("gpt-5.2",            true,  false),
    ];
    for (model, store, wants) in cases {
        let body = Setup { url: "http://local", model, store }.value(&Request::prompt("a")).await;
        assert_eq!(body["store"], json!(store), "{model}");
        let include = if wants { json!(["reasoning.encrypted_content"]) } else { Value::Null };
        assert_eq!(body["include"], include, "{model}");
        assert_eq!(body["reasoning"], Value::Null);
    }
    let off = LOCAL.value(&Request::prompt("a").thinking(Thinking::Off)).await;
    assert_eq!(off["reasoning"], json!({ "effort": "none" }));
}

/// Reasoning that leads to nothing is refused by the vendor, and so is an id of what was not stored.
#[tokio::test]
async fn reasoning_that_would_be_refused_stays_away() {
    let with = |id: &str| json!({ "type": "reasoning", "id": id, "summary": [], "encrypted_content": "e" });
    let bare = json!({ "type": "reasoning", "id": "bare", "summary": [], "encrypted_content": null, "content": [] });
    let readable = json!({ "type": "reasoning", "id": "plain", "summary": [], "content": [{ "type": "reasoning_text", "text": "hm" }] });
    let answer = Message::new(
        MessageRole::Assistant,
        vec![
            item(ItemKind::Reasoning, &with("kept")),
            item(ItemKind::Reasoning, &bare),
            item(ItemKind::Reasoning, &readable),
            text("a"),
            item(ItemKind::Reasoning, &with("last")),
        ],
    );
    let request = Request::new(Transcript::from(vec![answer]));
    let stored = Setup { store: true, ..LOCAL };
    // The encoding that one provider keeps is not for the other.
    for (setup, want) in [
        (&LOCAL, vec!["kept", "plain"]),
        (&stored, vec!["kept", "bare", "plain"]),
        (&LOCAL, vec!["kept", "plain"]),
    ] {
        let body = setup.value(&request).await;
        let ids = body["input"].as_array().unwrap().iter().filter_map(|item| item["id"].as_str());
        assert_eq!(ids.collect::<Vec<_>>(), want);
    }
}

/// The messages of ours that say what recorded input items say.
fn ours(input: &[Value]) -> Vec<Message> {
    let mut messages: Vec<Message> = Vec::new();
    for recorded in input {
        let (role, part) = match recorded["type"].as_str() {
            Some("reasoning") => (MessageRole::Assistant, item(ItemKind::Reasoning, recorded)),
            Some("function_call") => {
                let arguments = Json::parse(recorded["arguments"].as_str().unwrap()).unwrap();
                let id = recorded["call_id"].as_str().unwrap();
                let call = ToolCall::new(id, recorded["name"].as_str().unwrap(), arguments);
                (MessageRole::Assistant, Part::ToolCall(call))
            }
            Some("function_call_output") => {
                let id = recorded["call_id"].as_str().unwrap();
                let result = ToolResult::new(id, "", recorded["output"].as_str().unwrap());
                (MessageRole::Tool, Part::ToolResult(result))
            }
            _ => {
                let is_user = recorded["role"] == "user";
                let role = if is_user { MessageRole::User } else { MessageRole::Assistant };
                (role, text(&words(recorded)))
            }
        };
        match messages.last_mut() {
            Some(message) if message.role == role => message.parts.push(part),
            _ => messages.push(Message::new(role, vec![part])),
        }
    }
    messages
}

fn words(message: &Value) -> String {
    if let Some(text) = message["content"].as_str() {
        return text.to_owned();
    }
    let parts = message["content"].as_array().unwrap().iter();
    parts.map(|part| part["text"].as_str().unwrap()).collect()
}

/// An item in one spelling: content as text, arguments as values, without the ids and states that
/// some clients repeat. Of reasoning, the members `keys` are compared.
fn normal(recorded: &Value, keys: &Value) -> Value {
    match recorded["type"].as_str() {
        Some("reasoning") => {
            let keys = keys.as_object().unwrap().keys();
            keys.map(|key| (key.clone(), recorded[key].clone())).collect()
        }
        Some("function_call") => {
            let arguments = recorded["arguments"].as_str().unwrap();
            let arguments: Value = serde_json::from_str(arguments).unwrap();
            json!([recorded["call_id"], recorded["name"], arguments])
        }
        Some("function_call_output") => json!([recorded["call_id"], recorded["output"]]),
        _ => json!([recorded["role"], words(recorded)]),
    }
}

fn assert_items(got: &Value, want: &[Value], name: &str) {
    let got = got.as_array().unwrap();
    assert_eq!(got.len(), want.len(), "{name}: {got:?}");
    for (got, want) in got.iter().zip(want) {
        assert_eq!(normal(got, want), normal(want, want), "{name}");
    }
}

/// Fields in which our requests differ from the recorded ones, and why.
const DIFFERENCES: [(&str, &str, &str); 2] = [
    ("openai-responses-reasoning-tool", "store", "that client let the vendor store by default"),
    ("", "input", "compared item by item"),
];

const SESSIONS: [&str; 3] = [
    "openai-responses-interleaved-reasoning-raw",
    "openai-responses-multi-turn-raw",
    "openai-responses-reasoning-tool",
];

fn turn(folder: &Path, session: &str, turn: usize) -> Option<Value> {
    let file = folder.join(format!("sessions/{session}/turn{turn}.request.json"));
    file.is_file().then(|| recorded::json(&file)["body"].clone())
}

/// The request of ours that asks what a recorded one asks.
fn request(theirs: &Value, messages: Vec<Message>) -> Request {
    let tools = theirs["tools"].as_array().into_iter().flatten().map(|tool| {
        let (name, description) = (tool["name"].as_str().unwrap(), tool["description"].as_str());
        ToolSpec::new(name, description.unwrap_or_default(), tool["parameters"].clone())
    });
    let mut request = Request::new(messages.into()).tools(tools.collect::<Vec<_>>());
    request.system = theirs["instructions"].as_str().map(Into::into);
    request.max_tokens = theirs["max_output_tokens"].as_u64().map(|n| u32::try_from(n).unwrap());
    request.reasoning_effort = theirs["reasoning"]["effort"].as_str().map(Into::into);
    request.extra("model", theirs["model"].clone()).extra("stream", theirs["stream"].clone())
}

#[tokio::test]
async fn recorded_conversations_are_said_as_working_clients_said_them() {
    let Some(folder) = recorded::folder() else { return };
    let mut read = 0;
    for session in SESSIONS {
        for theirs in (1..).map_while(|number| turn(&folder, session, number)) {
            let input = theirs["input"].as_array().unwrap();
            let body = LOCAL.value(&request(&theirs, ours(input))).await;
            assert_items(&body["input"], input, session);
            let mut keys: Vec<_> = theirs.as_object().unwrap().keys().collect();
            keys.extend(body.as_object().unwrap().keys().filter(|key| theirs.get(key).is_none()));
            for key in keys {
                let is_known = |(of, field, _): &(&str, &str, &str)| {
                    (of.is_empty() || *of == session) && field == key
                };
                if DIFFERENCES.iter().any(is_known) {
                    continue;
                }
                let mut want = theirs[key].clone();
                if key == "tools" {
                    // Not to say it means strict; we say what the tool says, which is no.
                    for tool in want.as_array_mut().unwrap() {
                        tool.as_object_mut().unwrap().entry("strict").or_insert(json!(false));
                    }
                }
                assert_eq!(body[key], want, "{session}: {key}");
            }
            read += 1;
        }
    }
    forgeline_testkit::say(format!("read {read} requests"));
    assert!(read >= 10, "{read}");
}

/// The recorded answer.
fn answer(folder: &Path, session: &str, turn: usize) -> Vec<u8> {
    let file = |form| folder.join(format!("sessions/{session}/turn{turn}.response.{form}"));
    let stream = file("sse");
    recorded::read_bytes(&if stream.is_file() { stream } else { file("json") })
}

#[tokio::test]
async fn what_the_vendor_answered_goes_back_as_working_clients_sent_it() {
    let Some(folder) = recorded::folder() else { return };
    let (mut read, mut reasoning) = (0, 0);
    for session in SESSIONS {
        for number in 1.. {
            let (Some(theirs), Some(next)) =
                (turn(&folder, session, number), turn(&folder, session, number + 1))
            else {
                break;
            };
            let input = theirs["input"].as_array().unwrap();
            let next_input = next["input"].as_array().unwrap();
            let answer = answer(&folder, session, number);
            let server = Canned::new(answer);
            let asked = request(&theirs, ours(input));
            let completion = LOCAL.provider(&server).complete(asked).await.unwrap();
            let message = completion.into_message();
            let is_reasoning = |part: &&Part| matches!(part, Part::ProviderItem(item) if item.kind == ItemKind::Reasoning);
            reasoning += message.parts.iter().filter(is_reasoning).count();
            let mut messages = ours(input);
            messages.push(message);
            let is_answer = |item: &&Value| {
                item["role"] == "assistant"
                    || matches!(item["type"].as_str(), Some("reasoning" | "function_call"))
            };
            let answered = next_input[input.len()..].iter().take_while(is_answer).count();
            messages.extend(ours(&next_input[input.len() + answered..]));
            let body = LOCAL.value(&request(&next, messages)).await;
            assert_items(&body["input"], next_input, &format!("{session} turn {number}"));
            read += 1;
        }
    }
    forgeline_testkit::say(format!("{read} answers went back, {reasoning} reasoning items"));
    assert!(read >= 7 && reasoning >= 7, "{read}, {reasoning}");
}

#[tokio::test]
async fn a_call_whose_arguments_are_a_text_goes_back_as_it_came() {
    let custom = json!({ "type": "custom_tool_call", "id": "ct", "call_id": "c1", "name": "sh", "input": "ls \"-l\"" });
    let plain = json!({ "type": "function_call", "call_id": "c2", "name": "f", "arguments": "{}" });
    let body = json!({ "object": "response", "status": "completed", "output": [custom, plain] });
    let mut decoder = forgeline::llm::responses::ResponsesDecoder::default();
    let mut chunks = Vec::new();
    let body = body.to_string();
    decoder.push(body.as_bytes(), &mut |chunk| chunks.push(Ok(chunk))).unwrap();
    decoder.finish(&mut |chunk| chunks.push(Ok(chunk))).unwrap();
    let answer = collect(Box::pin(futures_util::stream::iter(chunks))).await.unwrap();
    let arguments: Vec<_> = answer.tool_calls.iter().map(|it| it.arguments_raw.as_str()).collect();
    assert_eq!(arguments, [r#"{"input":"ls \"-l\""}"#, "{}"]);
    assert!(answer.tool_calls.iter().all(ToolCall::is_complete));

    let result = |id: &str| Part::ToolResult(ToolResult::new(id, "sh", "done"));
    let mut history = Transcript::from(vec![Message::user("x"), answer.into_message()]);
    LOCAL.value(&Request::new(history.clone())).await;
    history.push(Message::new(MessageRole::Tool, vec![result("c1"), result("c2")]));
    let input = LOCAL.value(&Request::new(history)).await["input"].take();
    let want = json!([
        { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "x" }] },
        custom,
        plain,
        { "type": "custom_tool_call_output", "call_id": "c1", "output": "done" },
        { "type": "function_call_output", "call_id": "c2", "output": "done" },
    ]);
    assert_eq!(input, want);
}

#[tokio::test]
async fn the_vendor_s_question_about_its_own_tool_is_answered() {
    let asked = |id: &str| json!({ "type": "mcp_approval_request", "id": id, "server_label": "docs", "name": "a:b", "arguments": "{\"q\": 1}", "extra": [7] });
    let body = json!({ "object": "response", "status": "completed", "output": [asked("r1"), asked("r2")] });
    let mut decoder = forgeline::llm::responses::ResponsesDecoder::default();
    let mut chunks = Vec::new();
    decoder.push(body.to_string().as_bytes(), &mut |chunk| chunks.push(Ok(chunk))).unwrap();
    decoder.finish(&mut |chunk| chunks.push(Ok(chunk))).unwrap();
    let answer = collect(Box::pin(futures_util::stream::iter(chunks))).await.unwrap();
    assert!(answer.tool_calls.iter().all(|it| it.hosted && it.name == "docs:a:b"), "{answer:?}");

    let yes = ToolResult::new("r1", "docs:a:b", "This call was allowed.");
    let no = ToolResult::new("r2", "docs:a:b", "Not that.").error(true);
    let results = vec![Part::ToolResult(yes), Part::ToolResult(no)];
    let history =
        vec![Message::user("x"), answer.into_message(), Message::new(MessageRole::Tool, results)];
    let input = LOCAL.value(&Request::new(history.into())).await["input"].take();
    let want = json!([
        { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "x" }] },
        asked("r1"),
        asked("r2"),
        { "type": "mcp_approval_response", "approval_request_id": "r1", "approve": true },
        { "type": "mcp_approval_response", "approval_request_id": "r2", "approve": false, "reason": "Not that." },
    ]);
    assert_eq!(input, want);
}

#[tokio::test]
async fn the_server_is_asked_to_compact_long_conversations_and_gets_its_item_back() {
    let raw = json!({ "type": "compaction", "id": "cmp_1", "encrypted_content": "x" });
    let kind = ItemKind::other("compaction");
    let answer = Message::new(MessageRole::Assistant, vec![item(kind, &raw), text("Yes.")]);
    let history = Transcript::from(vec![Message::user("Hi"), answer, Message::user("And?")]);
    let server = Canned::new("");
    let builder = OpenAiResponses::builder().base_url("http://local").model("m").api_key("k");
    let provider = builder.compact_above(200_000).transport(Arc::clone(&server)).build().unwrap();
    drop(provider.stream_completion(Request::new(history)).await.unwrap());
    let body: Value = serde_json::from_slice(&server.segments().concat()).unwrap();
    let entry = json!({ "type": "compaction", "compact_threshold": 200_000 });
    assert_eq!(body["context_management"], json!([entry]));
    assert_eq!(body["input"][1]["type"], "compaction", "{body}");
    assert_eq!(body["input"][1]["encrypted_content"], "x");
}
