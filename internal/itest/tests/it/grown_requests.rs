//! Conversations that grow: what was sent goes out again.

use std::sync::Arc;

use bytes::Bytes;
use forgeline::{
    llm::{PromptCache, Provider, Request, ToolSpec},
    types::{
        ItemKind, Json, Message, MessageRole, Part, ProviderItem, Signature, ToolCall, ToolResult,
        Transcript,
    },
};
use forgeline_testkit::canned::Canned;
use serde_json::json;

use crate::request_bodies::SERVERS;

/// Most segments of a body, however long the conversation is.
const MAX_SEGMENTS: usize = 26;

/// What a turn adds: an answer in text, or a call and its result.
fn turn_of(vendor: &str, turn: usize) -> [Message; 2] {
    let calls = |signature: Option<Signature>| {
        let mut call = ToolCall::new(format!("id{turn}"), "t", json!({ "a": turn }));
        call.signature = signature;
        let result = ToolResult::new(format!("id{turn}"), "t", "done");
        [
            Message::new(MessageRole::Assistant, vec![Part::ToolCall(call)]),
            Message::new(MessageRole::Tool, vec![Part::ToolResult(result)]),
        ]
    };
    let answer = match vendor {
        "gemini" => return calls(Some(Signature::new("gemini", format!("proof {turn}")))),
        "cohere" => return calls(None),
        "responses" => {
            let raw = json!({ "type": "reasoning", "encrypted_content": turn.to_string() });
            let item = ProviderItem::new("openai-responses", ItemKind::Reasoning, Json::from(&raw));
            let text = Part::text("answer");
            Message::new(MessageRole::Assistant, vec![Part::ProviderItem(item), text])
        }
        _ => Message::assistant(format!("answer {turn} {}", "x".repeat(99))),
    };
    [answer, Message::user("next")]
}

async fn segments(provider: &dyn Provider, server: &Canned, request: &Request) -> Vec<Bytes> {
    drop(provider.stream_completion(request.clone()).await.unwrap());
    server.segments()
}

// Covers: G-52
#[tokio::test]
async fn what_was_sent_goes_out_again_as_the_same_bytes_without_encoding_it_again() {
    #[rustfmt::skip]
    let cases = [
        ("openai", 500, PromptCache::Off), ("responses", 200, PromptCache::Off), ("gemini", 100, PromptCache::Off),
        ("ollama", 100, PromptCache::Off), ("cohere", 100, PromptCache::Off),
        ("anthropic", 500, PromptCache::Off), ("anthropic", 500, PromptCache::Marks),
    ];
    for (vendor, turns, cache) in cases {
        let (_, build, urls) = SERVERS.iter().find(|(name, ..)| *name == vendor).unwrap();
        let server = Canned::new("");
        let provider = build(urls[0], &server);
        let tools: Arc<[ToolSpec]> =
            vec![ToolSpec::new("t", "A tool", json!({ "type": "object" }))].into();
        let system: Arc<str> = "Be brief.".into();
        let request = |messages: Transcript| {
            let request = Request::new(messages).cache(cache);
            request.system(Arc::clone(&system)).tools(Arc::clone(&tools))
        };
        let mut transcript = Transcript::default();
        transcript.push(Message::user("Hello"));
        let mut before: Vec<Bytes> = Vec::new();
        for turn in 0..turns {
            let body = segments(&*provider, &server, &request(transcript.clone())).await;
            if turn % 50 == 0 || turns == 100 {
                let other = Canned::new("");
                let fresh = request(transcript.iter().map(|it| (**it).clone()).collect());
                let fresh = segments(&*build(urls[0], &other), &other, &fresh).await;
                assert_eq!(body.concat(), fresh.concat(), "{vendor}, turn {turn}: the same bytes");
            }
            // What a mark may stand in is not kept: the last two messages of the turn before.
            let old = before.concat();
            let kept = if cache == PromptCache::Marks {
                before.iter().rev().skip(2).map(Bytes::len).sum()
            } else {
                old.len().saturating_sub(2)
            };
            assert!(
                body.concat().starts_with(&old[..kept]),
                "{vendor}, turn {turn}: its beginning"
            );
            assert!(body.len() < MAX_SEGMENTS, "{vendor}, turn {turn}: {} segments", body.len());
            for message in turn_of(vendor, turn) {
                transcript.push(message);
            }
            before = body;
        }
        let request = request(transcript);
        let one = segments(&*provider, &server, &request).await;
        let two = segments(&*provider, &server, &request).await;
        let long: Vec<_> = one.iter().zip(&two).filter(|(one, _)| one.len() > 1000).collect();
        assert!(!long.is_empty(), "{vendor}");
        for (one, two) in long {
            assert_eq!(one.as_ptr(), two.as_ptr(), "{vendor}: a history is shared, not copied");
        }
    }
}
