//! Request bodies: what they say, and that what was sent stays.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use forgeline::{
    llm::{
        Provider, Request, ResponseFormat, ToolChoice, ToolSpec,
        openai::OpenAi,
        transport::{HttpRequest, HttpResponse, Transport, TransportError},
    },
    types::{Json, Message, MessageRole, Part, ToolCall, ToolResult, Transcript},
};
use forgeline_testkit::shared;
use futures_util::{FutureExt as _, future::BoxFuture, stream};
use serde_json::{Value, json};

/// Keeps the bodies that it is asked to send.
#[derive(Default)]
struct Recorder(Mutex<Vec<Vec<Bytes>>>);

impl Transport for Recorder {
    fn send(
        &self,
        request: HttpRequest,
    ) -> BoxFuture<'static, Result<HttpResponse, TransportError>> {
        self.0.lock().unwrap().push(request.body);
        let response = HttpResponse::new(200, Box::pin(stream::empty()));
        async move { Ok(response) }.boxed()
    }
}

async fn segments(request: &Request) -> Vec<Bytes> {
    let recorder = Arc::new(Recorder::default());
    let builder = OpenAi::builder().base_url("http://local").model("m");
    let provider = builder.transport(Arc::clone(&recorder)).build().unwrap();
    drop(provider.stream_completion(request.clone()).await.unwrap());
    recorder.0.lock().unwrap().pop().unwrap()
}

async fn value(request: &Request) -> Value {
    serde_json::from_slice(&segments(request).await.concat()).unwrap()
}

#[tokio::test]
async fn every_field_of_a_request_has_its_place() {
    let schema = json!({ "type": "object" });
    let mut call = ToolCall::new("c1", "files.read", json!({ "path": "é" }));
    call.arguments_raw = "{ \"path\": \"é\" }".to_owned();
    let mut cut = ToolCall::new("c2", "files.read", json!({}));
    (cut.arguments, cut.arguments_raw) = (None, "{\"pa".to_owned());
    let messages = Transcript::from(vec![
        Message::user("Hello"),
        Message::new(
            MessageRole::Assistant,
            vec![
                Part::Thinking { text: "hm".into(), signature: None },
                Part::Text { text: "Let me see.".into() },
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
                Part::Text { text: "And this?".into() },
                Part::Image { media_type: "image/png".into(), data: "AAAA".into() },
                Part::Image { media_type: "image/png".into(), data: "https://x/y.png".into() },
            ],
        ),
    ]);
    let request = Request::new(messages)
        .system("Be brief.")
        .tools(vec![ToolSpec::new("files.read", "Reads", schema.clone())])
        .tool_choice(ToolChoice::Tool("files.read".into()))
        .parallel_tool_calls(false)
        .max_tokens(5)
        .temperature(0.7)
        .top_p(0.5)
        .top_k(40)
        .seed(7)
        .stop(vec!["END".into()])
        .reasoning_effort("low")
        .response_format(ResponseFormat::JsonSchema {
            name: "n".into(),
            schema: schema.clone(),
            strict: true,
        })
        .extra("seed", 8)
        .extra("vendor", json!({ "a": 1 }));
    let call = |id: &str, arguments: &str| json!({ "id": id, "type": "function", "function": { "name": "files_x2e_read", "arguments": arguments } });
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
        "response_format": { "type": "json_schema", "json_schema": { "name": "n", "schema": schema, "strict": true } },
        "tool_choice": { "type": "function", "function": { "name": "files_x2e_read" } },
        "parallel_tool_calls": false,
        "tools": [{ "type": "function", "function": { "name": "files_x2e_read", "description": "Reads", "parameters": schema } }],
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
async fn what_was_sent_goes_out_again_as_the_same_bytes_without_encoding_it_again() {
    let tools: Arc<[ToolSpec]> =
        vec![ToolSpec::new("t", "A tool", json!({ "type": "object" }))].into();
    let system: Arc<str> = "Be brief.".into();
    let mut transcript = Transcript::default();
    transcript.push(Message::user("Hello"));
    let mut before: Vec<Bytes> = Vec::new();
    for turn in 0..500 {
        let request =
            Request::new(transcript.clone()).system(Arc::clone(&system)).tools(Arc::clone(&tools));
        let body = segments(&request).await;
        let fresh = Request::new(transcript.iter().map(|message| (**message).clone()).collect());
        let fresh = fresh.system(Arc::clone(&system)).tools(Arc::clone(&tools));
        if turn % 50 == 0 {
            assert_eq!(
                body.concat(),
                segments(&fresh).await.concat(),
                "turn {turn}: same input, same bytes"
            );
        }
        let (old, new) = (before.concat(), body.concat());
        let prefix = old.strip_suffix(b"]}").unwrap_or_default();
        assert!(new.starts_with(prefix), "turn {turn}: the body before is a prefix");
        assert!(body.len() < 24, "turn {turn}: {} segments", body.len());
        drop(request);
        transcript.push(Message::assistant(format!("answer {turn}")));
        transcript.push(Message::user("next"));
        before = body;
    }
    let request = Request::new(transcript.clone()).system(system).tools(tools);
    let (one, two) = (segments(&request).await, segments(&request).await);
    for (one, two) in one.iter().zip(&two).filter(|(one, _)| one.len() > 1000) {
        assert_eq!(one.as_ptr(), two.as_ptr(), "an encoded history is shared, not copied");
    }
}

#[tokio::test]
async fn the_encoded_history_fits_any_other_setting_of_the_request() {
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

/// A message in one spelling: content as text, arguments as values, nothing that is empty.
fn normal(message: &Value) -> Value {
    let content = match &message["content"] {
        Value::Array(parts) => parts.iter().map(|part| part["text"].as_str().unwrap()).collect(),
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    };
    let calls = message["tool_calls"].as_array().into_iter().flatten().map(|call| {
        let arguments = call["function"]["arguments"].as_str().unwrap();
        let arguments: Value = serde_json::from_str(arguments).unwrap();
        let arguments = if arguments.is_null() { json!({}) } else { arguments };
        json!([call["id"], call["function"]["name"], arguments])
    });
    let calls: Vec<_> = calls.collect();
    json!([message["role"], content, calls, message["tool_call_id"]])
}

/// The message of ours that says what a recorded one says.
fn ours(message: &Value) -> Message {
    let [role, content, calls, id] =
        normal(message).as_array().unwrap().clone().try_into().unwrap();
    let content = content.as_str().unwrap().to_owned();
    match role.as_str().unwrap() {
        "tool" => {
            let result = ToolResult::new(id.as_str().unwrap(), "", content);
            Message::new(MessageRole::Tool, vec![Part::ToolResult(result)])
        }
        "assistant" => {
            let mut parts = vec![Part::Text { text: content }];
            parts.extend(calls.as_array().unwrap().iter().map(|call| {
                let arguments = Json::from(&call[2]);
                Part::ToolCall(ToolCall::new(
                    call[0].as_str().unwrap(),
                    call[1].as_str().unwrap(),
                    arguments,
                ))
            }));
            Message::new(MessageRole::Assistant, parts)
        }
        "system" => Message::new(MessageRole::System, vec![Part::Text { text: content }]),
        _ => Message::user(content),
    }
}

#[tokio::test]
async fn recorded_conversations_are_said_as_working_clients_said_them() {
    let Some(folder) = shared::folder() else {
        forgeline_testkit::say("skipped: ../shared is missing");
        return;
    };
    let mut read = 0;
    for session in [
        "openai-tool-then-text-raw",
        "openai-parallel-tools",
        "deepseek-multi-turn-raw",
        "deepseek-reasoning-tool",
        "openrouter-reasoning-details-raw",
        "mistral-multi-turn-raw",
        "ollama-openai-compat-multi-turn-raw",
        "llamacpp-tools",
        "groq-parallel-null-args",
    ] {
        for turn in 1.. {
            let file = folder.join(format!("sessions/{session}/turn{turn}.request.json"));
            if !file.is_file() {
                break;
            }
            let theirs = shared::json(&file)["body"].clone();
            let messages = theirs["messages"].as_array().unwrap();
            let tools = theirs["tools"].as_array().into_iter().flatten().map(|tool| {
                let tool = &tool["function"];
                let description = tool["description"].as_str().unwrap_or_default();
                ToolSpec::new(
                    tool["name"].as_str().unwrap(),
                    description,
                    tool["parameters"].clone(),
                )
            });
            let request = Request::new(messages.iter().map(ours).collect());
            let body = value(&request.tools(tools.collect::<Vec<_>>())).await;
            let said: Vec<_> = body["messages"].as_array().unwrap().iter().map(normal).collect();
            let want: Vec<_> = messages.iter().map(normal).collect();
            assert_eq!(said, want, "{session} turn {turn}");
            for (ours, theirs) in body["tools"]
                .as_array()
                .into_iter()
                .flatten()
                .zip(theirs["tools"].as_array().into_iter().flatten())
            {
                assert_eq!(ours["function"]["parameters"], theirs["function"]["parameters"]);
                assert_eq!(ours["function"]["name"], theirs["function"]["name"]);
            }
            read += 1;
        }
    }
    forgeline_testkit::say(format!("read {read} requests"));
    assert!(read >= 20, "{read}");
}
