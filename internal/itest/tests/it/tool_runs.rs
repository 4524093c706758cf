//! Results of one answer's calls in several messages are one message to Anthropic and to Gemini.

use forgeline::{
    llm::{PromptCache, Request},
    types::{Message, MessageRole, Part, ToolCall, ToolResult, Transcript},
};
use serde_json::{Value, json};

use crate::{anthropic_requests, gemini_requests};

fn calls(ids: &[&str]) -> Message {
    let call = |id: &&str| Part::ToolCall(ToolCall::new(*id, "f", json!({})));
    Message::new(MessageRole::Assistant, ids.iter().map(call).collect())
}

fn results(ids: &[&str]) -> Message {
    let result = |id: &&str| Part::ToolResult(ToolResult::new(*id, "f", "r"));
    Message::new(MessageRole::Tool, ids.iter().map(result).collect())
}

/// The history at once, and message by message, each step sent.
async fn bodies(messages: &[Message], cache: PromptCache) -> (Vec<Value>, Vec<Value>) {
    let mut history = Transcript::default();
    let mut grown = Vec::new();
    for message in messages {
        history.push(message.clone());
        let request = Request::new(history.clone()).cache(cache);
        let (one, other) = (
            anthropic_requests::value(&request).await["messages"].take(),
            gemini_requests::value(&request).await["contents"].take(),
        );
        grown = vec![one, other];
        drop(request);
    }
    let fresh = Request::new(messages.to_vec().into()).cache(cache);
    let fresh = vec![
        anthropic_requests::value(&fresh).await["messages"].take(),
        gemini_requests::value(&fresh).await["contents"].take(),
    ];
    (grown, fresh)
}

#[tokio::test]
async fn neighbouring_results_are_one_message_however_the_history_grew() {
    let messages = [
        Message::user("x"),
        calls(&["a", "b", "c"]),
        results(&["a"]),
        results(&["b"]),
        results(&["c"]),
        Message::assistant("y"),
        Message::user("z"),
        calls(&["d"]),
        results(&["d"]),
    ];
    for cache in [PromptCache::Off, PromptCache::Marks] {
        for count in 1..=messages.len() {
            let (grown, fresh) = bodies(&messages[..count], cache).await;
            assert_eq!(grown, fresh, "{cache:?} {count}");
        }
        let (grown, _) = bodies(&messages, cache).await;
        let said = |body: &Value, key: &str| -> Vec<usize> {
            let messages = body.as_array().unwrap();
            messages.iter().map(|message| message[key].as_array().unwrap().len()).collect()
        };
        assert_eq!(said(&grown[0], "content"), [1, 3, 3, 1, 1, 1, 1]);
        assert_eq!(said(&grown[1], "parts"), [1, 3, 3, 1, 1, 1, 1]);
        let ids: Vec<_> =
            (0..3).map(|at| grown[0][2]["content"][at]["tool_use_id"].clone()).collect();
        assert_eq!(ids, ["a", "b", "c"]);
    }
}

#[tokio::test]
async fn the_mark_stands_on_the_last_message_before_the_last_that_says_something() {
    let blank = || Message::assistant(" ");
    #[rustfmt::skip]
    let cases = [
        ("as ever",              vec![Message::user("x"), Message::assistant("y"), Message::user("z")],          Some(1)),
        ("one that is blank",    vec![Message::user("x"), blank(), Message::user("z")],                          Some(0)),
        ("two that are blank",   vec![Message::user("w"), Message::user("x"), blank(), blank(), Message::user("z")], Some(1)),
        ("a run of results",     vec![Message::user("x"), calls(&["a", "b"]), results(&["a"]), results(&["b"])], Some(1)),
        ("before the last",      vec![calls(&["a", "b"]), results(&["a"]), results(&["b"]), Message::user("z")], Some(1)),
        ("nothing before",       vec![blank(), Message::user("z")],                                              None),
        ("one message",          vec![Message::user("z")],                                                       None),
    ];
    for (name, messages, want) in cases {
        let (grown, fresh) = bodies(&messages, PromptCache::Marks).await;
        assert_eq!(grown, fresh, "{name}");
        let marked = |message: &Value| message.to_string().contains("cache_control");
        let all: Vec<_> = grown[0].as_array().unwrap().iter().map(marked).collect();
        assert_eq!(all.iter().position(|is_marked| *is_marked), want, "{name}: {}", grown[0]);
        assert!(all.iter().filter(|is_marked| **is_marked).count() <= 1, "{name}");
    }
}
