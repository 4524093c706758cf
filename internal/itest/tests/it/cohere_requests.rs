//! Cohere: what requests say, and that what was sent stays.

use std::sync::Arc;

use forgeline::{
    llm::{
        Protocol, Provider, ProviderError, Request, ResponseFormat, RetryPolicy, Thinking,
        ToolChoice, ToolSpec,
        cohere::{ChatV2, Cohere},
        collect,
        http::HttpBuilder,
    },
    types::{
        ErrorCode, Json, Message, MessageRole, Part, Signature, ToolCall, ToolResult, Transcript,
    },
};
use forgeline_testkit::{
    canned::{Canned, sent, sent_json},
    recorded,
};
use serde_json::{Value, json};

fn builder() -> HttpBuilder<ChatV2> {
    Cohere::builder().model("command-x").api_key("secret").retry(RetryPolicy::NONE)
}

fn provider(server: &Arc<Canned>) -> Cohere {
    builder().transport(Arc::clone(server)).build().unwrap()
}

async fn value(request: &Request) -> Value {
    sent_json(builder(), request).await
}

fn text(text: &str) -> Part {
    Part::text(text)
}

fn thinking(text: &str, signature: Option<&str>) -> Part {
    Part::thinking(text, signature.map(|proof| Signature::new("anthropic", proof)))
}

#[tokio::test]
async fn a_request_goes_to_chat_with_a_bearer_token() {
    let sent = sent(builder(), &Request::prompt("x")).await.unwrap();
    assert_eq!(sent.url, "https://api.cohere.com/v2/chat");
    assert!(sent.headers.iter().any(|(name, _)| name == "authorization"));
    assert_eq!(
        sent.body.concat(),
        br#"{"model":"command-x","stream":true,"messages":[{"role":"user","content":"x"}]}"#,
        "nothing that was not asked for"
    );
}

#[tokio::test]
async fn every_field_of_a_request_has_its_place() {
    let schema = json!({ "type": "object", "properties": {} });
    let arguments = Json::parse(r#"{"n":12345678901234567890123}"#).unwrap();
    let mut cut = ToolCall::new("c2", "b", json!({}));
    cut.arguments = None;
    let messages = Transcript::from(vec![
        Message::user("Hello"),
        Message::new(
            MessageRole::Assistant,
            vec![
                thinking("I will ", None),
                thinking("of another vendor", Some("proof")),
                thinking("look.", None),
                text("Let me see."),
                Part::ToolCall(ToolCall::new("c1", "files.read", arguments)),
                Part::ToolCall(cut),
            ],
        ),
        Message::new(
            MessageRole::Tool,
            vec![
                Part::ToolResult(ToolResult::new("c1", "files.read", "one")),
                Part::ToolResult(ToolResult::new("c2", "b", "two").error(true)),
            ],
        ),
        Message::new(
            MessageRole::User,
            vec![
                text("And this?"),
                Part::image("image/png", "AAAA"),
                Part::image("image/png", "https://x/y.png"),
            ],
        ),
        Message::new(MessageRole::Assistant, vec![thinking("hm", None), text("Done.")]),
        Message::new(MessageRole::Assistant, vec![thinking("nothing said", None)]),
    ]);
    let request = Request::new(messages)
        .system("Be brief.")
        .tools(vec![ToolSpec::new("files.read", "Reads", schema.clone()).strict(true)])
        .tool_choice(ToolChoice::Tool("files.read".into()))
        .parallel_tool_calls(true)
        .max_tokens(5)
        .temperature(0.7)
        .top_p(0.5)
        .top_k(40)
        .seed(7)
        .stop(vec!["END".into()])
        .thinking(Thinking::Budget(512))
        .metadata("user_id", "u")
        .response_format(ResponseFormat::json_schema("n", schema.clone(), true))
        .extra("seed", 8)
        .extra("safety_mode", "OFF");
    let call = |id: &str, name: &str, arguments: &str| json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } });
    let want = json!({
        "model": "command-x",
        "stream": true,
        "max_tokens": 5,
        "temperature": 0.7,
        "p": 0.5,
        "k": 40,
        "stop_sequences": ["END"],
        "thinking": { "type": "enabled", "token_budget": 512 },
        "response_format": { "type": "json_object", "json_schema": schema },
        "tool_choice": "REQUIRED",
        "strict_tools": true,
        "tools": [{ "type": "function", "function": { "name": "files_read", "description": "Reads", "parameters": schema } }],
        "seed": 8,
        "safety_mode": "OFF",
        "messages": [
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": "Hello" },
            {
                "role": "assistant",
                "tool_plan": "I will look.",
                "tool_calls": [call("c1", "files_read", "{\"n\":12345678901234567890123}"), call("c2", "b", "{}")],
                "content": "Let me see.",
            },
            { "role": "tool", "tool_call_id": "c1", "content": "one" },
            { "role": "tool", "tool_call_id": "c2", "content": "two" },
            { "role": "user", "content": [
                { "type": "text", "text": "And this?" },
                { "type": "image_url", "image_url": { "url": "data:image/png;base64,AAAA" } },
                { "type": "image_url", "image_url": { "url": "https://x/y.png" } },
            ] },
            { "role": "assistant", "content": "Done." },
        ],
    });
    assert_eq!(value(&request).await, want);
}

#[tokio::test]
async fn settings_have_cohere_s_words() {
    let ask = || Request::prompt("x");
    let tool = || ask().tools(vec![ToolSpec::new("t", "", json!({}))]);
    #[rustfmt::skip]
    let cases = [
        (ask().thinking(Thinking::Off),                     "thinking",        json!({ "type": "disabled" })),
        (ask().thinking(Thinking::On),                      "thinking",        json!({ "type": "enabled" })),
        (ask().response_format(ResponseFormat::JsonObject), "response_format", json!({ "type": "json_object" })),
        (tool().tool_choice(ToolChoice::Auto),              "tool_choice",     Value::Null),
        (tool().tool_choice(ToolChoice::None),              "tool_choice",     json!("NONE")),
        (tool().tool_choice(ToolChoice::Required),          "tool_choice",     json!("REQUIRED")),
        (tool(),                                            "strict_tools",    Value::Null),
        (ask().extra("messages", json!([])),                "messages",        json!([])),
    ];
    for (request, key, want) in cases {
        let body = value(&request).await;
        assert_eq!(body[key], want, "{body}");
    }
}

#[tokio::test]
async fn what_cohere_cannot_do_is_an_error_before_anything_is_sent() {
    let tools = || vec![ToolSpec::new("a", "", json!({})), ToolSpec::new("b", "", json!({}))];
    let document = Part::document("text/plain", "AA==", None);
    let cases = [
        Request::prompt("x").reasoning_effort("low"),
        Request::prompt("x").tools(tools()).parallel_tool_calls(false),
        Request::prompt("x").tools(tools()).tool_choice(ToolChoice::Tool("a".into())),
        Request::new(Transcript::from(vec![Message::new(MessageRole::User, vec![document])])),
    ];
    for request in cases {
        let server = Canned::new("");
        let error = provider(&server).stream_completion(request).await.map(drop).unwrap_err();
        assert!(matches!(error, ProviderError::Unsupported { .. }), "{error:?}");
        assert!(server.sent().is_empty());
    }
}

#[tokio::test]
async fn recorded_calls_go_back_with_the_plan_before_them() {
    let Some(bodies) = recorded::bodies_with_expectation(Protocol::Cohere) else { return };
    for recorded in bodies {
        let server = Canned::new(recorded.bytes.clone());
        let answer = provider(&server).stream_completion(Request::prompt("x")).await.unwrap();
        let message = collect(answer).await.unwrap().into_message();
        let history = Transcript::from(vec![Message::user("x"), message]);
        let said = value(&Request::new(history)).await["messages"][1].take();
        let expected = &recorded.expected;
        let plan = said["tool_plan"].as_str().unwrap_or_default();
        assert_eq!(plan, expected["thinking"], "{}", recorded.name);
        let calls = said["tool_calls"].as_array().unwrap();
        for (call, want) in calls.iter().zip(expected["tool_calls"].as_array().unwrap()) {
            assert_eq!((&call["id"], &call["function"]["name"]), (&want["id"], &want["name"]));
            let arguments = call["function"]["arguments"].as_str().unwrap();
            let arguments: Value = serde_json::from_str(arguments).unwrap();
            assert_eq!(arguments, want["arguments_json"], "{}", recorded.name);
        }
    }
}

#[tokio::test]
async fn error_bodies_are_typed() {
    use ErrorCode::{Auth, ContextExceeded, InvalidRequest, RateLimited, Status};
    #[rustfmt::skip]
    let cases = [
        (400, r#"{"error_type":"TOO_MANY_TOKENS","id":"i","message":"too many tokens: size limit exceeded by 9 tokens."}"#, ContextExceeded),
        (400, r#"{"message":"invalid request: all elements in history must have a message."}"#, InvalidRequest),
        (401, r#"{"message":"invalid api token"}"#, Auth),
        (404, r#"{"id":"i","message":"model 'x' not found"}"#, InvalidRequest),
        (429, r#"{"message":"You are using a Trial key, which is limited to 20 API calls / minute."}"#, RateLimited),
        (500, r#"{"message":"internal server error, this has been reported to our developers."}"#, Status),
    ];
    for (status, body, kind) in cases {
        let server = Canned::status(status, body);
        let error = provider(&server).stream_completion(Request::prompt("x")).await.map(drop);
        let Err(ProviderError::Status(error)) = error else { panic!("{body}: {error:?}") };
        assert_eq!(error.kind, kind, "{body}");
    }
}
