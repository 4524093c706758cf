//! The started agent: channels, queueing, cancelling, shutdown.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, timeout};

use super::*;
use crate::{
    channels::{AgentChannels, AgentHandle, Input, UnsentInput},
    config::{AgentConfig, CallMode},
};
use forgeline_types::{ErrorCode, UpdateBusyEvent};

fn answers(count: usize) -> ScriptedProvider {
    ScriptedProvider::new((0..count).map(|n| ScriptedTurn::new().text(format!("answer {n}"))))
}

/// Reads events until `turns` inputs were worked off.
async fn read_turns(channels: &mut AgentChannels, turns: usize) -> Vec<Envelope> {
    let mut events = Vec::new();
    let mut ended = 0;
    while ended < turns {
        let envelope = channels.events.recv().await.expect("the agent goes on");
        ended += usize::from(envelope.event == AgentEvent::UpdateBusy(UpdateBusyEvent::new(false)));
        events.push(envelope);
    }
    events
}

/// The events of each run, by its id, in order of appearance.
fn runs(events: Vec<Envelope>) -> Vec<Vec<Envelope>> {
    let mut runs: Vec<Vec<Envelope>> = Vec::new();
    for envelope in events {
        match runs.last_mut() {
            Some(run) if run[0].run_id == envelope.run_id => run.push(envelope),
            _ => runs.push(vec![envelope]),
        }
    }
    runs
}

/// G-30: inputs that arrive during a turn wait in order; one turn at a time.
// Covers: G-30
#[tokio::test(start_paused = true)]
async fn g_30_inputs_queue_in_order_and_one_turn_runs_at_a_time() {
    let provider = answers(3);
    let (handle, mut channels) = agent(&provider).start();
    for text in ["a", "b", "c"] {
        channels.input.send(text).await.unwrap();
    }
    let runs = runs(read_turns(&mut channels, 3).await);
    assert_eq!(runs.len(), 3, "the events of two runs never mix");
    for (n, run) in runs.iter().enumerate() {
        assert_whole(run);
        assert!(kinds(run).contains(&format!("message answer {n}")));
    }
    let asked: Vec<_> =
        provider.requests().iter().map(|request| request.messages.last().unwrap().text()).collect();
    assert_eq!(asked, ["a", "b", "c"]);
    handle.shutdown().await;
    assert_no_task_left().await;
}

/// G-25: cancel and shutdown work although nobody reads the events, at every capacity.
// Covers: G-25
#[tokio::test(start_paused = true)]
async fn g_25_a_consumer_that_never_reads_blocks_nothing() {
    for capacity in [1, 2, 3, 64] {
        let provider = rich_script();
        let agent = builder(&provider).event_capacity(capacity).build().unwrap().conversation();
        let (handle, mut channels) = agent.start();
        channels.input.send("Do it.").await.unwrap();
        tokio::time::sleep(Duration::from_secs(10)).await;
        let started = Instant::now();
        timeout(SOON, handle.shutdown()).await.expect("shutdown does not wait for the reader");
        assert!(started.elapsed() <= SOON);
        assert_no_task_left().await;
        assert_eq!(provider.open_streams(), 0);
        // What was sent is still there, properly ended.
        let mut events = Vec::new();
        while let Some(envelope) = channels.events.recv().await {
            events.push(envelope);
        }
        assert_whole(&events);
    }
}

#[tokio::test(start_paused = true)]
async fn cancel_ends_the_turn_and_the_next_input_is_served() {
    let provider = ScriptedProvider::new([
        ScriptedTurn::new().text("Half").hang(),
        ScriptedTurn::new().text("Whole"),
        ScriptedTurn::new().call("hang", json!({})),
    ]);
    let (handle, mut channels) = builder(&provider).event_capacity(1).build().unwrap().start();
    channels.input.send("a").await.unwrap();
    channels.input.send(Input::Cancel).await.unwrap();
    channels.input.send("b").await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let first_two = runs(read_turns(&mut channels, 2).await);
    for run in &first_two {
        assert_whole(run);
    }
    assert!(kinds(&first_two[0]).contains(&"error Cancelled".to_owned()));
    assert!(kinds(&first_two[1]).contains(&"message Whole".to_owned()));
    channels.input.send("c").await.unwrap();
    let reading = async {
        let mut events = Vec::new();
        loop {
            let envelope = channels.events.recv().await.unwrap();
            if matches!(envelope.event, AgentEvent::ToolCall(_)) {
                handle.cancel().unwrap();
            }
            let over = envelope.event == AgentEvent::UpdateBusy(UpdateBusyEvent::new(false));
            events.push(envelope);
            if over {
                return events;
            }
        }
    };
    let third = timeout(Duration::from_secs(1), reading).await.unwrap();
    assert_whole(&third);
    assert!(kinds(&third).contains(&"error Cancelled".to_owned()));
    handle.shutdown().await;
}

/// G-27, G-28, G-29: nothing goes on after a shutdown, a second one is fine, and every later call
/// is a typed error.
// Covers: G-27, G-28
#[tokio::test(start_paused = true)]
async fn g_28_shutdown_joins_twice_is_fine_and_afterwards_calls_are_errors() {
    let provider = ScriptedProvider::new([ScriptedTurn::new().hang()]);
    let agent = agent(&provider);
    let (handle, mut channels) = agent.start();
    channels.input.send("a").await.unwrap();
    channels.input.send("never served").await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (one, two) = (handle.clone(), handle.clone());
    timeout(SOON, async { tokio::join!(one.shutdown(), two.shutdown()) }).await.unwrap();
    handle.shutdown().await;
    handle.done().await;
    assert!(handle.has_ended());
    assert_no_task_left().await;
    assert_eq!(provider.requests().len(), 1, "the second input was dropped");
    assert_eq!(channels.input.send("b").await.unwrap_err().code, ErrorCode::Shutdown);
    assert_eq!(handle.cancel().unwrap_err().code, ErrorCode::Shutdown);
    let mut events = Vec::new();
    while let Some(envelope) = channels.events.recv().await {
        events.push(envelope);
    }
    assert_whole(&events);

    // The agent itself can be started again.
    let provider = answers(1);
    let (handle, mut channels) = super::agent(&provider).start();
    channels.input.send("a").await.unwrap();
    read_turns(&mut channels, 1).await;
    handle.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn dropping_the_channels_ends_the_agent() {
    for (name, provider) in [
        ("idle", answers(0)),
        ("hanging", ScriptedProvider::new([ScriptedTurn::new().hang()])),
        ("tool", ScriptedProvider::new([ScriptedTurn::new().call("hang", json!({}))])),
    ] {
        let (handle, channels) = agent(&provider).start();
        if name != "idle" {
            channels.input.send("a").await.unwrap();
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        drop(channels);
        timeout(SOON, handle.done()).await.expect(name);
        assert_no_task_left().await;
        assert_eq!(provider.open_streams(), 0, "{name}");
    }
}

/// An agent whose events nobody can read any more ends, although inputs could still come.
// Found: S19
#[tokio::test(start_paused = true)]
async fn an_agent_without_a_reader_ends() {
    let hanging = || ScriptedProvider::new([ScriptedTurn::new().hang()]);
    for (name, provider, input) in [
        ("idle", answers(0), None),
        ("before its first event is sent", answers(1), Some("a")),
        ("hanging", hanging(), Some("a")),
    ] {
        let (handle, channels) = agent(&provider).start();
        let AgentChannels { input: sender, events, .. } = channels;
        if name == "hanging" {
            sender.send(input.unwrap()).await.unwrap();
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        drop(events);
        if name == "before its first event is sent" {
            // The agent may have ended already, which is as good.
            sender.send(input.unwrap()).await.ok();
        }
        timeout(SOON, handle.done()).await.expect(name);
        assert_no_task_left().await;
        assert_eq!(provider.open_streams(), 0, "{name}");
        assert_eq!(sender.send("b").await.unwrap_err().code, ErrorCode::Shutdown, "{name}");
    }
}

/// The inputs that wait for a running turn are bounded: as many as the queue holds, and as many
/// again that were taken out of it to look for a cancellation.
// Found: S18
// Covers: G-36
#[tokio::test(start_paused = true)]
async fn a_sender_of_inputs_feels_backpressure() {
    let provider = ScriptedProvider::new([ScriptedTurn::new().hang()]);
    let config = AgentConfig { input_capacity: 2, ..AgentConfig::default() };
    let (handle, channels) = builder(&provider).config(config).build().unwrap().start();
    channels.input.send("runs").await.unwrap();
    tokio::time::sleep(SOON).await;
    let mut taken = 0;
    while timeout(SOON, channels.input.send("waits")).await.is_ok() {
        taken += 1;
        assert!(taken <= 4, "no backpressure");
    }
    assert_eq!(taken, 4);
    handle.cancel().unwrap();
    handle.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn an_input_that_finds_no_space_is_given_back() {
    let provider = ScriptedProvider::new([ScriptedTurn::new().hang()]);
    let config = AgentConfig { input_capacity: 2, ..AgentConfig::default() };
    let (handle, channels) = builder(&provider).config(config).build().unwrap().start();
    let given = |sent: Result<(), UnsentInput>| match sent.unwrap_err().into_input() {
        Input::Steer { message, .. } => message.text(),
        other => panic!("{other:?}"),
    };
    // The agent has not taken any out of the queue yet.
    for text in ["one", "two"] {
        channels.input.try_send(text).unwrap();
    }
    let full = channels.input.try_send(Input::steer("three"));
    assert!(matches!(full, Err(UnsentInput::Full(_))), "{full:?}");
    assert_eq!(given(full), "three");
    tokio::time::sleep(SOON).await;
    channels.input.try_send("four").unwrap();
    while channels.input.try_send("more").is_ok() {}
    channels.input.try_send(Input::Cancel).expect("a cancel needs no space");
    handle.cancel().unwrap();
    handle.shutdown().await;
    let ended = channels.input.try_send(Input::steer("five"));
    assert!(matches!(ended, Err(UnsentInput::Ended(_))), "{ended:?}");
    assert_eq!(given(ended), "five");
}

/// Starts an agent with room for one input whose run hangs, and fills its queue.
async fn full_queue(turns: Vec<ScriptedTurn>) -> (AgentHandle, AgentChannels) {
    let hanging = std::iter::once(ScriptedTurn::new().text("Half").hang());
    let provider = ScriptedProvider::new(hanging.chain(turns));
    let config = AgentConfig { input_capacity: 1, ..AgentConfig::default() };
    let (handle, channels) = builder(&provider).config(config).build().unwrap().start();
    channels.input.send("runs").await.unwrap();
    tokio::time::sleep(SOON).await;
    while timeout(SOON, channels.input.send("waits")).await.is_ok() {}
    (handle, channels)
}

/// R12: a cancel does not wait behind the inputs that wait for the run.
// Covers: R12
#[tokio::test(start_paused = true)]
async fn a_cancel_passes_a_full_queue_of_inputs() {
    for passes_by in ["input", "cancel"] {
        let whole = ["one", "two"].map(|text| ScriptedTurn::new().text(text));
        let (handle, mut channels) = full_queue(whole.into()).await;
        match passes_by {
            "input" => timeout(SOON, channels.input.send(Input::Cancel)).await.unwrap().unwrap(),
            _ => channels.cancel.send().unwrap(),
        }
        let runs = runs(timeout(SOON, read_turns(&mut channels, 3)).await.unwrap());
        let says = |run: usize, text: &str| {
            assert_whole(&runs[run]);
            assert!(kinds(&runs[run]).contains(&text.to_owned()), "{passes_by}: {text}");
        };
        says(0, "error Cancelled");
        says(1, "message one");
        says(2, "message two");
        handle.shutdown().await;
    }
}

/// A cancel that is sent before its run begins keeps its place among the inputs.
#[tokio::test(start_paused = true)]
async fn each_cancel_ends_the_input_that_was_sent_before_it() {
    let turns = (0..3).map(|_| ScriptedTurn::new().text("Half").hang());
    let config = AgentConfig { input_capacity: 1, ..AgentConfig::default() };
    let agent =
        builder(&ScriptedProvider::new(turns)).config(config).build().unwrap().conversation();
    let (handle, channels) = agent.start();
    let AgentChannels { input, mut events, .. } = channels;
    input.send("a").await.unwrap();
    input.send(Input::Cancel).await.unwrap();
    input.send("b").await.unwrap();
    input.send(Input::Cancel).await.unwrap();
    drop(input);
    let mut got = Vec::new();
    while let Some(envelope) = timeout(SOON, events.recv()).await.unwrap() {
        got.push(envelope);
    }
    let runs = runs(got);
    assert_eq!(runs.len(), 2);
    for run in &runs {
        assert_whole(run);
        assert!(kinds(run).contains(&"error Cancelled".to_owned()));
    }
    handle.done().await;
}

#[tokio::test(start_paused = true)]
async fn each_end_is_cloned_and_fails_after_the_end() {
    let (handle, channels) = full_queue(Vec::new()).await;
    let AgentChannels { input, mut events, cancel, shutdown, .. } = channels;
    let waiting = tokio::spawn({
        let input = input.clone();
        async move { input.send("no place").await }
    });
    tokio::time::sleep(SOON).await;
    // Ends that are dropped change nothing.
    drop((cancel.clone(), shutdown.clone()));
    assert!(!handle.has_ended());
    let shutdown = tokio::spawn(async move { shutdown.send().map(|()| shutdown) });
    let shutdown = shutdown.await.unwrap().unwrap();
    timeout(SOON, handle.done()).await.unwrap();
    assert_no_task_left().await;
    let errors = [
        waiting.await.unwrap(),
        input.send("late").await,
        input.send(Input::Cancel).await,
        cancel.send(),
        shutdown.send(),
    ];
    for error in errors {
        assert_eq!(error.unwrap_err().code, ErrorCode::Shutdown);
    }
    let mut got = Vec::new();
    while let Some(envelope) = events.recv().await {
        got.push(envelope);
    }
    assert_whole(&got);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_last_input_sender_serves_what_waits_and_ends() {
    let (handle, channels) = agent(&answers(2)).start();
    let AgentChannels { input, mut events, .. } = channels;
    input.send("a").await.unwrap();
    input.send("b").await.unwrap();
    drop(input);
    let mut got = Vec::new();
    while let Some(envelope) = events.recv().await {
        got.push(envelope);
    }
    assert_eq!(runs(got).len(), 2);
    handle.done().await;
}

#[tokio::test(start_paused = true)]
async fn run_ids_are_unique_and_runs_of_one_agent_follow_each_other() {
    let provider = answers(8);
    let agent = builder(&provider).call_mode(CallMode::Native).build().unwrap().conversation();
    let runs = futures_util::future::join_all((0..8).map(|n| agent.run(format!("{n}")))).await;
    let mut ids: Vec<_> = runs.into_iter().map(|run| run.unwrap().run_id).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 8);
    let lengths: Vec<_> =
        provider.requests().iter().map(|request| request.messages.len()).collect();
    assert_eq!(lengths, [1, 3, 5, 7, 9, 11, 13, 15], "one conversation, one run at a time");
}
