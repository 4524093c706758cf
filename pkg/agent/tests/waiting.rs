//! No agent waits for itself, and none waits for ever.

use std::sync::{Arc, OnceLock};

use super::*;
use crate::{
    Conversation,
    memory::{ConversationMemory, Memory as _},
    prompts::{PromptContext, SystemPrompt},
};
use forgeline_types::{AgentError, ErrorCode, Message};

/// A conversation for its own tools and prompt parts.
type Own = Arc<OnceLock<Arc<Conversation>>>;

fn own(cell: &Own) -> Arc<Conversation> {
    Arc::clone(cell.get().unwrap())
}

/// Returns the code of the error of each way to wait for an agent's runs.
async fn waits(agent: &Conversation) -> [Option<ErrorCode>; 5] {
    let mut stream = agent.run_stream("Hi");
    while stream.next().await.is_some() {}
    [
        agent.run("Hi").await.err().map(|error| error.error.code),
        stream.outcome().await.err().map(|error| error.error.code),
        agent.clear().await.err().map(|error| error.code),
        agent.rewind().await.err().map(|error| error.code),
        agent.resume().await.err().map(|error| error.error.code),
    ]
}

// Covers: G-31
#[tokio::test]
async fn a_tool_that_asks_its_own_agent_gets_an_error() {
    let ask = |cell: &Own| {
        let cell = Arc::clone(cell);
        tool_fn("ask", "Asks.", move |_: ToolContext, _: Nothing| {
            let agent = own(&cell);
            async move {
                assert_eq!(agent.transcript().len(), 2, "a complete part is reported at once");
                format!("{:?}", waits(&agent).await)
            }
        })
    };
    let turns = || {
        let turn = ScriptedTurn::new().call("ask", json!({}));
        ScriptedProvider::new([turn, ScriptedTurn::new().text("Done.")])
    };
    let cell = Own::default();
    let agent = Arc::new(builder(&turns()).tool(ask(&cell)).build().unwrap().conversation());
    assert!(cell.set(Arc::clone(&agent)).is_ok());
    let outcome = agent.run("Go").await.unwrap();
    let results = outcome.messages[2].tool_results().next().unwrap().content.clone();
    assert_eq!(results, format!("{:?}", [Some(ErrorCode::Deadlock); 5]));
    assert_eq!(outcome.text, "Done.");

    // The other way round: through another agent, for which the first waits.
    let (outer, inner) = (Own::default(), Own::default());
    let through = {
        let cell = Arc::clone(&inner);
        tool_fn("through", "Asks another.", move |_: ToolContext, _: Nothing| {
            let agent = own(&cell);
            async move {
                agent.run("Go").await.unwrap().messages[2]
                    .tool_results()
                    .next()
                    .unwrap()
                    .content
                    .clone()
            }
        })
    };
    let agent = builder(&turns()).tool(ask(&outer)).build().unwrap().conversation();
    assert!(inner.set(Arc::new(agent)).is_ok());
    let turn = ScriptedTurn::new().call("through", json!({}));
    let provider = ScriptedProvider::new([turn, ScriptedTurn::new().text("Done.")]);
    let agent = Arc::new(builder(&provider).tool(through).build().unwrap().conversation());
    assert!(outer.set(Arc::clone(&agent)).is_ok());
    let outcome = agent.run("Go").await.unwrap();
    let results = &outcome.messages[2].tool_results().next().unwrap().content;
    assert_eq!(*results, format!("{:?}", [Some(ErrorCode::Deadlock); 5]));
}

// Covers: G-31, A3
#[tokio::test]
async fn a_prompt_part_that_asks_its_own_agent_gets_an_error() {
    let cell = Own::default();
    let part = {
        let cell = Arc::clone(&cell);
        move |_: PromptContext| {
            let agent = own(&cell);
            async move {
                assert!(agent.transcript().is_empty());
                assert_eq!(waits(&agent).await, [Some(ErrorCode::Deadlock); 5]);
                // A fork has a conversation of its own; its parts ask their agent too.
                Ok("You know yourself.".to_owned())
            }
        }
    };
    let provider = ScriptedProvider::new([ScriptedTurn::new().text("Done.")]);
    let agent = Arc::new(builder(&provider).system(part).build().unwrap().conversation());
    assert!(cell.set(Arc::clone(&agent)).is_ok());
    assert_eq!(agent.run("Go").await.unwrap().text, "Done.");
}

// Covers: A2
#[tokio::test(start_paused = true)]
async fn runs_behind_a_stream_that_nobody_reads_wait_for_a_bounded_time() {
    let provider = ScriptedProvider::new([
        ScriptedTurn::new().text("First."),
        ScriptedTurn::new().text("Last."),
    ]);
    let limit = Duration::from_secs(30);
    let agent =
        builder(&provider).queue_timeout(limit).event_capacity(1).build().unwrap().conversation();
    let mut unread = agent.run_stream("Go");
    unread.next().await.unwrap();
    let (began, before) = (tokio::time::Instant::now(), agent.transcript());
    let runs = (0..64).map(|_| agent.run("Go"));
    for error in futures_util::future::join_all(runs).await {
        let error = error.unwrap_err().error;
        assert_eq!(error.code, ErrorCode::Timeout);
        assert!(
            error.message.starts_with("another run of this conversation has not ended within 30s")
        );
    }
    assert_eq!(began.elapsed(), limit, "all at once");
    assert_eq!(agent.transcript(), before, "a run that was refused leaves nothing");
    let mut refused = agent.run_stream("Go");
    let mut events = Vec::new();
    while let Some(event) = refused.next().await {
        events.push(event);
    }
    assert_whole(&events);
    assert_eq!(unread.outcome().await.unwrap().text, "First.");
    assert_eq!(agent.run("Go").await.unwrap().text, "Last.");
}

/// A part that never ends, or fails.
struct Bad {
    is_optional: bool,
    end: Option<AgentError>,
}

impl SystemPrompt for Bad {
    fn build(
        &self,
        _: PromptContext,
    ) -> futures_core::future::BoxFuture<'static, Result<String, AgentError>> {
        let Some(error) = self.end.clone() else { return Box::pin(std::future::pending()) };
        Box::pin(std::future::ready(Err(error)))
    }

    fn is_optional(&self) -> bool {
        self.is_optional
    }
}

// Covers: A3
#[tokio::test(start_paused = true)]
async fn a_late_part_ends_the_run_unless_it_is_optional() {
    for (is_optional, hangs) in [(false, false), (false, true), (true, false), (true, true)] {
        let provider = ScriptedProvider::new([ScriptedTurn::new().text("Done.")]);
        let end = (!hangs).then(|| AgentError::new(ErrorCode::Internal, "no clock"));
        let agent =
            builder(&provider).system("One.").system(Bad { is_optional, end }).system("Two.");
        let began = tokio::time::Instant::now();
        let outcome = agent.build().unwrap().conversation().run("Go").await;
        let waited = if hangs { Duration::from_secs(10) } else { Duration::ZERO };
        assert_eq!(began.elapsed(), waited);
        if is_optional {
            assert_eq!(outcome.unwrap().text, "Done.");
            let system = provider.requests()[0].system.clone().unwrap();
            assert!(system.starts_with("One.\n\nTwo."), "{system}");
            continue;
        }
        let error = outcome.unwrap_err().error;
        let want =
            if hangs { "a part of the system prompt took longer than 10s" } else { "no clock" };
        assert_eq!(error.message, want);
    }
}

// Covers: F4
#[tokio::test]
async fn forks_and_clones_of_builders_have_conversations_of_their_own() {
    let turn = |text| ScriptedTurn::new().text(text);
    let provider = ScriptedProvider::new(["1", "2", "3", "4"].map(turn));
    let before =
        ConversationMemory::from(forgeline_types::Transcript::from(vec![Message::user("Before.")]));
    assert_eq!(before.fork().len(), 0);
    let builder = builder(&provider).memory(before);
    let (agent, other) =
        (builder.clone().build().unwrap().conversation(), builder.build().unwrap().conversation());
    let fork = agent.fork();
    for agent in [&agent, &other, &fork] {
        agent.run("Go").await.unwrap();
    }
    let lengths = [&agent, &other, &fork].map(|agent| agent.transcript().len());
    assert_eq!(lengths, [3, 3, 3]);

    let journal = crate::journal::MemoryJournal::default();
    let kept = agent.fork().with_journal(journal.clone());
    kept.run("Go").await.unwrap();
    let read = agent.fork().with_journal(crate::journal::MemoryJournal::from(journal.lines()));
    assert!(read.resume().await.unwrap().is_none());
    assert_eq!(read.transcript(), kept.transcript());
}
