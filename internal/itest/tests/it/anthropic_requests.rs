//! Request bodies of Anthropic Messages: what they say, and that what was sent stays.

use forgeline::{
    llm::{
        PromptCache, ProviderError, Request, ResponseFormat, RetryPolicy, Thinking, ToolChoice,
        ToolSpec,
        anthropic::{Anthropic, Messages},
        http::HttpBuilder,
        transport::HttpRequest,
    },
    types::{
        Citation, ItemKind, Json, Message, MessageRole, Part, ProviderItem, Signature, ToolCall,
        ToolResult, Transcript,
    },
};
use forgeline_testkit::canned::{sent, sent_json};
use serde_json::{Value, json};

pub(crate) fn local() -> HttpBuilder<Messages> {
    Anthropic::builder().base_url("http://local").model("m").retry(RetryPolicy::NONE)
}

pub(crate) async fn value(request: &Request) -> Value {
    sent_json(local(), request).await
}

async fn refused(request: Request) -> String {
    match sent(local(), &request).await {
        Err(error @ (ProviderError::Unsupported { .. } | ProviderError::Config { .. })) => {
            error.to_string()
        }
        other => panic!("{other:?}"),
    }
}

fn item(kind: ItemKind, raw: Value) -> Part {
    Part::ProviderItem(ProviderItem::new("anthropic", kind, raw.into()))
}

#[tokio::test]
async fn every_field_of_a_request_has_its_place() {
    let schema = json!({ "type": "object" });
    let messages = Transcript::from(vec![
        Message::user("Hello"),
        Message::new(
            MessageRole::Assistant,
            vec![
                Part::ToolCall(ToolCall::new("c:1", "files.read", json!({ "path": "é" }))),
                Part::ToolCall(ToolCall::pending(1, "c2")),
            ],
        ),
        Message::new(
            MessageRole::Tool,
            vec![
                Part::text("And this?"),
                Part::ToolResult(ToolResult::new("c:1", "files.read", "one")),
                Part::ToolResult(ToolResult::new("c2", "", "cut").error(true)),
                Part::ToolResult(ToolResult::new("c3", "", " ")),
            ],
        ),
    ]);
    let request = Request::new(messages)
        .system("Be brief.")
        .tools(vec![
            ToolSpec::new("files.read", "Reads", schema.clone()).strict(true),
            ToolSpec::new("now", "", Value::Null),
        ])
        .tool_choice(ToolChoice::Tool("files.read".into()))
        .parallel_tool_calls(false)
        .max_tokens(5000)
        .temperature(0.7)
        .top_p(0.5)
        .top_k(40)
        .stop(vec!["END".into()])
        .thinking(Thinking::Budget(4999))
        .reasoning_effort("low")
        .metadata("user_id", "u")
        .metadata("team", "t")
        .response_format(ResponseFormat::json_schema("n", schema.clone(), true))
        .extra("top_k", 8)
        .extra("vendor", json!({ "a": 1 }));
    let said = |text: &str| json!([{ "type": "text", "text": text }]);
    let want = json!({
        "model": "m",
        "stream": true,
        "max_tokens": 5000,
        "temperature": 0.7,
        "top_p": 0.5,
        "stop_sequences": ["END"],
        "thinking": { "type": "enabled", "budget_tokens": 4999 },
        "output_config": { "effort": "low", "format": { "type": "json_schema", "schema": schema } },
        "metadata": { "user_id": "u" },
        "tool_choice": { "type": "tool", "name": "files_read", "disable_parallel_tool_use": true },
        "tools": [
            { "name": "files_read", "description": "Reads", "input_schema": schema, "strict": true },
            { "name": "now", "input_schema": { "type": "object", "properties": {} } },
        ],
        "top_k": 8,
        "vendor": { "a": 1 },
        "system": said("Be brief."),
        "messages": [
            { "role": "user", "content": said("Hello") },
            { "role": "assistant", "content": [
                { "type": "tool_use", "id": "c_x3a_1", "name": "files_read", "input": { "path": "é" } },
                { "type": "tool_use", "id": "c2", "name": "", "input": {} },
            ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "c_x3a_1", "content": said("one") },
                { "type": "tool_result", "tool_use_id": "c2", "content": said("cut"), "is_error": true },
                { "type": "tool_result", "tool_use_id": "c3" },
                { "type": "text", "text": "And this?" },
            ] },
        ],
    });
    assert_eq!(value(&request).await, want);
}

#[tokio::test]
async fn what_belongs_back_goes_back_at_its_place_and_nothing_else() {
    let other = |name: &str| ItemKind::other(name);
    let call = |arguments: Json| ItemKind::server_tool_call("s", "t", arguments);
    let result = ItemKind::server_tool_result("s", "t", false);
    let mut foreign = ProviderItem::new("gemini", ItemKind::Reasoning, json!({ "x": 1 }).into());
    foreign.raw = json!({ "type": "redacted_thinking" }).into();
    let parts = vec![
        Part::thinking("unsigned", None),
        Part::thinking("hm", Signature::new("anthropic", "S")),
        item(ItemKind::Reasoning, json!({ "type": "redacted_thinking", "data": "d" })),
        Part::text("\n\n"),
        item(call(json!({ "q": 1 }).into()), json!({ "type": "server_tool_use", "id": "s" })),
        item(result, json!({ "type": "web_search_tool_result", "tool_use_id": "s" })),
        item(other("compaction"), json!({ "type": "compaction", "content": "c" })),
        Part::text("a"),
        item(ItemKind::Citation(Citation::default()), json!({ "type": "char_location" })),
        item(call(json!("{\"q").into()), json!({ "type": "server_tool_use", "id": "cut" })),
        item(other("new_delta"), json!({ "type": "new_delta" })),
        item(other("event:new"), json!({ "type": "new" })),
        item(other("stop_sequence"), json!("END")),
        item(other("container"), json!({ "id": "container_1" })),
        Part::ProviderItem(foreign),
    ];
    let transcript = Transcript::from(vec![
        Message::user("x"),
        Message::new(MessageRole::Assistant, parts),
        Message::new(MessageRole::Assistant, vec![Part::thinking("x", None)]),
    ]);
    let messages = value(&Request::new(transcript)).await["messages"].clone();
    let want = json!([
        { "type": "thinking", "thinking": "hm", "signature": "S" },
        { "type": "redacted_thinking", "data": "d" },
        { "type": "server_tool_use", "id": "s" },
        { "type": "web_search_tool_result", "tool_use_id": "s" },
        { "type": "compaction", "content": "c" },
        { "type": "text", "text": "a" },
    ]);
    assert_eq!(messages[1]["content"], want);
    assert_eq!(messages.as_array().unwrap().len(), 2, "what says nothing is left out");
}

#[tokio::test]
async fn pictures_and_documents_go_out_as_the_vendor_takes_them() {
    let document = |media_type: &str, data: &str, name: Option<&str>| {
        Part::document(media_type, data, name.map(Into::into))
    };
    let ask = |part: Part| Request::new(vec![Message::new(MessageRole::User, vec![part])].into());
    let image = |data: &str| Part::image("image/png", data);
    #[rustfmt::skip]
    let cases = [
        (image("AAAA"),            json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "AAAA" } })),
        (image("https://x/y.png"), json!({ "type": "image", "source": { "type": "url", "url": "https://x/y.png" } })),
        (document("application/pdf", "AAAA", Some("n")),
            json!({ "type": "document", "source": { "type": "base64", "media_type": "application/pdf", "data": "AAAA" }, "title": "n" })),
        (document("application/pdf", "https://x/y.pdf", None),
            json!({ "type": "document", "source": { "type": "url", "url": "https://x/y.pdf" } })),
        (document("text/markdown", "IyDDqQ==", None),
            json!({ "type": "document", "source": { "type": "text", "media_type": "text/plain", "data": "# é" } })),
    ];
    for (part, want) in cases {
        assert_eq!(value(&ask(part)).await["messages"][0]["content"], json!([want]));
    }
    #[rustfmt::skip]
    let refusals = [
        (document("application/msword", "AAAA", None),   "of type application/msword; send PDF or plain text"),
        (document("text/plain", "https://x/y.txt", None), "by URL of type text/plain; send PDF"),
        (document("text/plain", "/w==", None),           "not UTF-8 in base64"),
    ];
    for (part, words) in refusals {
        let said = refused(ask(part)).await;
        assert!(said.contains(words), "{said}");
    }
}

#[tokio::test]
async fn options_have_their_forms_and_what_cannot_be_is_refused() {
    let ask = || Request::prompt("x");
    let tools = || ask().tools(vec![ToolSpec::new("t", "", json!({ "type": "object" }))]);
    #[rustfmt::skip]
    let cases = [
        ("max_tokens",  ask(),                                          json!(4096)),
        ("max_tokens",  ask().thinking(Thinking::Budget(2000)),         json!(6096)),
        ("thinking",    ask().thinking(Thinking::Off),                  json!({ "type": "disabled" })),
        ("thinking",    ask().thinking(Thinking::On),                   json!({ "type": "adaptive" })),
        ("thinking",    ask().thinking(Thinking::Budget(1)).extra("thinking", 7), json!(7)),
        ("tool_choice", tools().parallel_tool_calls(true),              Value::Null),
        ("tool_choice", tools().parallel_tool_calls(false),             json!({ "type": "auto", "disable_parallel_tool_use": true })),
        ("tool_choice", tools().tool_choice(ToolChoice::Required),      json!({ "type": "any" })),
        ("tool_choice", tools().tool_choice(ToolChoice::None).parallel_tool_calls(false), json!({ "type": "none" })),
        ("system",      ask().system(" "),                              Value::Null),
        ("system",      ask().system("a").extra("system", "b"),         json!("b")),
        ("messages",    ask().extra("messages", json!([])),             json!([])),
        ("seed",        ask().seed(7).extra("seed", 8),                 json!(8)),
        ("cache_control", ask().cache(PromptCache::Automatic),          json!({ "type": "ephemeral" })),
        ("cache_control", ask().cache(PromptCache::Marks),              Value::Null),
    ];
    for (field, request, want) in cases {
        assert_eq!(value(&request).await[field], want, "{field}");
    }
    let older =
        sent(local().model("claude-haiku-4-5"), &ask().thinking(Thinking::On)).await.unwrap();
    let older: Value = serde_json::from_slice(&older.body.concat()).unwrap();
    let thinking = json!({ "type": "enabled", "budget_tokens": 4096 });
    assert_eq!((&older["thinking"], &older["max_tokens"]), (&thinking, &json!(8192)));
    let own = local().max_tokens(9).beta("one").beta("two").api_key("secret");
    let http = sent(own, &ask()).await.unwrap();
    let body: Value = serde_json::from_slice(&http.body.concat()).unwrap();
    assert_eq!(body["max_tokens"], 9);
    for (name, want) in [
        ("anthropic-version", "2023-06-01"),
        ("anthropic-beta", "one,two"),
        ("x-api-key", "secret"),
    ] {
        assert!(http.headers.iter().any(|(key, value)| key == name && value == want), "{name}");
    }
    assert_eq!(http.url, "http://local/v1/messages");
    let late = Message::new(MessageRole::System, vec![Part::text("s")]);
    #[rustfmt::skip]
    let refusals = [
        (ask().seed(7),                                                "`seed`"),
        (ask().response_format(ResponseFormat::JsonObject),            "without a schema"),
        (ask().thinking(Thinking::Budget(1023)),                       "at least 1024"),
        (ask().thinking(Thinking::Budget(2000)).max_tokens(2000),      "which is 2000"),
        (Request::new(vec![Message::user("x"), late.clone()].into()),  "before it"),
    ];
    for (request, words) in refusals {
        let said = refused(request).await;
        assert!(said.contains(words), "{said}");
    }
    let early = Request::new(vec![late, Message::user("x")].into()).system("r");
    let body = value(&early.cache(PromptCache::Marks)).await;
    let mark = json!({ "type": "ephemeral" });
    let system = json!([
        { "type": "text", "text": "r" },
        { "type": "text", "text": "s", "cache_control": mark },
    ]);
    assert_eq!(body["system"], system);
    assert_eq!(body["messages"].as_array().unwrap().len(), 1);
}

/// Takes the marks out of a value; gives how many there were.
fn unmark(value: &mut Value) -> usize {
    match value {
        Value::Object(fields) => {
            let own = usize::from(fields.shift_remove("cache_control").is_some());
            own + fields.values_mut().map(unmark).sum::<usize>()
        }
        Value::Array(items) => items.iter_mut().map(unmark).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

#[tokio::test]
async fn marks_stand_at_three_places_and_change_nothing_else() {
    let signed = |text: &str| Part::thinking(text, Signature::new("anthropic", "S"));
    let turn = Message::new(MessageRole::Assistant, vec![Part::text("a"), signed("t")]);
    let request = Request::new(vec![Message::user("x"), turn, Message::user("y")].into())
        .system("s")
        .tools(vec![
            ToolSpec::new("one", "1", json!({ "type": "object" })),
            ToolSpec::new("two", "2", json!({ "type": "object" })),
        ]);
    let mut marked = value(&request.clone().cache(PromptCache::Marks)).await;
    let mark = json!({ "type": "ephemeral" });
    assert_eq!(marked["system"][0]["cache_control"], mark);
    assert_eq!(marked["tools"][1]["cache_control"], mark);
    // Reasoning must not be marked; the block before it is.
    assert_eq!(marked["messages"][1]["content"][0]["cache_control"], mark);
    assert_eq!(unmark(&mut marked), 3);
    assert_eq!(marked, value(&request).await, "with marks or without, from one cache");
}

#[tokio::test]
async fn the_server_is_asked_to_shorten_long_conversations() {
    let headers = |request: &HttpRequest| {
        let beta = request.headers.iter().find(|(name, _)| name == "anthropic-beta");
        beta.map(|(_, value)| value.to_string())
    };
    let request = Request::prompt("Hi");
    let plain = sent(local(), &request).await.unwrap();
    assert_eq!(headers(&plain), None);
    let builder =
        local().beta("compact-2026-01-12").compact_above(150_000).clear_results_above(90_000);
    let asked = sent(builder, &request).await.unwrap();
    let features = "compact-2026-01-12,context-management-2025-06-27";
    assert_eq!(headers(&asked).as_deref(), Some(features), "each once");
    let body: Value = serde_json::from_slice(&asked.body.concat()).unwrap();
    let above = |tokens| json!({ "type": "input_tokens", "value": tokens });
    let edits = json!([
        { "type": "clear_tool_uses_20250919", "trigger": above(90_000) },
        { "type": "compact_20260112", "trigger": above(150_000) },
    ]);
    assert_eq!(body["context_management"], json!({ "edits": edits }));
    let own = request.extra("context_management", json!({ "edits": [] }));
    let asked = sent(local().compact_above(150_000), &own).await.unwrap();
    let body: Value = serde_json::from_slice(&asked.body.concat()).unwrap();
    assert_eq!(body["context_management"], json!({ "edits": [] }), "what the request says wins");
}
