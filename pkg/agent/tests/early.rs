//! Calls that begin while their answer goes on.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use futures_util::{StreamExt as _, stream};
use tokio::{sync::Notify, time::timeout};

use super::{whole::assert_history_is_whole, *};
use crate::{
    OutcomeKind,
    config::{AgentConfig, CallStart},
    journal::MemoryJournal,
    notice::ANSWER_KEPT,
};
use forgeline_llm::{
    ChunkStream, Provider, ProviderError, ProviderFuture, Request, StreamChunk, ToolCallDelta,
};
use forgeline_parser::ToolDialect;
use forgeline_types::{Capabilities, ErrorCode, FinishReason, ModelInfo};

/// A provider whose first answer goes on only when somebody says so.
struct Slow {
    info: ModelInfo,
    chunks: Mutex<Vec<Vec<Step>>>,
    go_on: Arc<Notify>,
}

#[derive(Clone)]
enum Step {
    Chunk(StreamChunk),
    Wait,
    Fail,
}

impl Slow {
    fn new(answers: Vec<Vec<Step>>, go_on: &Arc<Notify>) -> Self {
        let info = ModelInfo::new("scripted", "test");
        let info = info.capabilities(Capabilities::default().tools(true));
        Self { info, chunks: Mutex::new(answers), go_on: Arc::clone(go_on) }
    }
}

impl Provider for Slow {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream_completion(&self, _request: Request) -> ProviderFuture<ChunkStream> {
        let mut answers = self.chunks.lock().unwrap();
        let steps = if answers.is_empty() { Vec::new() } else { answers.remove(0) };
        let go_on = Arc::clone(&self.go_on);
        let chunks = stream::iter(steps).filter_map(move |step| {
            let go_on = Arc::clone(&go_on);
            async move {
                match step {
                    Step::Chunk(chunk) => Some(Ok(chunk)),
                    Step::Wait => {
                        go_on.notified().await;
                        None
                    }
                    Step::Fail => Some(Err(ProviderError::ended_early(9))),
                }
            }
        });
        let chunks: ChunkStream = Box::pin(chunks);
        Box::pin(async move { Ok(chunks) })
    }
}

fn text(text: &str) -> Step {
    Step::Chunk(StreamChunk::message(text))
}

fn native(index: u32, name: &str, arguments: &str) -> Step {
    let mut delta = ToolCallDelta::new(index).name(name).arguments(arguments);
    delta.ended = true;
    Step::Chunk(StreamChunk::calls(vec![delta]))
}

fn end(reason: FinishReason) -> Step {
    Step::Chunk(StreamChunk::end(reason))
}

/// Returns an agent whose tool `go` lets the answer go on.
fn early(provider: Slow, go_on: &Arc<Notify>) -> crate::AgentBuilder {
    let go_on = Arc::clone(go_on);
    let go = tool_fn("go", "", move |_: ToolContext, _: Nothing| {
        let go_on = Arc::clone(&go_on);
        async move {
            go_on.notify_one();
            "gone"
        }
    });
    let echo = tool_fn("echo", "", |_: ToolContext, echo: Echo| async { echo.text });
    Agent::builder(provider).call_start(CallStart::AsComplete).tool(go).tool(echo)
}

const CALL: &str = "<tool_call>{\"name\": \"go\", \"arguments\": {}}</tool_call>";

#[tokio::test(start_paused = true)]
async fn a_call_begins_while_its_answer_waits_for_it() {
    let done = || vec![text("Done."), end(FinishReason::Stop)];
    let in_text = vec![text(CALL), Step::Wait, text(" More."), end(FinishReason::Stop)];
    let by_delta = vec![
        text("Hm."),
        native(0, "go", "{}"),
        Step::Wait,
        native(1, "echo", "{\"text\":\"x\"}"),
        end(FinishReason::ToolCalls),
    ];
    for (answer, results) in [(in_text, vec!["gone"]), (by_delta, vec!["gone", "x"])] {
        let go_on = Arc::new(Notify::new());
        let agent = early(Slow::new(vec![answer, done()], &go_on), &go_on)
            .tool_dialect(ToolDialect::by_name("hermes").unwrap())
            .build()
            .unwrap()
            .conversation();
        let mut stream = agent.run_stream("Go.");
        let mut events = Vec::new();
        while let Some(event) = timeout(SOON, stream.next()).await.expect("the call begins") {
            events.push(event);
        }
        assert_whole(&events);
        let place = |kind: &str| events.iter().position(|it| it.event.kind() == kind).unwrap();
        assert!(place("tool_result") < place("api_call_end"), "{:?}", kinds(&events));
        let outcome = stream.outcome().await.unwrap();
        assert_eq!(outcome.text, "Done.");
        let told: Vec<_> =
            outcome.messages[2].tool_results().map(|it| it.content.as_str()).collect();
        assert_eq!(told, results);
        assert_history_is_whole(&agent);
    }
}

/// However many calls a chunk has, each is given between its own end and what follows it.
#[tokio::test(start_paused = true)]
async fn a_call_is_given_behind_its_own_end() {
    let echo = |text| {
        format!(
            "<tool_call>{{\"name\": \"echo\", \"arguments\": {{\"text\": \"{text}\"}}}}</tool_call>"
        )
    };
    let answer = format!("Hm. {} And {}{} More.", echo("a"), echo("b"), echo("c"));
    let go_on = Arc::new(Notify::new());
    let answers = vec![vec![text(&answer), end(FinishReason::Stop)], vec![text("Done.")]];
    let agent = early(Slow::new(answers, &go_on), &go_on)
        .tool_dialect(ToolDialect::by_name("hermes").unwrap())
        .build()
        .unwrap()
        .conversation();
    let mut stream = agent.run_stream("Go.");
    let mut story = Vec::new();
    while let Some(envelope) = timeout(SOON, stream.next()).await.expect("a bounded time") {
        let kind = envelope.event.kind();
        if ["tool_call", "tool_call_start", "tool_call_end"].contains(&kind) {
            story.push(kind.to_owned());
        }
    }
    assert_eq!(story, ["tool_call_start", "tool_call_end", "tool_call"].repeat(3));
}

/// The same answers give the same conversation, whenever their calls begin.
#[tokio::test(start_paused = true)]
async fn the_conversation_does_not_depend_on_the_start_of_calls() {
    fn turn(calls: &[(&str, &str)]) -> ScriptedTurn {
        let call = |turn: ScriptedTurn, (name, text): &(&str, &str)| {
            turn.call(name, json!({ "text": text }))
        };
        calls.iter().fold(ScriptedTurn::new().text("Hm."), call)
    }
    #[rustfmt::skip]
    let scripts: [fn() -> Vec<ScriptedTurn>; 5] = [
        || vec![turn(&[("echo", "a"), ("echo", "b"), ("nope", "c"), ("echo", "d")])],
        || vec![turn(&[("echo", "a"), ("alone", "b"), ("echo", "c")]), turn(&[("fail", "d")])],
        || vec![turn(&[("fail", "a"), ("fail", "a"), ("fail", "a"), ("echo", "b")])],
        || vec![turn(&[("echo", "a"), ("echo", "b")]).finish(FinishReason::Length)],
        || vec![turn(&[("echo", "a"), ("echo", "b")]).cut()],
    ];
    for most in [1, 2, 8] {
        for script in scripts {
            let mut seen = Vec::new();
            for start in [CallStart::AfterAnswer, CallStart::AsComplete] {
                let script = script().into_iter().chain([ScriptedTurn::new().text("Done.")]);
                let alone = tool_fn("alone", "", |_: ToolContext, echo: Echo| async { echo.text });
                let config = AgentConfig::default().call_start(start).max_parallel_calls(most);
                let agent = builder(&ScriptedProvider::new(script))
                    .config(config)
                    .tool(alone.alone())
                    .build()
                    .unwrap()
                    .conversation();
                let outcome = match agent.run("Go.").await {
                    Ok(outcome) => outcome,
                    Err(failed) => *failed.outcome,
                };
                assert_history_is_whole(&agent);
                seen.push((outcome.messages.clone(), outcome.text, outcome.reason));
            }
            let [late, early] = &seen[..] else { panic!("two") };
            assert_eq!((&late.1, &late.2), (&early.1, &early.2));
            // What had begun when an answer failed is kept.
            if !matches!(late.2, OutcomeKind::Failed { .. }) {
                assert_eq!(late.0, early.0, "{most} at a time");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_the_end_of_the_answer_begins_behind_it() {
    // A tool that runs alone, and arguments of which nothing came: the answer may be cut there.
    for (is_alone, arguments) in [(true, "{}"), (false, "")] {
        let go_on = Arc::new(Notify::new());
        let began = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&began);
        let count = tool_fn("count", "", move |_: ToolContext, _: Nothing| {
            seen.fetch_add(1, Ordering::Relaxed);
            async { "done" }
        });
        let count = if is_alone { count.alone() } else { count };
        let answer = vec![
            native(0, "count", arguments),
            native(1, "count", "{}"),
            Step::Wait,
            end(FinishReason::ToolCalls),
        ];
        let done = vec![text("Done."), end(FinishReason::Stop)];
        let provider = Slow::new(vec![answer, done], &go_on);
        let agent = early(provider, &go_on).tool(count).build().unwrap().conversation();
        let mut stream = agent.run_stream("Go.");
        while let Ok(Some(_)) = timeout(SOON, stream.next()).await {}
        assert_eq!(began.load(Ordering::Relaxed), 0, "it waits for the end of the answer");
        go_on.notify_one();
        assert_eq!(stream.outcome().await.unwrap().text, "Done.");
        assert_eq!(began.load(Ordering::Relaxed), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn results_are_kept_and_calls_told_to_stop_when_the_answer_fails() {
    let go_on = Arc::new(Notify::new());
    let stopped = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&stopped);
    let wait = tool_fn("wait", "", move |context: ToolContext, _: Nothing| {
        let seen = Arc::clone(&seen);
        async move {
            context.cancelled().cancelled().await;
            seen.fetch_add(1, Ordering::Relaxed);
            "stopped"
        }
    });
    let answer = vec![
        text("Hm."),
        native(0, "go", "{}"),
        native(1, "wait", "{}"),
        Step::Wait,
        native(2, "alone", "{}"),
        Step::Fail,
    ];
    let alone = tool_fn("alone", "", |_: ToolContext, _: Nothing| async { "never" }).alone();
    let provider = Slow::new(vec![answer], &go_on);
    let agent = early(provider, &go_on).tool(wait).tool(alone).build().unwrap().conversation();
    let mut stream = agent.run_stream("Go.");
    let mut events = Vec::new();
    while let Some(event) = timeout(SOON, stream.next()).await.expect("a bounded time") {
        events.push(event);
    }
    assert_whole(&events);
    let failed = stream.outcome().await.unwrap_err();
    assert_eq!(failed.error.code, ErrorCode::EndedEarly);
    assert_eq!(stopped.load(Ordering::Relaxed), 1, "it was asked to stop");
    let results: Vec<_> =
        failed.outcome.messages[2].tool_results().map(|it| it.content.as_str()).collect();
    assert_eq!((results[0], results[1], results.len()), ("gone", "stopped", 3), "{results:?}");
    assert!(
        results[2].contains("did not run") || results[2].contains("was not run"),
        "{results:?}"
    );
    assert_history_is_whole(&agent);
    assert_no_task_left().await;
}

/// An answer of which calls had begun goes on behind them, in another agent.
#[tokio::test(start_paused = true)]
async fn an_answer_that_was_put_away_is_kept_up_to_its_last_call() {
    let go_on = Arc::new(Notify::new());
    let journal = MemoryJournal::default();
    let answer = vec![
        text("Hm."),
        native(0, "go", "{}"),
        Step::Wait,
        native(1, "echo", "{\"text\":\"x\"}"),
        text("And"),
        Step::Wait,
        Step::Wait,
    ];
    let done = vec![text("Done."), end(FinishReason::Stop)];
    let agent = early(Slow::new(vec![answer], &go_on), &go_on)
        .build()
        .unwrap()
        .conversation()
        .with_journal(journal.clone());
    let mut stream = agent.run_stream("Go.");
    while let Ok(Some(_)) = timeout(SOON, stream.next()).await {}
    drop((stream, agent));
    let agent = early(Slow::new(vec![done], &go_on), &go_on)
        .build()
        .unwrap()
        .conversation()
        .with_journal(journal);
    let mut stream = agent.resume_stream().await.unwrap().expect("an open run");
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        events.push(event);
    }
    let kept = format!("{ANSWER_KEPT} {}", json!({ "turn": 1, "calls": 2 }));
    assert!(kinds(&events).contains(&kept), "{:?}", kinds(&events));
    let outcome = stream.outcome().await.unwrap();
    assert_eq!(outcome.text, "Done.");
    let [_, answer, results, _] = &outcome.messages[..] else { panic!("{:?}", outcome.messages) };
    assert_eq!((answer.text().as_str(), answer.tool_calls().count()), ("Hm.", 2));
    let results: Vec<_> = results.tool_results().map(|it| it.content.as_str()).collect();
    assert_eq!(results, ["gone", "x"], "nothing ran twice");
    assert_history_is_whole(&agent);
}
