//! Request bodies for Ollama: what they say, and that what was sent stays.

use std::sync::Arc;

use forgeline::{
    llm::{
        Provider, ProviderError, Request, ResponseFormat, Thinking, ToolChoice, ToolSpec, collect,
        http::HttpBuilder,
        ollama::{Ollama, OllamaChat},
        parser::ThinkingDialect,
    },
    types::{Json, Message, MessageRole, Part, Signature, ToolCall, ToolResult, Transcript},
};
use forgeline_testkit::{
    canned::{Canned, sent, sent_json},
    recorded,
};
use serde_json::{Value, json};

fn builder() -> HttpBuilder<OllamaChat> {
    Ollama::builder().model("m")
}

async fn value(request: &Request) -> Value {
    sent_json(builder(), request).await
}

fn tools() -> Vec<ToolSpec> {
    vec![ToolSpec::new("files.read", "Reads", json!({ "type": "object" }))]
}

#[tokio::test]
async fn every_field_of_a_request_has_its_place() {
    let schema = json!({ "type": "object", "properties": {} });
    let arguments = Json::parse(r#"{ "path": "é", "from": 1.50 }"#).unwrap();
    let mut cut = ToolCall::new("c2", "files.read", json!({}));
    (cut.arguments, cut.arguments_raw) = (None, "{\"pa".to_owned());
    let messages = Transcript::from(vec![
        Message::user("Hello"),
        Message::new(
            MessageRole::Assistant,
            vec![
                Part::thinking("hm", Signature::new("anthropic", "of another vendor")),
                Part::text("Let me see."),
                Part::ToolCall(ToolCall::new("c1", "files.read", arguments)),
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
            vec![Part::text("And this?"), Part::image("image/png", "AAAA")],
        ),
    ]);
    let request = Request::new(messages)
        .system("Be brief.")
        .tools(tools())
        .tool_choice(ToolChoice::Auto)
        .parallel_tool_calls(true)
        .max_tokens(5)
        .temperature(0.7)
        .top_p(0.5)
        .top_k(40)
        .seed(7)
        .stop(vec!["END".into()])
        .thinking(Thinking::On)
        .reasoning_effort("low")
        .metadata("user_id", "u")
        .response_format(ResponseFormat::json_schema("n", schema.clone(), true))
        .extra("options", json!({ "num_ctx": 8192, "seed": 8 }))
        .extra("keep_alive", "10m");
    let call = |id: &str, arguments: Value| json!({ "id": id, "type": "function", "function": { "name": "files_read", "arguments": arguments } });
    let want = json!({
        "model": "m",
        "stream": true,
        "think": "low",
        "format": schema,
        "tools": [{ "type": "function", "function": { "name": "files_read", "description": "Reads", "parameters": schema } }],
        "options": { "num_predict": 5, "temperature": 0.7, "top_p": 0.5, "top_k": 40, "seed": 8, "stop": ["END"], "num_ctx": 8192 },
        "keep_alive": "10m",
        "messages": [
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": "Hello" },
            { "role": "assistant", "content": "Let me see.", "thinking": "hm", "tool_calls": [call("c1", json!({ "path": "é", "from": 1.50 })), call("c2", json!({}))] },
            { "role": "tool", "content": "one", "tool_name": "files_read", "tool_call_id": "c1" },
            { "role": "tool", "content": "cut", "tool_name": "files_read", "tool_call_id": "c2" },
            { "role": "user", "content": "And this?", "images": ["AAAA"] },
        ],
    });
    let sent = sent(builder(), &request).await.unwrap();
    let body = sent.body.concat();
    assert_eq!(serde_json::from_slice::<Value>(&body).unwrap(), want);
    let text = String::from_utf8(body).unwrap();
    assert!(text.contains(r#"{"path":"é","from":1.50}"#), "arguments go back as written: {text}");
    assert_eq!(sent.url, "http://127.0.0.1:11434/api/chat");
    let header = |name: &str| sent.headers.iter().find(|(key, _)| key == name).map(|(_, it)| it);
    assert_eq!(header("accept").map(AsRef::as_ref), Some("application/x-ndjson"));
    assert_eq!(header("authorization"), None);
}

#[tokio::test]
async fn a_plain_request_has_nothing_that_was_not_asked_for() {
    let want =
        json!({ "model": "m", "stream": true, "messages": [{ "role": "user", "content": "a" }] });
    assert_eq!(value(&Request::prompt("a")).await, want);
    let request = Request::prompt("a").tools(tools()).tool_choice(ToolChoice::None);
    assert_eq!(value(&request).await, want, "a model that gets no tools calls none");
    let own = Request::prompt("a").extra("messages", json!([])).extra("model", "n");
    assert_eq!(value(&own).await, json!({ "stream": true, "messages": [], "model": "n" }));
}

#[tokio::test]
async fn thinking_and_format_take_each_of_their_forms() {
    #[rustfmt::skip]
    let cases = [
        ("off",      Request::prompt("a").thinking(Thinking::Off).reasoning_effort("high"),  "think",  json!(false)),
        ("on",       Request::prompt("a").thinking(Thinking::On),                            "think",  json!(true)),
        ("effort",   Request::prompt("a").reasoning_effort("high"),                          "think",  json!("high")),
        ("any JSON", Request::prompt("a").response_format(ResponseFormat::JsonObject),       "format", json!("json")),
        ("extra",    Request::prompt("a").thinking(Thinking::On).extra("think", "low"),      "think",  json!("low")),
    ];
    for (name, request, field, want) in cases {
        assert_eq!(value(&request).await[field], want, "{name}");
    }
}

#[tokio::test]
async fn what_it_cannot_do_is_an_error_and_nothing_is_sent() {
    let part =
        |part| Request::new(Transcript::from(vec![Message::new(MessageRole::User, vec![part])]));
    let (data, media_type) = ("https://x/y.png".to_owned(), "image/png".to_owned());
    let with_tools = || Request::prompt("a").tools(tools());
    #[rustfmt::skip]
    let cases = [
        ("budget",     Request::prompt("a").thinking(Thinking::Budget(1024)),                       "reasoning_effort"),
        ("forced",     with_tools().tool_choice(ToolChoice::Required),                              "tool_choice"),
        ("forced one", with_tools().tool_choice(ToolChoice::Tool("files.read".into())),             "tool_choice"),
        ("one call",   with_tools().parallel_tool_calls(false),                                     "parallel_tool_calls"),
        ("image URL",  part(Part::image(media_type.clone(), data.clone())),    "base64"),
        ("document",   part(Part::document(media_type, "AAAA", None)),        "documents"),
    ];
    for (name, request, advice) in cases {
        let error = sent(builder(), &request).await.err().unwrap();
        assert!(matches!(error, ProviderError::Unsupported { .. }), "{name}: {error:?}");
        assert!(error.to_string().contains(advice), "{name}: {error}");
    }
    let server = Canned::new("");
    let nameless = Ollama::builder().base_url("http://h").transport(Arc::clone(&server));
    let nameless = nameless.build().unwrap();
    let error = nameless.stream_completion(Request::prompt("a")).await.err().unwrap();
    assert!(
        matches!(&error, ProviderError::Config { message, .. } if message.contains("OLLAMA_MODEL"))
    );
    assert!(server.sent().is_empty());
}

/// The message of ours that says what a recorded one says; `before` has the calls that results answer.
fn ours(message: &Value, before: &[Message]) -> Message {
    let text = message["content"].as_str().unwrap().to_owned();
    match message["role"].as_str().unwrap() {
        "tool" => {
            let name = message["tool_name"].as_str().unwrap();
            let id = before.last().unwrap().tool_calls().next().unwrap().id.clone();
            let result = ToolResult::new(id, name, text);
            Message::new(MessageRole::Tool, vec![Part::ToolResult(result)])
        }
        "system" => Message::new(MessageRole::System, vec![Part::text(text)]),
        "user" => Message::user(text),
        other => panic!("an answer comes from the recorded response, not from {other}"),
    }
}

/// What the client that was recorded did not write, and why we do: the ids of calls, which newer
/// servers give and take, so that two results of one tool are distinguished; older ones ignore them.
fn without_ids(mut message: Value) -> Value {
    let message_fields = message.as_object_mut().unwrap();
    message_fields.shift_remove("tool_call_id");
    for call in message_fields.get_mut("tool_calls").into_iter().filter_map(Value::as_array_mut) {
        for call in call {
            call.as_object_mut().unwrap().shift_remove("id");
        }
    }
    message
}

#[tokio::test]
async fn recorded_conversations_go_on_as_working_clients_went_on() {
    let Some(folder) = recorded::folder() else { return };
    let mut read = 0;
    for session in ["ollama-tools", "ollama-thinking-tool"] {
        let mut transcript: Vec<Message> = Vec::new();
        for turn in 1.. {
            let file = folder.join(format!("sessions/{session}/turn{turn}.request.json"));
            if !file.is_file() {
                break;
            }
            let theirs = recorded::json(&file)["body"].clone();
            let messages = theirs["messages"].as_array().unwrap();
            for message in &messages[transcript.len()..] {
                let message = ours(message, &transcript);
                transcript.push(message);
            }
            let tools = theirs["tools"].as_array().unwrap().iter().map(|tool| {
                let tool = &tool["function"];
                let text = |key: &str| tool[key].as_str().unwrap();
                ToolSpec::new(text("name"), text("description"), tool["parameters"].clone())
            });
            let thinking = if theirs["think"] == true { Thinking::On } else { Thinking::Off };
            let request = Request::new(Transcript::from(transcript.clone()))
                .tools(tools.collect::<Vec<_>>())
                .thinking(thinking);
            let answer = folder.join(format!("sessions/{session}/turn{turn}.response.ndjson"));
            let server = Canned::new(std::fs::read(answer).unwrap());
            // One of the answers has a stray `</think>` in its text, which that client left there; we
            // take it for the end of thinking unless the request says that there is none.
            let builder = Ollama::builder().thinking(ThinkingDialect::NONE);
            let builder = builder.model(theirs["model"].as_str().unwrap());
            let provider = builder.transport(Arc::clone(&server)).build().unwrap();
            let chunks = provider.stream_completion(request).await;
            // The answer is what the recorded server said; the next turn sends it back.
            transcript.push(collect(chunks.unwrap()).await.unwrap().into_message());
            let mut body = server.json();
            for message in body["messages"].as_array_mut().unwrap() {
                *message = without_ids(message.take());
            }
            // Options that say nothing are not sent.
            body["options"] = json!({});
            assert_eq!(body, theirs, "{session} turn {turn}");
            read += 1;
        }
    }
    forgeline_testkit::say(format!("read {read} requests"));
    assert!(read >= 4, "{read}");
}
