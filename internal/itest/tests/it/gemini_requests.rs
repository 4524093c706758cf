//! Gemini: what requests say, and that what was sent stays.

use std::{sync::Arc, time::Duration};

use forgeline::{
    llm::{
        Provider, ProviderError, Request, ResponseFormat, RetryPolicy, Thinking, ToolChoice,
        ToolSpec,
        gemini::{Gemini, GenerateContent},
        http::HttpBuilder,
    },
    types::{ErrorCode, Json, Message, MessageRole, Part, ToolCall, ToolResult, Transcript},
};
use forgeline_testkit::canned::{Canned, sent, sent_json};
use serde_json::{Value, json};

fn builder() -> HttpBuilder<GenerateContent> {
    Gemini::builder().model("gemini-x").api_key("secret").retry(RetryPolicy::NONE)
}

pub(crate) fn provider(server: &Arc<Canned>) -> Gemini {
    builder().transport(Arc::clone(server)).build().unwrap()
}

pub(crate) async fn value(request: &Request) -> Value {
    sent_json(builder(), request).await
}

fn text(text: &str) -> Part {
    Part::text(text)
}

#[tokio::test]
async fn a_request_goes_to_the_model_with_the_key_in_its_header() {
    let sent = sent(builder(), &Request::prompt("x")).await.unwrap();
    let want = "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse";
    assert_eq!(sent.url, want);
    let key = sent.headers.iter().find(|(name, _)| name == "x-goog-api-key");
    assert!(key.is_some(), "the key has a header of its own");
    assert!(!sent.headers.iter().any(|(name, _)| name == "authorization"));
    assert_eq!(
        sent.body.concat(),
        br#"{"contents":[{"role":"user","parts":[{"text":"x"}]}]}"#,
        "nothing that was not asked for"
    );
}

#[tokio::test]
async fn every_field_of_a_request_has_its_place() {
    let schema = json!({ "type": "object", "additionalProperties": false });
    let mut cut = ToolCall::new("call_1", "b", json!({}));
    (cut.arguments, cut.index) = (None, 1);
    let messages = Transcript::from(vec![
        Message::user("Hello"),
        Message::new(
            MessageRole::Assistant,
            vec![
                Part::thinking("unproved", None),
                text("Let me see."),
                Part::ToolCall(ToolCall::new(
                    "id7",
                    "files.read",
                    Json::parse(r#"{"n":12345678901234567890123}"#).unwrap(),
                )),
                Part::ToolCall(cut),
            ],
        ),
        Message::new(
            MessageRole::Tool,
            vec![
                Part::ToolResult(ToolResult::new("id7", "files.read", "{\"a\":1}")),
                Part::ToolResult(ToolResult::new("call_1", "b", "broken").error(true)),
            ],
        ),
        Message::new(
            MessageRole::User,
            vec![
                text("And this?"),
                Part::image("image/png", "AAAA"),
                Part::document("application/pdf", "gs://b/x.pdf", None),
            ],
        ),
    ]);
    let request = Request::new(messages)
        .system("Be brief.")
        .tools(vec![ToolSpec::new("files.read", "Reads", schema.clone())])
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
        .extra("generationConfig", json!({ "seed": 8, "responseModalities": ["TEXT"] }))
        .extra("safetySettings", json!([]));
    let body = sent(builder(), &request).await.unwrap().body.concat();
    let exact = r#"{"id":"id7","name":"files_read","args":{"n":12345678901234567890123}}"#;
    let body_text = String::from_utf8(body).unwrap();
    assert!(body_text.contains(exact), "numbers keep their spelling: {body_text}");
    let mut got: Value = serde_json::from_str(&body_text).unwrap();
    got["contents"][1]["parts"][1]["functionCall"]["args"].take();
    let want = json!({
        "generationConfig": {
            "maxOutputTokens": 5,
            "temperature": 0.7,
            "topP": 0.5,
            "topK": 40,
            "stopSequences": ["END"],
            "responseMimeType": "application/json",
            "responseJsonSchema": schema,
            "thinkingConfig": { "includeThoughts": true, "thinkingBudget": 512 },
            "seed": 8,
            "responseModalities": ["TEXT"],
        },
        "toolConfig": { "functionCallingConfig": { "mode": "ANY", "allowedFunctionNames": ["files_read"] } },
        "tools": [{ "functionDeclarations": [{ "name": "files_read", "description": "Reads", "parametersJsonSchema": schema }] }],
        "systemInstruction": { "parts": [{ "text": "Be brief." }] },
        "safetySettings": [],
        "contents": [
            { "role": "user", "parts": [{ "text": "Hello" }] },
            { "role": "model", "parts": [
                { "text": "Let me see." },
                { "functionCall": { "id": "id7", "name": "files_read", "args": null } },
                { "functionCall": { "name": "b", "args": {} } },
            ] },
            { "role": "user", "parts": [
                { "functionResponse": { "id": "id7", "name": "files_read", "response": { "output": "{\"a\":1}" } } },
                { "functionResponse": { "name": "b", "response": { "error": "broken" } } },
            ] },
            { "role": "user", "parts": [
                { "text": "And this?" },
                { "inlineData": { "mimeType": "image/png", "data": "AAAA" } },
                { "fileData": { "mimeType": "application/pdf", "fileUri": "gs://b/x.pdf" } },
            ] },
        ],
    });
    assert_eq!(got, want);
}

#[tokio::test]
async fn settings_have_gemini_s_words() {
    let ask = || Request::prompt("x");
    let tool = || ask().tools(vec![ToolSpec::new("t", "", json!({}))]);
    let thinking = |value: Value| json!({ "generationConfig": { "thinkingConfig": value } });
    let mode = |mode: &str| json!({ "toolConfig": { "functionCallingConfig": { "mode": mode } } });
    #[rustfmt::skip]
    let cases = [
        (ask().thinking(Thinking::Off),                             thinking(json!({ "thinkingBudget": 0 }))),
        (ask().thinking(Thinking::On),                              thinking(json!({ "includeThoughts": true, "thinkingBudget": -1 }))),
        (ask().thinking(Thinking::On).reasoning_effort("low"),      thinking(json!({ "includeThoughts": true, "thinkingLevel": "low" }))),
        (ask().reasoning_effort("high"),                            thinking(json!({ "thinkingLevel": "high" }))),
        (ask().response_format(ResponseFormat::JsonObject),         json!({ "generationConfig": { "responseMimeType": "application/json" } })),
        (ask().extra("generationConfig", Value::Null).max_tokens(1), json!({ "generationConfig": null })),
        (tool().tool_choice(ToolChoice::Auto),                      mode("AUTO")),
        (tool().tool_choice(ToolChoice::Required),                  mode("ANY")),
        (tool().tool_choice(ToolChoice::None),                      mode("NONE")),
        (ask().extra("contents", json!([])),                        json!({ "contents": [] })),
    ];
    for (request, want) in cases {
        let body = value(&request).await;
        for (key, want) in want.as_object().unwrap() {
            assert_eq!(&body[key], want, "{body}");
        }
    }
}

#[tokio::test]
async fn what_gemini_cannot_do_is_an_error_before_anything_is_sent() {
    let nameless = Part::ToolResult(ToolResult::new("id", "", "x"));
    let cases = [
        Request::prompt("x")
            .tools(vec![ToolSpec::new("t", "", json!({}))])
            .parallel_tool_calls(false),
        Request::new(Transcript::from(vec![Message::new(MessageRole::Tool, vec![nameless])])),
        Request::new(
            vec![Message::user("x"), Message::new(MessageRole::System, vec![text("s")])].into(),
        ),
    ];
    for request in cases {
        let server = Canned::new("");
        let error = provider(&server).stream_completion(request).await.map(drop).unwrap_err();
        assert!(matches!(error, ProviderError::Unsupported { .. }), "{error:?}");
        assert!(server.sent().is_empty());
    }
    for thinking in [Thinking::Off, Thinking::Budget(2000)] {
        let request = Request::prompt("x").thinking(thinking).reasoning_effort("low");
        let server = Canned::new("");
        let error = provider(&server).stream_completion(request).await.map(drop).unwrap_err();
        assert!(matches!(error, ProviderError::Config { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn instructions_stand_before_the_conversation() {
    let system = |words: &str| Message::new(MessageRole::System, vec![text(words)]);
    let early = vec![system("a"), system(" "), system("b"), Message::user("x")];
    let body = value(&Request::new(early.clone().into()).system("r")).await;
    let want = json!({ "parts": [{ "text": "r" }, { "text": "a" }, { "text": "b" }] });
    assert_eq!(body["systemInstruction"], want);
    assert_eq!(body["contents"], json!([{ "role": "user", "parts": [{ "text": "x" }] }]));

    let mut history = Transcript::from(early);
    value(&Request::new(history.clone())).await;
    history.push(system("late"));
    let server = Canned::new("");
    let request = Request::new(history);
    let error = provider(&server).stream_completion(request.clone()).await.map(drop).unwrap_err();
    assert!(error.to_string().contains("before it"), "{error}");
    let own = value(&request.system("r").extra("contents", json!([]))).await;
    assert_eq!(own["systemInstruction"], json!({ "parts": [{ "text": "r" }] }));
}

#[tokio::test]
async fn error_bodies_are_typed_and_say_when_to_come_back() {
    use ErrorCode::{
        Auth, ContextExceeded, InvalidRequest, Overloaded, QuotaExhausted, RateLimited,
    };
    #[rustfmt::skip]
    let cases = [
        (400, r#"{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}"#, Auth, None),
        (400, r#"{"error":{"code":400,"message":"The input token count (2000000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}"#, ContextExceeded, None),
        (400, r#"[{"error":{"code":400,"message":"Invalid JSON payload received.","status":"INVALID_ARGUMENT"}}]"#, InvalidRequest, None),
        (403, r#"{"error":{"code":403,"message":"Method doesn't allow unregistered callers","status":"PERMISSION_DENIED"}}"#, Auth, None),
        (429, r#"{"error":{"code":429,"message":"You exceeded your current quota, please check your plan.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure"},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"48s"}]}}"#, RateLimited, Some(48)),
        (429, r#"{"error":{"code":429,"message":"You exceeded your current quota, please check your plan.","status":"RESOURCE_EXHAUSTED"}}"#, QuotaExhausted, None),
        (503, r#"{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}"#, Overloaded, None),
    ];
    for (status, body, kind, wait) in cases {
        let server = Canned::status(status, body);
        let error = provider(&server).stream_completion(Request::prompt("x")).await.map(drop);
        let Err(ProviderError::Status(error)) = error else { panic!("{body}: {error:?}") };
        assert_eq!(
            (error.kind, error.retry_after),
            (kind, wait.map(Duration::from_secs)),
            "{body}"
        );
    }
}
