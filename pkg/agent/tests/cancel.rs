//! Cancelling and dropping, in every state of a run.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::json;
use tokio::time::{Instant, timeout};

use super::{
    scenarios::{SCENARIOS, as_client},
    whole::assert_history_is_whole,
    *,
};
use crate::{OutcomeKind, RunError};
use forgeline_llm::scripted::{ScriptedProvider, ScriptedTurn};
use forgeline_types::{
    ErrorCode,
    MessageRole::{self, Assistant, Tool, User},
};

/// Reads the stream of a run and cancels it once `cancel_after` events were read.
async fn cancelled_after(
    agent: &Conversation,
    cancel_after: usize,
) -> (Vec<Envelope>, Result<(), RunError>) {
    let mut stream = agent.run_stream("Do it.");
    let mut events = Vec::new();
    if cancel_after == 0 {
        stream.cancel();
    }
    while let Some(envelope) = stream.next().await {
        as_client(&stream, &envelope);
        events.push(envelope);
        if events.len() == cancel_after {
            stream.cancel();
        }
    }
    (events, stream.outcome().await.map(|_| ()))
}

/// A way to make an agent, which runs once.
type Setup = Box<dyn Fn() -> (ScriptedProvider, AgentBuilder)>;

/// The conversation that has everything, and all scenarios.
fn setups() -> Vec<(&'static str, Setup)> {
    let rich = || {
        let provider = rich_script();
        (provider.clone(), builder(&provider))
    };
    let mut setups: Vec<(_, Setup)> = vec![("everything", Box::new(rich))];
    for scenario in &SCENARIOS {
        let setup = || {
            let world = scenario.world((scenario.turns)(), true);
            (world.provider, world.builder)
        };
        setups.push((scenario.name, Box::new(setup)));
    }
    setups
}

async fn whole_length(setup: &Setup) -> usize {
    cancelled_after(&setup().1.build().unwrap().conversation(), usize::MAX).await.0.len()
}

// Covers: T-12
#[tokio::test(start_paused = true)]
async fn cancelling_at_every_event_ends_the_run_properly() {
    for ((name, setup), capacity) in
        setups().iter().flat_map(|setup| [1, 2, 64].map(|capacity| (setup, capacity)))
    {
        let length = whole_length(setup).await;
        let mut cancelled = 0;
        for at in 0..length {
            let (provider, builder) = setup();
            let agent = builder.event_capacity(capacity).build().unwrap().conversation();
            let started = Instant::now();
            let (events, result) = cancelled_after(&agent, at).await;
            assert!(started.elapsed() <= SOON, "{name}: at {at}");
            assert_whole(&events);
            // So the script itself ends.
            let empty = |error: &RunError| error.error.code == ErrorCode::EmptyAnswer;
            if let Err(error) = result
                && !empty(&error)
            {
                cancelled += 1;
                assert_eq!(error.error.code, ErrorCode::Cancelled, "at {at}");
                let errors = kinds(&events).into_iter().filter(|kind| kind.starts_with("error"));
                assert_eq!(errors.collect::<Vec<_>>(), ["error Cancelled"], "at {at}");
            }
            assert_eq!(provider.open_streams(), 0, "at {at}");
            assert_history_is_whole(&agent);
            assert_no_task_left().await;
        }
        // With a long queue the run is over before its first event is read.
        assert!(capacity > 2 || cancelled >= length - 8, "{name}: {cancelled} of {length}");
    }
}

// Covers: G-26
#[tokio::test(start_paused = true)]
async fn dropping_the_stream_at_every_event_leaves_nothing() {
    let setups = setups();
    let mut places = Vec::new();
    for (_, setup) in &setups {
        places.extend((0..=whole_length(setup).await).map(|at| (setup, at)));
    }
    for (setup, at) in places {
        let (provider, builder) = setup();
        let agent = builder.build().unwrap().conversation();
        let mut stream = agent.run_stream("Do it.");
        for _ in 0..at {
            let envelope = stream.next().await.unwrap();
            as_client(&stream, &envelope);
        }
        drop(stream);
        assert_eq!(provider.open_streams(), 0, "at {at}");
        assert_no_task_left().await;
        // The conversation is free for the next run, and whole after it.
        let next = agent.run("Again.");
        let ended = timeout(SOON, next).await.expect("the next run is not blocked");
        drop(ended);
        assert_history_is_whole(&agent);
    }
}

/// G-26: an abandoned stream ends when it is dropped, without having been read.
// Covers: G-26
#[tokio::test(start_paused = true)]
async fn g_26_a_stream_that_nobody_reads_does_nothing() {
    let provider = rich_script();
    let agent = agent(&provider);
    let stream = agent.run_stream("Do it.");
    assert_eq!(provider.requests().len(), 0);
    drop(stream);
    assert_no_task_left().await;
    assert!(agent.transcript().is_empty());
}

/// A run that cannot go on by itself, and its state.
fn stuck() -> [(&'static str, ScriptedProvider); 4] {
    let call = |name| ScriptedTurn::new().text("Now.").call(name, json!({}));
    [
        ("provider hangs", ScriptedProvider::new([ScriptedTurn::new().text("Now.").hang()])),
        ("tool waits", ScriptedProvider::new([call("wait")])),
        ("tool ignores cancellation", ScriptedProvider::new([call("hang")])),
        ("provider hangs at once", ScriptedProvider::new([ScriptedTurn::new().hang()])),
    ]
}

// Covers: T-12
#[tokio::test(start_paused = true)]
async fn cancelling_works_while_something_hangs() {
    for (name, provider) in stuck() {
        let agent = agent(&provider);
        let mut stream = agent.run_stream("Go.");
        let mut events = Vec::new();
        while let Ok(next) = timeout(std::time::Duration::from_secs(1), stream.next()).await {
            events.push(next.expect("the run hangs, it does not end"));
        }
        let started = Instant::now();
        stream.cancel();
        while let Some(envelope) = stream.next().await {
            events.push(envelope);
        }
        assert!(started.elapsed() <= SOON, "{name}");
        assert_whole(&events);
        let error = stream.outcome().await.unwrap_err();
        assert_eq!(error.error.code, ErrorCode::Cancelled, "{name}");
        if name != "provider hangs at once" {
            assert_eq!(error.outcome.text, "Now.", "{name}: the partial text is kept");
            assert_eq!(agent.transcript().messages()[1].role, MessageRole::Assistant, "{name}");
        }
        assert_history_is_whole(&agent);
        assert_eq!(provider.open_streams(), 0, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_ignores_its_cancellation_is_abandoned_and_reported() {
    let provider = ScriptedProvider::new([ScriptedTurn::new().call("hang", json!({}))]);
    let mut stream = agent(&provider).run_stream("Go.");
    let mut events = Vec::new();
    while let Some(envelope) = stream.next().await {
        if matches!(envelope.event, AgentEvent::ToolCall(_)) {
            stream.cancel();
        }
        events.push(envelope);
    }
    let told = kinds(&events).into_iter().find(|kind| kind.starts_with("failure")).unwrap();
    assert_eq!(
        told,
        "failure The tool `hang` failed: cancelled; the tool did not stop and was abandoned"
    );
}

/// G-37: a deadline is an error that the model hears of.
// Covers: G-36, G-37, H-24
#[tokio::test(start_paused = true)]
async fn g_37_a_tool_that_takes_too_long_is_a_typed_error() {
    let turns = [
        ScriptedTurn::new().call("hang", json!({})).call("wait", json!({})),
        ScriptedTurn::new().text("Too slow."),
    ];
    let provider = ScriptedProvider::new(turns);
    let limit = std::time::Duration::from_secs(3);
    let agent = builder(&provider).tool_timeout(limit).build().unwrap().conversation();
    let started = Instant::now();
    let outcome = agent.run("Go.").await.unwrap();
    assert!(started.elapsed() >= limit && started.elapsed() <= limit + SOON);
    assert_eq!(outcome.reason, OutcomeKind::Answer);
    let told: Vec<_> = outcome.messages[2].tool_results().map(|one| one.content.clone()).collect();
    let want = ["hang", "wait"].map(|name| {
        format!("The tool `{name}` failed: no result after 3s; ask for less at a time")
    });
    assert_eq!(told, want);
}

/// A tool whose time is over is asked to stop before it is abandoned.
// Found: S15
#[tokio::test(start_paused = true)]
async fn tool_is_cancelled_at_its_time_limit() {
    let told = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&told);
    let tool = tool_fn("obedient", "", move |context: ToolContext, _: Nothing| {
        let count = Arc::clone(&count);
        async move {
            context.cancelled().cancelled().await;
            count.fetch_add(1, Ordering::SeqCst);
            ""
        }
    });
    let turns = [ScriptedTurn::new().call("obedient", json!({})), ScriptedTurn::new().text("ok")];
    let limit = std::time::Duration::from_secs(3);
    let builder = Agent::builder(ScriptedProvider::new(turns)).tool(tool);
    let started = Instant::now();
    builder.tool_timeout(limit).build().unwrap().conversation().run("Go.").await.unwrap();
    assert_eq!(told.load(Ordering::SeqCst), 1);
    assert_eq!(started.elapsed(), limit, "it stops at once, within its grace");
}

/// No call begins once the run is cancelled, whether it shares a batch or runs alone.
// Found: S14
// Covers: T-12
#[tokio::test(start_paused = true)]
async fn no_call_begins_after_a_cancel() {
    for alone in [true, false] {
        let runs = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&runs);
        let tool = tool_fn("wait", "", move |context: ToolContext, _: Nothing| {
            count.fetch_add(1, Ordering::SeqCst);
            async move {
                context.cancelled().cancelled().await;
                "stopped"
            }
        });
        let tool = if alone { tool.alone() } else { tool };
        let calls = (0..3).fold(ScriptedTurn::new(), |turn, _| turn.call("wait", json!({})));
        let builder = Agent::builder(ScriptedProvider::new([calls])).tool(tool);
        let agent = builder.max_parallel_calls(1).build().unwrap().conversation();
        let mut stream = agent.run_stream("Go.");
        let mut called = 0;
        while let Some(envelope) = stream.next().await {
            if matches!(envelope.event, AgentEvent::ToolCall(_)) {
                called += 1;
                stream.cancel();
            }
        }
        assert_eq!((called, runs.load(Ordering::SeqCst)), (1, 1), "alone: {alone}");
        assert_history_is_whole(&agent);
    }
}

/// Events that tools sent before a cancel, and for which there was no place yet, are dropped: only
/// closing events follow it.
// Found: S16
// Covers: G-36
#[tokio::test(start_paused = true)]
async fn events_of_tools_do_not_enter_the_backlog_after_a_cancel() {
    let tool = tool_fn("chatty", "", |context: ToolContext, _: Nothing| async move {
        for n in 0..5 {
            context.emit("progress", json!(n)).await;
        }
        context.cancelled().cancelled().await;
        ""
    });
    let provider = ScriptedProvider::new([ScriptedTurn::new().call("chatty", json!({}))]);
    let builder = Agent::builder(provider).tool(tool).event_capacity(1);
    let (handle, mut channels) = builder.build().unwrap().start();
    channels.input.send("Go.").await.unwrap();
    let mut events = Vec::new();
    while !matches!(events.last(), Some(Envelope { event: AgentEvent::ToolCall(_), .. })) {
        events.push(channels.events.recv().await.unwrap());
    }
    tokio::time::sleep(SOON).await;
    handle.cancel().unwrap();
    while !matches!(events.last(), Some(Envelope { event: AgentEvent::TurnEnd, .. })) {
        events.push(channels.events.recv().await.unwrap());
    }
    let progress = kinds(&events).into_iter().filter(|kind| kind.starts_with("progress"));
    assert_eq!(
        progress.collect::<Vec<_>>(),
        ["progress 0", "progress 1"],
        "one in the queue, and the one that waited for a place"
    );
    handle.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn run_dropped_between_call_and_result_is_repaired() {
    let provider = ScriptedProvider::new([
        ScriptedTurn::new().call("hang", json!({})),
        ScriptedTurn::new().text("ok"),
    ]);
    let agent = agent(&provider);
    let ended = timeout(std::time::Duration::from_secs(1), agent.run("Go.")).await;
    assert!(ended.is_err(), "it hangs");
    agent.run("Again.").await.unwrap();
    assert_history_is_whole(&agent);
    let roles: Vec<_> = agent.transcript().iter().map(|message| message.role).collect();
    assert_eq!(roles, [User, Assistant, Tool, User, Assistant]);
}

// Found: R4
// Covers: G-36, G-37
#[tokio::test(start_paused = true)]
async fn a_run_that_takes_too_long_ends_properly_wherever_it_stands() {
    let limit = Duration::from_secs(7);
    let half = || ScriptedTurn::new().text("Once upon").hang();
    let calls = |name| ScriptedTurn::new().call(name, json!({}));
    for (name, turn) in
        [("text", half()), ("a tool", calls("wait")), ("a deaf tool", calls("hang"))]
    {
        let provider = ScriptedProvider::new([turn]);
        let agent = builder(&provider).run_timeout(limit).build().unwrap().conversation();
        let started = Instant::now();
        let (events, result) = cancelled_after(&agent, usize::MAX).await;
        assert!((limit..=limit + SOON).contains(&started.elapsed()), "{name}");
        assert_whole(&events);
        let error = result.unwrap_err();
        assert_eq!(error.error.code, ErrorCode::Timeout, "{name}");
        assert!(error.error.message.contains("longer than 7s"), "{name}: {}", error.error.message);
        let errors = kinds(&events).into_iter().filter(|kind| kind.starts_with("error"));
        assert_eq!(errors.collect::<Vec<_>>(), ["error Timeout"], "{name}");
        assert_eq!(provider.open_streams(), 0, "{name}");
        assert!(name != "text" || error.outcome.text == "Once upon");
    }
    let provider = ScriptedProvider::new([half(), ScriptedTurn::new().text("Fine.")]);
    let agent = builder(&provider).run_timeout(limit).build().unwrap().conversation();
    agent.run("Go.").await.unwrap_err();
    assert_eq!(agent.run("Again.").await.unwrap().text, "Fine.", "each run has its own time");
    let zero = builder(&provider).run_timeout(Duration::ZERO).build().unwrap_err();
    assert!(zero.to_string().contains("`run_timeout` is 0"), "{zero}");
}
