//! Agents, and the conversations that they have: each with its history, in a store or not.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use super::*;
use crate::{
    RunInput,
    journal::{FileJournals, Journal, JournalStore, MemoryJournal, MemoryJournals},
};
use forgeline_llm::Request;
use forgeline_types::{ErrorCode, Message, MessageRole, Transcript};
use tokio::sync::Barrier;

/// Answers with the number of messages that it was sent.
fn counting() -> ScriptedProvider {
    ScriptedProvider::from_fn(|request: &Request| {
        ScriptedTurn::new().text(format!("{} messages", request.messages.len()))
    })
}

fn named(text: &str, id: &str) -> RunInput {
    RunInput::from(text).conversation(id.to_owned())
}

#[tokio::test]
async fn runs_of_an_agent_never_see_each_other() {
    let agent = Agent::builder(counting()).build().unwrap();
    for agent in [&agent, &agent.clone()] {
        assert_eq!(agent.run("Hi").await.unwrap().text, "1 messages");
        assert_eq!(agent.run_stream("Hi").outcome().await.unwrap().text, "1 messages");
    }
    let conversation = agent.conversation();
    for want in ["1 messages", "3 messages", "5 messages"] {
        assert_eq!(conversation.run("Hi").await.unwrap().text, want);
    }
    assert_eq!(agent.conversation().run("Hi").await.unwrap().text, "1 messages");
}

/// Each of two runs waits for the other one.
#[tokio::test]
async fn conversations_run_at_once_and_runs_of_one_in_order() {
    let (barrier, running) = (Arc::new(Barrier::new(2)), Arc::new(AtomicUsize::new(0)));
    let meet = tool_fn("meet", "Waits.", {
        let barrier = Arc::clone(&barrier);
        move |_: ToolContext, (): ()| {
            let barrier = Arc::clone(&barrier);
            async move { format!("{}", barrier.wait().await.is_leader()) }
        }
    });
    let alone = tool_fn("alone", "Works.", move |_: ToolContext, (): ()| {
        let running = Arc::clone(&running);
        async move {
            let others = running.fetch_add(1, Ordering::SeqCst);
            tokio::task::yield_now().await;
            running.fetch_sub(1, Ordering::SeqCst);
            format!("{others} others")
        }
    });
    let provider = ScriptedProvider::from_fn(|request: &Request| {
        let last = request.messages.last().unwrap();
        match last.role {
            MessageRole::User => ScriptedTurn::new().call(&last.text(), json!(null)),
            _ => ScriptedTurn::new().text(last.tool_results().next().unwrap().content.clone()),
        }
    });
    let agent = Agent::builder(provider).tool(meet).tool(alone).build().unwrap();
    let (one, other) = (agent.conversation(), agent.conversation());
    let (one, other) = tokio::join!(one.run("meet"), other.run("meet"));
    let texts = [one.unwrap().text, other.unwrap().text];
    assert!(texts.contains(&"true".into()) && texts.contains(&"false".into()), "{texts:?}");

    let conversation = agent.conversation();
    let runs = (0..8).map(|_| conversation.run("alone"));
    for outcome in futures_util::future::join_all(runs).await {
        assert_eq!(outcome.unwrap().text, "0 others");
    }
}

#[tokio::test]
async fn an_input_that_names_a_conversation_needs_a_store() {
    let provider = counting();
    let agent = Agent::builder(provider.clone()).build().unwrap();
    let errors = [
        agent.run(named("Hi", "c-1")).await.unwrap_err().error,
        agent.run_stream(named("Hi", "c-1")).outcome().await.unwrap_err().error,
        agent.run_typed::<String>(named("Hi", "c-1")).await.unwrap_err().error,
        agent.open("c-1").await.unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.code, ErrorCode::InvalidInput);
        let want = "the conversation `c-1` cannot be found: the agent has no store of conversations; expected \
                    `AgentBuilder::conversations`, or a run of a `Conversation`";
        assert_eq!(error.message, want);
    }
    assert!(provider.requests().is_empty(), "nothing was asked");
    // A conversation that its owner keeps may have a name, which tools see.
    assert_eq!(agent.conversation().run(named("Hi", "c-1")).await.unwrap().text, "1 messages");
}

#[tokio::test]
async fn stored_conversations_continue_by_their_ids_in_another_agent_too() {
    let folder = std::env::temp_dir().join(format!("forgeline-journals-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let memory = MemoryJournals::default();
    let files = FileJournals::new(&folder);
    let stores: [Arc<dyn JournalStore>; 2] = [Arc::new(memory), Arc::new(files)];
    for store in stores {
        let build = || {
            let store = Arc::clone(&store);
            let store = move |id: &str| store.journal(id);
            Agent::builder(counting()).conversations(JournalsOf(store)).build().unwrap()
        };
        let agent = build();
        for (id, want) in [
            ("ann", "1 messages"),
            ("bob", "1 messages"),
            ("ann", "3 messages"),
            ("../ann", "1 messages"),
        ] {
            assert_eq!(agent.run(named("Hi", id)).await.unwrap().text, want, "{id}");
        }
        let other = build();
        assert_eq!(
            other.run_stream(named("Hi", "ann")).outcome().await.unwrap().text,
            "5 messages"
        );
        let opened = other.open("bob").await.unwrap();
        assert_eq!((opened.id(), opened.transcript().len()), (Some("bob"), 2));
        assert_eq!(opened.run("Hi").await.unwrap().text, "3 messages");
        // It is in use, so this is the same one.
        assert_eq!(other.run(named("Hi", "bob")).await.unwrap().text, "5 messages");
        assert_eq!(opened.transcript().len(), 6);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A store made of a function.
struct JournalsOf<F>(F);

impl<F: Fn(&str) -> Arc<dyn Journal> + Send + Sync> JournalStore for JournalsOf<F> {
    fn journal(&self, conversation: &str) -> Arc<dyn Journal> {
        (self.0)(conversation)
    }
}

#[tokio::test]
async fn runs_of_a_stored_conversation_wait_for_one_another() {
    let agent =
        Agent::builder(counting()).conversations(MemoryJournals::default()).build().unwrap();
    let runs = (0..16).map(|at| agent.run(named("Hi", ["a", "b"][at % 2])));
    let mut texts: Vec<_> = futures_util::future::join_all(runs)
        .await
        .into_iter()
        .map(|outcome| outcome.unwrap().text)
        .collect();
    texts.sort();
    let want = (0..8).map(|at| format!("{} messages", 2 * at + 1));
    let mut want: Vec<_> = want.clone().chain(want).collect();
    want.sort();
    assert_eq!(texts, want);
}

/// A run that a process left is resumed on request, and is no part of what a new run is sent but for its complete messages.
#[tokio::test(start_paused = true)]
async fn a_run_that_had_not_ended_is_left_or_resumed() {
    for resumes in [false, true] {
        let store = MemoryJournals::default();
        let provider = ScriptedProvider::new([ScriptedTurn::new().text("Once").hang()]);
        let agent = Agent::builder(provider).conversations(store.clone()).build().unwrap();
        let mut stream = agent.run_stream(named("Tell me a story.", "c"));
        while let Ok(Some(_)) = tokio::time::timeout(Duration::from_secs(1), stream.next()).await {}
        drop(stream);
        let agent = Agent::builder(counting()).conversations(store).build().unwrap();
        if resumes {
            let opened = agent.open("c").await.unwrap();
            assert_eq!(opened.transcript().len(), 1);
            assert_eq!(opened.resume().await.unwrap().unwrap().text, "1 messages");
            assert!(opened.resume().await.unwrap().is_none());
        }
        let outcome = agent.run(named("Another one.", "c")).await.unwrap();
        assert_eq!(outcome.text, if resumes { "3 messages" } else { "2 messages" });
    }
}

#[tokio::test]
async fn a_journal_that_fails_is_an_error_of_the_run_and_of_opening() {
    let edited = || -> Arc<dyn Journal> { Arc::new(MemoryJournal::from("{\"n\":1}\n")) };
    let store = JournalsOf(move |_: &str| edited());
    let provider = counting();
    let agent = Agent::builder(provider.clone()).conversations(store).build().unwrap();
    assert_eq!(agent.open("c").await.unwrap_err().code, ErrorCode::Journal);
    assert_eq!(agent.run(named("Hi", "c")).await.unwrap_err().error.code, ErrorCode::Journal);
    assert!(provider.requests().is_empty());
}

#[tokio::test]
async fn tools_see_the_id_of_a_stored_conversation() {
    let look = tool_fn("look", "Looks.", |context: ToolContext, (): ()| {
        let id = context.run().conversation().map(str::to_owned);
        async move { format!("{id:?}") }
    });
    let turns = [ScriptedTurn::new().call("look", json!(null)), ScriptedTurn::new().text("Done.")];
    let builder = Agent::builder(ScriptedProvider::new(turns)).tool(look);
    let agent = builder.conversations(MemoryJournals::default()).build().unwrap();
    let outcome = agent.open("c-7").await.unwrap().run("Look.").await.unwrap();
    assert_eq!(outcome.messages[2].tool_results().next().unwrap().content, "Some(\"c-7\")");
}

#[tokio::test]
async fn a_fork_has_the_messages_and_goes_its_own_way() {
    let conversation = Agent::builder(counting()).build().unwrap().conversation();
    conversation.run("One").await.unwrap();
    let fork = conversation.fork();
    assert_eq!(fork.run("Two").await.unwrap().text, "3 messages");
    assert_eq!(conversation.run("Other").await.unwrap().text, "3 messages");
    // Each has its own runs to take back.
    assert_eq!(fork.rewind().await.unwrap().unwrap().text(), "Two");
    assert_eq!(fork.rewind().await.unwrap().unwrap().text(), "One");
    assert_eq!((fork.transcript().len(), conversation.transcript().len()), (0, 4));
}

#[tokio::test]
async fn a_conversation_begins_with_a_transcript_or_with_the_memory_of_its_agent() {
    let transcript: Transcript =
        [Message::user("Hello"), Message::assistant("Hi")].into_iter().map(Arc::new).collect();
    let agent = Agent::builder(counting()).build().unwrap();
    let conversation = agent.conversation_from(&transcript);
    assert_eq!(conversation.run("Go").await.unwrap().text, "3 messages");
    let memory = crate::memory::ConversationMemory::from(transcript);
    let agent = Agent::builder(counting()).memory(memory).build().unwrap();
    for _ in 0..2 {
        assert_eq!(agent.conversation().run("Go").await.unwrap().text, "3 messages");
    }
}
