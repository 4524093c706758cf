//! Request bodies: what they say, and that what was sent stays.

use std::sync::Arc;

use forgeline::{
    llm::{
        Provider, ProviderError, Request, ResponseFormat, Thinking, ToolChoice, ToolSpec,
        http::HttpBuilder,
        openai::{ChatCompletions, OpenAi},
    },
    types::{
        ItemKind, Json, Message, MessageRole, Part, ProviderItem, Signature, ToolCall, ToolResult,
        Transcript,
    },
};
use forgeline_testkit::canned::{Canned, sent, sent_json};
use serde_json::{Value, json};

fn builder(url: &str, model: &str) -> HttpBuilder<ChatCompletions> {
    OpenAi::builder().base_url(url).model(model).api_key("k")
}

pub(crate) fn provider(url: &str, model: &str, server: &Arc<Canned>) -> OpenAi {
    builder(url, model).transport(Arc::clone(server)).build().unwrap()
}

pub(crate) async fn value_at(url: &str, request: &Request) -> Value {
    sent_json(builder(url, "m"), request).await
}

async fn value(request: &Request) -> Value {
    value_at("http://local", request).await
}

#[tokio::test]
async fn every_field_of_a_request_has_its_place() {
    let schema = json!({ "type": "object", "properties": {} });
    let mut call = ToolCall::new("c1", "files.read", json!({ "path": "é" }));
    call.arguments_raw = "{ \"path\": \"é\" }".to_owned();
    let mut cut = ToolCall::new("c2", "files.read", json!({}));
    (cut.arguments, cut.arguments_raw) = (None, "{\"pa".to_owned());
    let messages = Transcript::from(vec![
        Message::user("Hello"),
        Message::new(
            MessageRole::Assistant,
            vec![
                Part::thinking("hm", None),
                Part::text("Let me see."),
                Part::ToolCall(call),
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
                Part::text("And this?"),
                Part::image("image/png", "AAAA"),
                Part::image("image/png", "https://x/y.png"),
            ],
        ),
    ]);
    let request = Request::new(messages)
        .system("Be brief.")
        .tools(vec![ToolSpec::new("files.read", "Reads", schema.clone()).strict(true)])
        .tool_choice(ToolChoice::Tool("files.read".into()))
        .parallel_tool_calls(false)
        .max_tokens(5)
        .temperature(0.7)
        .top_p(0.5)
        .top_k(40)
        .seed(7)
        .stop(vec!["END".into()])
        .reasoning_effort("low")
        .response_format(ResponseFormat::json_schema("n", schema.clone(), true))
        .thinking(Thinking::Off)
        .metadata("user_id", "u")
        .extra("seed", 8)
        .extra("vendor", json!({ "a": 1 }));
    let call = |id: &str, arguments: &str| json!({ "id": id, "type": "function", "function": { "name": "files_read", "arguments": arguments } });
    let want = json!({
        "model": "m",
        "stream": true,
        "stream_options": { "include_usage": true },
        "max_tokens": 5,
        "temperature": 0.7,
        "top_p": 0.5,
        "top_k": 40,
        "stop": ["END"],
        "reasoning_effort": "low",
        "chat_template_kwargs": { "enable_thinking": false },
        "metadata": { "user_id": "u" },
        "response_format": { "type": "json_schema", "json_schema": { "name": "n", "schema": schema, "strict": true } },
        "tool_choice": { "type": "function", "function": { "name": "files_read" } },
        "parallel_tool_calls": false,
        "tools": [{ "type": "function", "function": { "name": "files_read", "description": "Reads", "parameters": schema, "strict": true } }],
        "seed": 8,
        "vendor": { "a": 1 },
        "messages": [
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": "Hello" },
            { "role": "assistant", "content": "Let me see.", "tool_calls": [call("c1", "{\"path\":\"é\"}"), call("c2", "{}")] },
            { "role": "tool", "tool_call_id": "c1", "content": "one" },
            { "role": "tool", "tool_call_id": "c2", "content": "cut" },
            { "role": "user", "content": [
                { "type": "text", "text": "And this?" },
                { "type": "image_url", "image_url": { "url": "data:image/png;base64,AAAA" } },
                { "type": "image_url", "image_url": { "url": "https://x/y.png" } },
            ] },
        ],
    });
    assert_eq!(value(&request).await, want);
}

#[tokio::test]
async fn the_encoded_history_fits_any_other_setting_of_the_request() {
    let server = Canned::new("");
    let provider = provider("http://local", "m", &server);
    let value = async |request: &Request| {
        drop(provider.stream_completion(request.clone()).await.unwrap());
        server.json()
    };
    let transcript = Transcript::from(vec![Message::user("a"), Message::assistant("b")]);
    for system in [None, Some("one"), Some("two"), None] {
        let mut request = Request::new(transcript.clone());
        request.system = system.map(Into::into);
        let messages = value(&request).await["messages"].clone();
        let mut want: Vec<_> =
            system.map(|text| json!({ "role": "system", "content": text })).into_iter().collect();
        want.extend([
            json!({ "role": "user", "content": "a" }),
            json!({ "role": "assistant", "content": "b" }),
        ]);
        assert_eq!(messages, json!(want));
    }
    let own = Request::new(transcript).extra("messages", json!([]));
    assert_eq!(value(&own).await["messages"], json!([]));
}

#[tokio::test]
async fn every_host_is_asked_in_its_own_words() {
    const OPENAI: &str = "https://api.openai.com/v1";
    const AZURE: &str = "https://me.services.ai.azure.com/openai/v1";
    const ROUTER: &str = "https://openrouter.ai/api/v1";
    const DEEPSEEK: &str = "https://api.deepseek.com";
    const MISTRAL: &str = "https://api.mistral.ai/v1";
    const LOCAL: &str = "http://127.0.0.1:8080/v1";
    let ask = || Request::prompt("a");
    let think = |thinking| ask().thinking(thinking);
    let usage = json!({ "include_usage": true });
    #[rustfmt::skip]
    let cases = [
        (OPENAI,   think(Thinking::Off).reasoning_effort("low"), "reasoning_effort", Some(json!("none"))),
        (OPENAI,   think(Thinking::On).reasoning_effort("low"), "reasoning_effort", Some(json!("low"))),
        (OPENAI,   think(Thinking::Budget(9)), "reasoning_effort", None),
        (AZURE,    think(Thinking::Off), "reasoning_effort", Some(json!("none"))),
        (AZURE,    ask().max_tokens(5), "max_completion_tokens", Some(json!(5))),
        (ROUTER,   think(Thinking::Off), "reasoning", Some(json!({ "enabled": false }))),
        (ROUTER,   think(Thinking::On), "reasoning", Some(json!({ "enabled": true }))),
        (ROUTER,   think(Thinking::Budget(9)), "reasoning", Some(json!({ "max_tokens": 9 }))),
        (DEEPSEEK, think(Thinking::Off), "thinking", Some(json!({ "type": "disabled" }))),
        (DEEPSEEK, think(Thinking::On), "thinking", Some(json!({ "type": "enabled" }))),
        (DEEPSEEK, think(Thinking::Budget(9)), "thinking", None),
        (MISTRAL,  think(Thinking::On), "thinking", None),
        (LOCAL,    think(Thinking::On), "chat_template_kwargs", Some(json!({ "enable_thinking": true }))),
        (LOCAL,    think(Thinking::Budget(9)), "chat_template_kwargs", None),
        (MISTRAL,  ask().seed(7), "random_seed", Some(json!(7))),
        (MISTRAL,  ask().seed(7), "seed", Some(Value::Null)),
        (MISTRAL,  ask(), "stream_options", Some(Value::Null)),
        (LOCAL,    ask(), "stream_options", Some(usage)),
        (OPENAI,   ask().top_k(5), "top_k", None),
        (OPENAI,   ask().top_k(5).extra("top_k", 6), "top_k", Some(json!(6))),
        (LOCAL,    ask().top_k(5), "top_k", Some(json!(5))),
        (DEEPSEEK, ask().response_format(ResponseFormat::JsonObject), "response_format", None),
        (LOCAL,    ask().response_format(ResponseFormat::JsonObject), "response_format", Some(json!({ "type": "json_object" }))),
    ];
    for (at, (url, request, key, want)) in cases.into_iter().enumerate() {
        let body = sent(builder(url, "m"), &request).await;
        let got = match body {
            Ok(body) => {
                let body: Value = serde_json::from_slice(&body.body.concat()).unwrap();
                Some(body[key].clone())
            }
            Err(ProviderError::Unsupported { .. }) => None,
            Err(error) => panic!("{url}: {error}"),
        };
        assert_eq!(got, want, "row {at}: {url}, {key}");
    }
    let document = Part::document("application/pdf", "AAAA", None);
    let request = Request::new(vec![Message::new(MessageRole::User, vec![document])].into());
    for (url, is_taken) in
        [(OPENAI, true), (AZURE, true), (ROUTER, true), (DEEPSEEK, false), (LOCAL, false)]
    {
        assert_eq!(sent(builder(url, "m"), &request).await.is_ok(), is_taken, "{url}");
    }
}

pub(crate) fn item(raw: &Value) -> Part {
    Part::ProviderItem(ProviderItem::new("openai-chat", ItemKind::Reasoning, Json::from(raw)))
}

#[tokio::test]
async fn reasoning_goes_back_in_the_member_that_it_came_in() {
    let think = |text: &str| Part::thinking(text, None);
    let came_in = |protocol: &str, member: &str, text: &str| {
        Part::thinking(text, Signature::new(protocol, member))
    };
    let own = |member: &str, text: &str| came_in("openai-chat", member, text);
    let text = |text: &str| Part::text(text);
    let details = |list: Value| item(&json!({ "reasoning_details": list }));
    #[rustfmt::skip]
    let cases = [
        (vec![own("reasoning_content", "a"), text("b")], json!({ "reasoning_content": "a" })),
        (vec![own("reasoning", "a"), text("b"), own("reasoning", "c")], json!({ "reasoning": "ac" })),
        (vec![think("a"), text("b")], json!({})),
        (vec![think("a"), text("b"), own("reasoning", "c")], json!({ "reasoning": "c" })),
        (vec![came_in("anthropic", "reasoning", "a"), text("b")], json!({})),
        (vec![own("model", "a"), text("b")], json!({})),
        (vec![own("reasoning", "a"), text("b"), details(json!([{ "index": 0 }])), details(json!([{ "index": 1 }]))], json!({ "reasoning_details": [{ "index": 0 }, { "index": 1 }] })),
        (vec![own("reasoning", ""), text("b")], json!({})),
    ];
    for (parts, members) in cases {
        let shown = format!("{parts:?}");
        let request = Request::new(vec![Message::new(MessageRole::Assistant, parts)].into());
        let mut want = json!({ "role": "assistant", "content": "b" });
        let bare = want.clone();
        want.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        // One history, several servers.
        for url in ["http://local", "https://api.mistral.ai/v1", "http://local"] {
            let want = if url == "http://local" { &want } else { &bare };
            assert_eq!(&value_at(url, &request).await["messages"][0], want, "{url}: {shown}");
        }
    }
}
