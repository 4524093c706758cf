//! Runs that are dropped at any of their awaits.

use std::{pin::pin, sync::Arc, task::Poll};

use futures_util::{StreamExt as _, future::poll_fn};
use tokio::task::yield_now;

use super::{
    journal::answers,
    scenarios::{SCENARIOS, Scenario, Twist, World},
    whole::assert_history_is_whole,
    *,
};
use crate::{
    journal::{Journal, JournalEntry, JournalFuture, JournalLine, MemoryJournal},
    prompts::PromptContext,
};
use forgeline_llm::{ChunkStream, Provider, ProviderFuture, Request};
use forgeline_types::{ErrorCode, ModelInfo};

/// A provider that waits before its answer and between the chunks.
struct Waiting(ScriptedProvider);

impl Provider for Waiting {
    fn info(&self) -> &ModelInfo {
        self.0.info()
    }

    fn stream_completion(&self, request: Request) -> ProviderFuture<ChunkStream> {
        let opening = self.0.stream_completion(request);
        Box::pin(async move {
            yield_now().await;
            let chunks = opening.await?.then(|chunk| async {
                yield_now().await;
                chunk
            });
            Ok(Box::pin(chunks) as ChunkStream)
        })
    }
}

/// A journal that waits before and after a line is kept.
struct WaitingJournal(MemoryJournal);

impl Journal for WaitingJournal {
    fn append(&self, entry: &JournalEntry) -> JournalFuture<()> {
        let (journal, entry) = (self.0.clone(), entry.clone());
        Box::pin(async move {
            yield_now().await;
            let kept = journal.append(&entry).await;
            yield_now().await;
            kept
        })
    }

    fn read(&self) -> JournalFuture<Vec<JournalLine>> {
        self.0.read()
    }
}

/// Polls a run of the scenario so many times and drops it; returns `true` when it had ended.
async fn dropped_after(world: &World, agent: &Conversation, polls: usize) -> bool {
    let has_ended = {
        let mut run = pin!(agent.run("Do it."));
        let mut has_ended = false;
        for _ in 0..polls {
            let polled = poll_fn(|context| Poll::Ready(run.as_mut().poll(context).is_ready()));
            has_ended = polled.await;
            if has_ended {
                break;
            }
            // Tools go on meanwhile.
            yield_now().await;
        }
        has_ended
    };
    world.assert_nothing_is_left().await;
    has_ended
}

/// Returns an agent of which each part waits, and its journal.
fn waiting(scenario: &Scenario) -> (World, Conversation, MemoryJournal) {
    let mut turns = (scenario.turns)();
    turns.push(ScriptedTurn::new().text("More."));
    let model: fn(ScriptedProvider) -> Arc<dyn Provider> = |inner| Arc::new(Waiting(inner));
    let twist = Twist { model: Some(model), ..Twist::default() };
    let mut world = scenario.twisted_world(turns, false, twist);
    let journal = MemoryJournal::default();
    let part = |_: PromptContext| async {
        yield_now().await;
        Ok("Be kind.".to_owned())
    };
    world.builder = world.builder.system(part);
    world.journal = Some(Arc::new(WaitingJournal(journal.clone())));
    let agent = world.agent();
    (world, agent, journal)
}

// Covers: T-12, G-26
#[tokio::test(start_paused = true)]
async fn a_run_that_is_dropped_at_any_await_leaves_a_whole_conversation_and_nothing_else() {
    for scenario in &SCENARIOS {
        let mut places = 0;
        for polls in 0.. {
            let at = format!("{}, after {polls} polls", scenario.name);
            let (world, agent, journal) = waiting(scenario);
            let has_ended = dropped_after(&world, &agent, polls).await;
            let lines = journal.lines();
            // The same agent goes on with the conversation, whatever its model answers.
            drop(agent.run("Again.").await);
            assert_history_is_whole(&agent);
            let ran = world.ran.lock().unwrap().clone();
            assert!(ran.values().all(|count| *count == 1), "{at}: {ran:?}");
            // Another finishes the run from the journal as it was.
            let mut turns = (scenario.turns)().split_off(answers(&lines));
            turns.push(ScriptedTurn::new().text("More."));
            let mut other = scenario.world(turns, false);
            other.journal = Some(Arc::new(MemoryJournal::from(lines.clone())));
            let agent = other.agent();
            let resumed = match agent.resume().await {
                Err(error) if error.error.code == ErrorCode::EmptyAnswer => Some(*error.outcome),
                resumed => resumed.unwrap(),
            };
            assert!(resumed.is_none_or(|outcome| !outcome.text.is_empty()), "{at}");
            assert_history_is_whole(&agent);
            places += 1;
            if has_ended {
                break;
            }
        }
        assert!(places > 20, "{}: {places}", scenario.name);
    }
}
