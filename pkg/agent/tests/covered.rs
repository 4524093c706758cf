//! Rows of `docs/coverage.md` that no other test is about.

use serde_json::json;
use tokio::time::{Instant, timeout};

use super::*;
use crate::{config::AgentConfig, memory::ConversationMemory};
use forgeline_types::{ErrorCode, Transcript};

#[derive(Deserialize, JsonSchema)]
struct Nap {
    seconds: u64,
}

// Covers: T-03, H-23
#[tokio::test(start_paused = true)]
async fn results_are_in_the_order_of_the_calls_whichever_ends_first() {
    let nap = tool_fn("nap", "", |_: ToolContext, nap: Nap| async move {
        tokio::time::sleep(Duration::from_secs(nap.seconds)).await;
        nap.seconds.to_string()
    });
    let call = |turn: ScriptedTurn, seconds| turn.call("nap", json!({ "seconds": seconds }));
    let calls = [3, 1, 2].into_iter().fold(ScriptedTurn::new(), call);
    let provider = ScriptedProvider::new([calls, ScriptedTurn::new().text("ok")]);
    let started = Instant::now();
    let outcome =
        Agent::builder(provider).tool(nap).build().unwrap().conversation().run("Go.").await;
    let results: Vec<_> = outcome.as_ref().unwrap().messages[2].tool_results().collect();
    let said: Vec<_> = results.iter().map(|result| result.content.as_str()).collect();
    assert_eq!(said, ["3", "1", "2"]);
    assert!(started.elapsed() < Duration::from_secs(4), "side by side");
}

// Covers: T-04, H-29
#[tokio::test(start_paused = true)]
async fn ten_turns_and_a_last_answer_are_the_default_limit() {
    let count = std::sync::atomic::AtomicUsize::new(0);
    let provider = ScriptedProvider::from_fn(move |_| {
        let n = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        ScriptedTurn::new().call("echo", json!({ "text": format!("{n}") }))
    });
    let failed = agent(&provider).run("Go.").await.unwrap_err();
    assert_eq!((failed.error.code, failed.outcome.turns), (ErrorCode::MaxTurns, 11));
}

// Covers: E-09, E-28
#[tokio::test(start_paused = true)]
async fn a_stored_conversation_goes_on_with_its_calls_and_results() {
    let first = agent(&rich_script());
    first.run("Do it.").await.unwrap();
    let stored = serde_json::to_string(&first.transcript()).unwrap();
    let read: Transcript = serde_json::from_str(&stored).unwrap();
    let provider = ScriptedProvider::new([ScriptedTurn::new().text("Well.")]);
    let next = builder(&provider).memory(ConversationMemory::from(read));
    next.build().unwrap().conversation().run("And now?").await.unwrap();
    let asked = provider.requests()[0].messages.clone();
    let (last, before) = asked.messages().split_last().unwrap();
    assert_eq!(last.text(), "And now?");
    assert_eq!(before, first.transcript().messages());
    assert_eq!(before.iter().flat_map(|message| message.tool_calls()).count(), 4);
}

// Covers: G-36
#[tokio::test(start_paused = true)]
async fn cancelled_tool_has_the_configured_grace_period() {
    let turns = [ScriptedTurn::new().call("hang", json!({})), ScriptedTurn::new().text("ok")];
    let second = Duration::from_secs(1);
    let config = AgentConfig::default().tool_timeout(second).tool_grace(5 * second);
    let builder = builder(&ScriptedProvider::new(turns)).config(config);
    let started = Instant::now();
    builder.build().unwrap().conversation().run("Go.").await.unwrap();
    assert!((6 * second..7 * second).contains(&started.elapsed()), "{:?}", started.elapsed());
}

// Covers: G-29
#[tokio::test(start_paused = true)]
async fn g_29_an_agent_starts_again_after_its_shutdown() {
    let provider = ScriptedProvider::new(["one", "two"].map(|text| ScriptedTurn::new().text(text)));
    let agent = agent(&provider);
    for turn in 1..=2 {
        let (handle, mut channels) = agent.start();
        channels.input.send("Go on.").await.unwrap();
        while channels.events.recv().await.unwrap().event != AgentEvent::TurnEnd {}
        handle.shutdown().await;
        assert_eq!(provider.requests().len(), turn);
    }
    assert_eq!(agent.transcript().len(), 4);
}

// Covers: G-38
#[tokio::test(start_paused = true)]
async fn g_38_a_shutdown_is_heard_whenever_it_comes() {
    for steps in 0..60 {
        let provider = rich_script();
        let (handle, channels) = agent(&provider).start();
        channels.input.send("Do it.").await.unwrap();
        for _ in 0..steps {
            tokio::task::yield_now().await;
        }
        timeout(SOON, handle.shutdown()).await.unwrap_or_else(|_| panic!("after {steps} steps"));
        assert!(handle.has_ended());
        assert_no_task_left().await;
    }
}
