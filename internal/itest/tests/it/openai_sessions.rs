//! Recorded conversations of Chat Completions: ours say what working clients said.

use forgeline::{
    llm::{Provider, Request, Thinking, ToolChoice, ToolSpec},
    types::{Json, Message, MessageRole, Part, Signature, ToolCall, ToolResult, Transcript},
};
use forgeline_testkit::{canned::Canned, recorded};
use serde_json::{Value, json};

use crate::openai_requests::{item, provider, value_at};

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
            let mut parts = Vec::new();
            for name in ["reasoning_content", "reasoning"] {
                if let Some(text) = message[name].as_str() {
                    let signature = Some(Signature::new("openai-chat", name));
                    parts.push(Part::thinking(text.to_owned(), signature));
                }
            }
            if message.get("reasoning_details").is_some() {
                parts.push(item(&json!({ "reasoning_details": message["reasoning_details"] })));
            }
            parts.push(Part::text(content));
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
        "system" => Message::new(MessageRole::System, vec![Part::text(content)]),
        _ => Message::user(content),
    }
}

/// Recorded conversations, and the server that they were held with.
const SESSIONS: [(&str, &str); 9] = [
    ("openai-tool-then-text-raw", "https://api.openai.com/v1"),
    ("openai-parallel-tools", "https://api.openai.com/v1"),
    ("deepseek-multi-turn-raw", "https://api.deepseek.com"),
    ("deepseek-reasoning-tool", "https://api.deepseek.com"),
    ("openrouter-reasoning-details-raw", "https://openrouter.ai/api/v1"),
    ("mistral-multi-turn-raw", "https://api.mistral.ai/v1"),
    ("ollama-openai-compat-multi-turn-raw", "http://127.0.0.1:11434/v1"),
    ("llamacpp-tools", "http://127.0.0.1:8080/v1"),
    ("groq-parallel-null-args", "https://api.groq.com/openai/v1"),
];

/// Fields in which our requests differ from the recorded ones, and why; those of messages still say
/// the same in one spelling.
const DIFFERENCES: [(&str, &str, &str); 9] = [
    ("", "messages", "compared message by message"),
    ("ollama-openai-compat-multi-turn-raw", "enable_thinking", "a field of that client alone"),
    (
        "ollama-openai-compat-multi-turn-raw",
        "reasoning_content",
        "says the reasoning twice; ours says it once, in the member that it came in",
    ),
    ("openai-tool-then-text-raw", "content", "null beside calls; ours is an empty text"),
    ("openai-parallel-tools", "content", "instructions as a list of one text; ours are the text"),
    ("groq-parallel-null-args", "content", "so here, and none beside calls; ours is an empty text"),
    ("llamacpp-tools", "content", "so here, and none beside calls; ours is an empty text"),
    (
        "deepseek-reasoning-tool",
        "tool_calls",
        "with the index of the stream, which no server needs",
    ),
    ("groq-parallel-null-args", "tool_calls", "arguments null; ours are {}, which servers parse"),
];

fn is_known(session: &str, field: &str) -> bool {
    let here = |of: &str| of.is_empty() || of == session;
    DIFFERENCES.iter().any(|(of, name, _)| here(of) && *name == field)
}

/// The fields of either object that differ.
fn differing(ours: &Value, theirs: &Value) -> Vec<String> {
    let mut keys: Vec<_> = theirs.as_object().unwrap().keys().cloned().collect();
    keys.extend(ours.as_object().unwrap().keys().filter(|key| theirs.get(key).is_none()).cloned());
    keys.retain(|key| ours.get(key) != theirs.get(key));
    keys
}

/// The request of ours that asks what a recorded one asks.
fn request(theirs: &Value, messages: Transcript) -> Request {
    let tools = theirs["tools"].as_array().into_iter().flatten().map(|tool| {
        let tool = &tool["function"];
        let description = tool["description"].as_str().unwrap_or_default();
        let name = tool["name"].as_str().unwrap();
        ToolSpec::new(name, description, tool["parameters"].clone())
            .strict(tool["strict"] == json!(true))
    });
    let mut request = Request::new(messages).tools(tools.collect::<Vec<_>>());
    request.max_tokens = theirs["max_tokens"].as_u64().map(|n| u32::try_from(n).unwrap());
    request.parallel_tool_calls = theirs["parallel_tool_calls"].as_bool();
    request.tool_choice = (theirs["tool_choice"] == "auto").then_some(ToolChoice::Auto);
    let budget = theirs["reasoning"]["max_tokens"].as_u64();
    request.thinking = budget.map(|tokens| Thinking::Budget(u32::try_from(tokens).unwrap()));
    if theirs["thinking"]["type"] == "enabled" {
        request.thinking = Some(Thinking::On);
    }
    request.extra("model", theirs["model"].clone())
}

fn turn(session: &str, number: usize) -> Option<Value> {
    let folder = recorded::folder()?;
    let file = folder.join(format!("sessions/{session}/turn{number}.request.json"));
    file.is_file().then(|| recorded::json(&file)["body"].clone())
}

fn assert_message(ours: &Value, theirs: &Value, session: &str) {
    for field in differing(ours, theirs) {
        assert!(is_known(session, &field), "{session}: {field}: {ours} {theirs}");
    }
    assert_eq!(normal(ours), normal(theirs), "{session}");
}

#[tokio::test]
async fn recorded_conversations_are_said_as_working_clients_said_them() {
    if recorded::folder().is_none() {
        return;
    }
    let mut read = 0;
    for (session, url) in SESSIONS {
        for theirs in (1..).map_while(|number| turn(session, number)) {
            let messages = theirs["messages"].as_array().unwrap();
            let body = value_at(url, &request(&theirs, messages.iter().map(ours).collect())).await;
            for field in differing(&body, &theirs) {
                let both = (&body[&field], &theirs[&field]);
                assert!(is_known(session, &field), "{session}: {field}: {both:?}");
            }
            let said = body["messages"].as_array().unwrap();
            assert_eq!(said.len(), messages.len(), "{session}");
            for (ours, theirs) in said.iter().zip(messages) {
                assert_message(ours, theirs, session);
            }
            read += 1;
        }
    }
    forgeline_testkit::say(format!("read {read} requests"));
    assert!(read >= 20, "{read}");
}

#[tokio::test]
async fn what_the_server_answered_goes_back_as_working_clients_sent_it() {
    let Some(folder) = recorded::folder() else { return };
    let (mut read, mut reasoning) = (0, 0);
    for (session, url) in SESSIONS {
        for number in 1.. {
            let (Some(theirs), Some(next)) = (turn(session, number), turn(session, number + 1))
            else {
                break;
            };
            let before = theirs["messages"].as_array().unwrap();
            let file = folder.join(format!("sessions/{session}/turn{number}.response.sse"));
            let provider = provider(url, "m", &Canned::new(recorded::read_bytes(&file)));
            let mut messages: Vec<_> = before.iter().map(ours).collect();
            let answer = provider.complete(request(&theirs, messages.clone().into())).await;
            messages.push(answer.unwrap().into_message());
            let body = value_at(url, &request(&theirs, messages.into())).await;
            let (said, want) = (&body["messages"][before.len()], &next["messages"][before.len()]);
            assert_message(said, want, session);
            let members = ["reasoning", "reasoning_content", "reasoning_details"];
            reasoning += members.iter().filter(|name| said.get(name).is_some()).count();
            read += 1;
        }
    }
    forgeline_testkit::say(format!("read {read} answers, {reasoning} with reasoning"));
    assert!(read >= 12 && reasoning >= 6, "{read} {reasoning}");
}
