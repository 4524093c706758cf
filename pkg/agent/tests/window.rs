//! Conversations that are longer than the model may read.

use std::sync::Arc;

use super::*;
use crate::{
    agent::{CONTEXT_TRIMMED, CallMode, OutcomeKind, journal::MemoryJournal},
    llm::{Request, TokenEstimator},
};

const MOST: u64 = 8_000;

/// A model that calls a tool with a long result, then answers.
fn looking() -> ScriptedProvider {
    ScriptedProvider::from_fn(|request: &Request| {
        let last = request.messages.last().expect("a message");
        if last.text().starts_with("Question") {
            ScriptedTurn::new().call("look", json!({ "text": "x".repeat(40) }))
        } else {
            ScriptedTurn::new().text("It is as you say, as far as can be seen from here.")
        }
    })
}

fn builder_of(provider: &ScriptedProvider) -> AgentBuilder {
    #[derive(Deserialize, JsonSchema)]
    struct Look {
        text: String,
    }
    let look = |_: ToolContext, it: Look| async move { format!("{} ", it.text).repeat(20) };
    let tool = tool_fn("look", "Looks.", look).may_repeat();
    DefaultAgent::builder(provider.clone()).system("Be brief.").tool(tool).max_context_tokens(MOST)
}

// Covers: G-47, G-48, T-68
#[tokio::test(start_paused = true)]
async fn five_thousand_turns_fit_and_nothing_is_lost() {
    let (provider, journal) = (looking(), MemoryJournal::default());
    let agent = builder_of(&provider).journal(journal.clone()).build().unwrap();
    let (estimator, mut trimmed) = (TokenEstimator::new(), 0);
    for turn in 0..5_000 {
        let question = format!("Question {turn}: what is there, and how many of it?");
        let (mut stream, mut events) = (agent.run_stream(question.as_str()), Vec::new());
        to_the_end(&mut stream, &mut events).await;
        trimmed += events.iter().filter(|it| short(&it.event).starts_with(CONTEXT_TRIMMED)).count();
        assert_eq!(stream.outcome().await.unwrap().reason, OutcomeKind::Answer);
    }
    let requests = provider.requests();
    assert_eq!(requests.len(), 10_000);
    let mut beginnings = 0;
    for (at, request) in requests.iter().enumerate() {
        assert!(estimator.request(request) <= MOST, "request {at}");
        assert_eq!(request.system.as_deref(), Some("Be brief."));
        let question = format!("Question {}:", at / 2);
        assert!(request.messages.iter().any(|it| it.text().starts_with(&question)), "request {at}");
        let mut open = Vec::new();
        for message in &request.messages {
            let results: Vec<_> = message.tool_results().map(|it| it.call_id.clone()).collect();
            assert_eq!(results, open, "request {at}");
            open = message.tool_calls().map(|it| it.id.clone()).collect();
        }
        let before = at.checked_sub(1).map(|at| &requests[at].messages);
        let is_beginning = before.is_none_or(|before| {
            before
                .iter()
                .zip(&request.messages)
                .all(|(one, other)| Arc::ptr_eq(one, other) || one == other)
        });
        beginnings += usize::from(!is_beginning);
    }
    assert_eq!(beginnings, trimmed, "the beginning changes only where something is left out");
    assert!((20..1_000).contains(&trimmed), "{trimmed}");
    assert_eq!(agent.transcript().len(), 20_000, "the conversation keeps all");
    let kept = builder_of(&provider).journal(journal).build().unwrap();
    assert!(kept.resume_stream().await.unwrap().is_none());
    assert_eq!(kept.transcript().len(), 20_000, "so does the journal");
}

#[tokio::test(start_paused = true)]
async fn a_long_run_fits_in_text_mode_too() {
    let turns = (0..400).map(|turn| {
        let call = format!(
            r#"<tool_call>{{"name": "look", "arguments": {{"text": "{turn:040}"}}}}</tool_call>"#
        );
        ScriptedTurn::new().text(call)
    });
    let provider = ScriptedProvider::new(turns.chain([ScriptedTurn::new().text("Done.")]));
    let builder = builder_of(&provider).call_mode(CallMode::Text).max_turns(500);
    let outcome = builder.build().unwrap().run("Question: what is there?").await.unwrap();
    assert_eq!((outcome.text.as_str(), outcome.turns), ("Done.", 401));
    let estimator = TokenEstimator::new();
    for request in provider.requests() {
        assert!(estimator.request(&request) <= MOST, "calls and results are written out");
        assert_eq!(request.messages.messages()[0].text(), "Question: what is there?");
    }
}

#[test]
fn no_room_at_all_is_refused() {
    let built = builder(&looking()).max_context_tokens(0).build();
    assert!(built.unwrap_err().to_string().contains("max_context_tokens"));
}
