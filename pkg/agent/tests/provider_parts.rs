//! Parts that providers want back, pauses, and attempts that failed.

use super::*;
use forgeline_llm::{
    PromptCache, ProviderError, RetryPolicy, Retrying, StatusError, StreamChunk, ToolCallDelta,
};
use forgeline_types::{
    ErrorCode, FinishReason, ItemKind, Json, Message, Part, ProviderItem, Signature,
};

fn item(name: &str) -> AgentEvent {
    let raw = Json::from(json!({ "type": name }));
    let kind = ItemKind::other(name);
    AgentEvent::ProviderItem(ProviderItem::new("p", kind, raw))
}

/// The parts of a message in words.
fn parts(message: &Message) -> Vec<String> {
    let proof = |signature: &Option<Signature>| {
        let proof = signature.as_ref()?.for_protocol("p");
        proof.map(ToString::to_string)
    };
    let word = |part: &Part| match part {
        Part::Text { text, .. } => format!("text {text}"),
        Part::Thinking { text, signature, .. } => {
            format!("thinking {text:?} {:?}", proof(signature))
        }
        Part::ToolCall(call) => format!("call {} {:?}", call.name, proof(&call.signature)),
        Part::ProviderItem(item) => format!("item {}", item.raw),
        other => format!("{other:?}"),
    };
    message.parts.iter().map(word).collect()
}

#[tokio::test]
async fn proofs_and_items_go_back_at_their_place() {
    let call = |index, name: &str| {
        StreamChunk::calls(vec![
            ToolCallDelta::new(index).id(name).name("echo").arguments("{\"text\":\"x\"}"),
        ])
    };
    let turn = ScriptedTurn::new()
        .thinking("one")
        .chunk(StreamChunk::signature("p", "s1"))
        .thinking("two")
        .chunk(StreamChunk::signature("p", "s2"))
        .chunk(StreamChunk::signature("p", "s3"))
        .text("Let me ")
        .chunk(StreamChunk::events(vec![item("search")]))
        .text("see.")
        .chunk(call(0, "a"))
        .chunk(StreamChunk::signature("p", "s4"))
        .chunk(call(1, "b"))
        .finish(FinishReason::ToolCalls);
    let provider = ScriptedProvider::new([turn, ScriptedTurn::new().text("Done.")]);
    let agent = agent(&provider);
    let mut stream = agent.run_stream("Go.");
    let mut kinds = Vec::new();
    while let Some(envelope) = stream.next().await {
        kinds.push(envelope.event.kind().to_owned());
    }
    assert_eq!(kinds.iter().filter(|kind| *kind == "provider_item").count(), 1);
    let requests = provider.requests();
    let want = [
        "thinking \"one\" Some(\"s1\")",
        "thinking \"two\" Some(\"s2\")",
        "thinking \"\" Some(\"s3\")",
        "text Let me ",
        "item {\"type\":\"search\"}",
        "text see.",
        "call echo Some(\"s4\")",
        "call echo None",
    ];
    assert_eq!(parts(&requests[1].messages.messages()[1]), want);
}

#[tokio::test]
async fn an_unknown_event_is_shown_and_is_no_part_of_the_answer() {
    use forgeline_llm::{Provider as _, Request};
    let unknown =
        || AgentEvent::ProviderItem(ProviderItem::unknown_event("p", "new", json!({}).into()));
    assert!(!StreamChunk::events(vec![unknown()]).is_delivery());
    let turn = || {
        ScriptedTurn::new()
            .text("one ")
            .chunk(StreamChunk::events(vec![unknown()]))
            .text("two")
            .finish(FinishReason::Stop)
    };
    let provider = ScriptedProvider::new([turn()]);
    let completion = provider.complete(Request::prompt("x")).await.unwrap();
    assert_eq!(parts(&completion.into_message()), ["text one two"]);
}

#[tokio::test]
async fn collecting_keeps_the_same_parts() {
    use forgeline_llm::{Provider as _, Request};
    let turn = ScriptedTurn::new()
        .thinking("one")
        .chunk(StreamChunk::signature("p", "s1"))
        .chunk(StreamChunk::events(vec![item("search")]))
        .text("see.")
        .chunk(StreamChunk::calls(vec![ToolCallDelta::new(0).name("f").arguments("{}")]))
        .chunk(StreamChunk::signature("p", "s4"));
    let provider = ScriptedProvider::new([turn]);
    let completion = provider.complete(Request::prompt("x")).await.unwrap();
    assert_eq!(completion.tool_calls[0].signature, Some(Signature::new("p", "s4")));
    let want = [
        "thinking \"one\" Some(\"s1\")",
        "item {\"type\":\"search\"}",
        "text see.",
        "call f Some(\"s4\")",
    ];
    assert_eq!(parts(&completion.into_message()), want);
}

#[tokio::test]
async fn a_pause_goes_on_with_the_providers_own_words() {
    let provider = ScriptedProvider::new([
        ScriptedTurn::new()
            .text("One, ")
            .chunk(StreamChunk::events(vec![item("search")]))
            .finish(FinishReason::Pause),
        ScriptedTurn::new()
            .chunk(StreamChunk::events(vec![item("found")]))
            .finish(FinishReason::Pause),
        ScriptedTurn::new().text("two."),
    ]);
    let outcome = agent(&provider).run("Go.").await.unwrap();
    assert_eq!((outcome.text.as_str(), outcome.turns), ("One, two.", 3));
    let requests = provider.requests();
    let roles: Vec<_> = requests[2].messages.iter().map(|message| message.role).collect();
    assert_eq!(roles.len(), 3, "nobody says anything in between: {roles:?}");
    assert_eq!(parts(&requests[2].messages.messages()[2]), ["item {\"type\":\"found\"}"]);
}

// Covers: T-13
#[tokio::test(start_paused = true)]
async fn failed_attempts_are_events_and_not_in_the_conversation() {
    let busy = || {
        let error = StatusError::new(503, ErrorCode::Overloaded, "busy");
        ScriptedTurn::refuse(ProviderError::Status(Box::new(error)))
    };
    let provider = ScriptedProvider::new([busy(), busy(), ScriptedTurn::new().text("Here.")]);
    let retrying = Retrying::new(provider.clone(), RetryPolicy::default());
    let agent = Agent::builder(retrying).build().unwrap().conversation();
    let mut stream = agent.run_stream("Go.");
    let mut kinds = Vec::new();
    while let Some(envelope) = stream.next().await {
        kinds.push(envelope.event.kind().to_owned());
    }
    let want = [
        "update_busy",
        "api_call_start",
        "retry",
        "retry",
        "message_start",
        "message_content",
        "message_end",
        "api_call_end",
        "turn_end",
        "update_busy",
    ];
    assert_eq!(kinds, want);
    assert!(provider.requests().iter().all(|request| request.messages.len() == 1));
}

#[tokio::test]
async fn the_prompt_is_marked_where_the_provider_can_keep_it() {
    for prompt_caching in [true, false] {
        let able = forgeline_types::Capabilities::default().prompt_caching(prompt_caching);
        let info = forgeline_types::ModelInfo::new("p", "m").capabilities(able);
        let provider = ScriptedProvider::new([ScriptedTurn::new().text("Done.")]).info_of(info);
        agent(&provider).run("Go.").await.unwrap();
        let want = prompt_caching.then_some(PromptCache::Marks);
        assert_eq!(provider.requests()[0].cache, want);
    }
}
