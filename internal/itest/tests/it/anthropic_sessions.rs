//! Recorded conversations with Anthropic: said again as they were, and taken up where they ended.

use forgeline::{
    llm::{Protocol, Provider, Request, Thinking, ToolChoice, ToolSpec, collect},
    types::{AgentEvent, ItemKind, Message, MessageRole, Part, Signature, ToolCall, ToolResult},
};
use forgeline_testkit::{
    canned::{Canned, sent},
    recorded,
};
use serde_json::{Value, json};

use crate::anthropic_requests::{local, value};

/// A part of ours from a recorded block.
fn part(block: &Value) -> Part {
    let text = |key: &str| block[key].as_str().unwrap().to_owned();
    match block["type"].as_str().unwrap() {
        "text" => Part::text(text("text")),
        "thinking" => {
            Part::thinking(text("thinking"), Signature::new("anthropic", text("signature")))
        }
        "tool_use" => Part::ToolCall(ToolCall::new(text("id"), text("name"), &block["input"])),
        "tool_result" => {
            let content = block["content"][0]["text"].as_str().unwrap();
            Part::ToolResult(ToolResult::new(text("tool_use_id"), "", content))
        }
        other => panic!("{other}"),
    }
}

fn message(recorded: &Value) -> Message {
    let role = match recorded["role"].as_str().unwrap() {
        "assistant" => MessageRole::Assistant,
        _ => MessageRole::User,
    };
    Message::new(role, recorded["content"].as_array().unwrap().iter().map(part).collect())
}

/// A turn of a recorded session.
struct Turn {
    session: &'static str,
    number: u32,
    request: Value,
    /// The recorded answer to it.
    answer: Vec<u8>,
}

fn turns() -> Vec<Turn> {
    let Some(folder) = recorded::folder() else { return Vec::new() };
    let sessions = [
        ("anthropic-four-turns-raw", 4),
        ("anthropic-parallel-tools", 2),
        ("anthropic-thinking-signature-tool", 2),
    ];
    let turns = sessions.into_iter().flat_map(|(session, count)| {
        let folder = folder.join("sessions").join(session);
        (1..=count).map(move |number| Turn {
            session,
            number,
            request: recorded::json(&folder.join(format!("turn{number}.request.json")))["body"]
                .clone(),
            answer: std::fs::read(folder.join(format!("turn{number}.response.sse"))).unwrap(),
        })
    });
    turns.collect()
}

#[tokio::test]
async fn recorded_conversations_are_said_as_working_clients_said_them() {
    for turn in turns() {
        let theirs = &turn.request;
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let tools = theirs["tools"].as_array().unwrap().iter().map(|tool| {
            let schema = tool["input_schema"].clone();
            ToolSpec::new(text(&tool["name"]), text(&tool["description"]), schema)
        });
        let mut request =
            Request::new(theirs["messages"].as_array().unwrap().iter().map(message).collect())
                .system(text(&theirs["system"][0]["text"]))
                .tools(tools.collect::<Vec<_>>())
                .max_tokens(u32::try_from(theirs["max_tokens"].as_u64().unwrap()).unwrap());
        request.thinking = (!theirs["thinking"].is_null()).then_some(Thinking::On);
        request.tool_choice = (!theirs["tool_choice"].is_null()).then_some(ToolChoice::Auto);
        let model = local().model(text(&theirs["model"]));
        let body = sent(model, &request).await.unwrap().body.concat();
        let ours: Value = serde_json::from_slice(&body).unwrap();
        // Every field is the same; there are no differences to argue.
        assert_eq!(&ours, theirs, "{} turn {}", turn.session, turn.number);
    }
}

#[tokio::test]
async fn an_answer_goes_back_as_it_came() {
    let turns = turns();
    let mut compared = 0;
    for pair in turns.windows(2).filter(|pair| pair[0].session == pair[1].session) {
        let asked = pair[0].request["messages"].as_array().unwrap();
        let then = pair[1].request["messages"].as_array().unwrap();
        let server = Canned::new(pair[0].answer.clone());
        let provider = local().transport(server).build().unwrap();
        let answer = provider.stream_completion(Request::prompt("x")).await.unwrap();
        let answer = collect(answer).await.unwrap().into_message();
        let mut messages: Vec<_> = asked.iter().map(message).collect();
        messages.push(answer);
        messages.extend(then.iter().skip(asked.len() + 1).map(message));
        let ours = value(&Request::new(messages.into())).await["messages"].clone();
        assert_eq!(ours, json!(then), "{} turn {}", pair[1].session, pair[1].number);
        compared += 1;
    }
    assert!(turns.is_empty() || compared == 5, "{compared}");
}

/// Whether a block is whole in its start, and only the vendor can read it.
fn is_opaque(block: &Value) -> bool {
    let word = block["type"].as_str().unwrap();
    word == "redacted_thinking" || word.ends_with("_tool_result")
}

/// Those blocks in a body.
fn opaque(body: &str) -> Vec<Value> {
    let data = body.lines().filter_map(|line| line.strip_prefix("data:"));
    let events = data.filter_map(|data| serde_json::from_str::<Value>(data).ok());
    let blocks = events.map(|event| event["content_block"].clone());
    blocks.filter(|block| block["type"].is_string() && is_opaque(block)).collect()
}

#[tokio::test]
async fn redacted_reasoning_and_the_blocks_of_server_tools_go_back_as_they_came() {
    let Some(bodies) = recorded::bodies_with_expectation(Protocol::Anthropic) else { return };
    let mut blocks = 0;
    for recorded in bodies.into_iter().filter(|body| body.expected["complete"] == true) {
        let body = String::from_utf8_lossy(&recorded.bytes).into_owned();
        let provider = local().transport(Canned::new(recorded.bytes)).build().unwrap();
        let answer = provider.stream_completion(Request::prompt("x")).await.unwrap();
        let answer = collect(answer).await.unwrap().into_message();
        let ours = value(&Request::new(vec![answer].into())).await["messages"].clone();
        let kinds = |list: &Value| {
            let mut kinds: Vec<_> = list.as_array().into_iter().flatten().collect();
            // Neighbouring texts are one text; blank ones are left out.
            kinds.retain(|block| block["text"].as_str().is_none_or(|text| !text.trim().is_empty()));
            let mut kinds: Vec<_> =
                kinds.iter().map(|block| block["type"].as_str().unwrap().to_owned()).collect();
            kinds.dedup_by(|one, other| one == "text" && one == other);
            kinds
        };
        let sent = kinds(&ours[0]["content"]);
        let mut want = kinds(&recorded.expected["blocks"]);
        if recorded.name.contains("llamacpp-local/anthropic-thinking") {
            want = vec!["text".to_owned()];
        }
        assert_eq!(sent, want, "{}", recorded.name);
        blocks += sent.len();
        if recorded.name.starts_with("anthropic/") {
            let sent = ours[0]["content"].as_array().into_iter().flatten();
            let sent: Vec<_> = sent.filter(|block| is_opaque(block)).collect();
            assert_eq!(sent, opaque(&body).iter().collect::<Vec<_>>(), "{}", recorded.name);
        }
    }
    forgeline_testkit::say(format!("sent {blocks} blocks back"));
    assert!(blocks > 120, "{blocks}");
}

#[tokio::test]
async fn a_citation_names_its_source() {
    let Some(bodies) = recorded::bodies_with_expectation(Protocol::Anthropic) else { return };
    let mut cited = 0;
    for recorded in bodies {
        let name = recorded.name;
        let provider = local().transport(Canned::new(recorded.bytes)).build().unwrap();
        let mut chunks = provider.stream_completion(Request::prompt("x")).await.unwrap();
        let mut count = 0;
        while let Some(Ok(chunk)) = futures_util::StreamExt::next(&mut chunks).await {
            for event in chunk.details.map(|details| details.events).unwrap_or_default() {
                let AgentEvent::ProviderItem(item) = event else { panic!("{event:?}") };
                let ItemKind::Citation(citation) = item.kind else { continue };
                assert!(citation.url.is_some() || citation.document_index.is_some(), "{name}");
                assert!(citation.cited_text.is_some(), "{name}");
                count += 1;
            }
        }
        assert_eq!(json!(count), recorded.expected["citations"], "{name}");
        cited += count;
    }
    assert!(cited >= 12, "{cited}");
}
