//! Calls are tasks: what one tool does to its thread, its drop or its reader is no other's matter.

use std::sync::{
    Arc, Mutex,
    mpsc::{Receiver, channel},
};

use tokio::{sync::oneshot, time::timeout};

use super::*;
use forgeline_types::{ErrorCode, ToolResultEvent};

/// More than a test on real threads takes.
const LONG: Duration = Duration::from_mins(1);

/// A tool that blocks its thread until something is sent.
fn blocking(receiver: Receiver<&'static str>) -> impl crate::tools::Tool {
    let receiver = Arc::new(Mutex::new(receiver));
    tool_fn("take", "", move |_: ToolContext, _: Nothing| {
        let receiver = Arc::clone(&receiver);
        async move { receiver.lock().unwrap().recv_timeout(LONG).unwrap_or("nothing") }
    })
}

// Covers: A6, R11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_blocks_its_thread_stalls_no_other() {
    let (sender, receiver) = channel();
    let give = tool_fn("give", "", move |_: ToolContext, _: Nothing| {
        let sender = sender.clone();
        async move {
            sender.send("taken").unwrap();
            "given"
        }
    });
    let turn = ScriptedTurn::new().call("take", json!({})).call("give", json!({}));
    let provider = ScriptedProvider::new([turn, ScriptedTurn::new().text("ok")]);
    let agent = Agent::builder(provider)
        .tool(blocking(receiver))
        .tool(give)
        .build()
        .unwrap()
        .conversation();
    let outcome = agent.run("Go.").await.unwrap();
    let results: Vec<_> =
        outcome.messages[2].tool_results().map(|it| it.content.as_str()).collect();
    assert_eq!(results, ["taken", "given"]);
}

// Covers: R11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_leaves_a_tool_behind_that_blocks_its_thread() {
    let (sender, receiver) = channel();
    let provider = ScriptedProvider::new([ScriptedTurn::new().call("take", json!({}))]);
    let agent = Agent::builder(provider).tool(blocking(receiver)).build().unwrap().conversation();
    let mut stream = agent.run_stream("Go.");
    while stream.next().await.is_some_and(|it| it.event.kind() != "tool_call") {}
    stream.cancel_token().cancel();
    let error = timeout(LONG / 2, stream.outcome()).await.unwrap().unwrap_err();
    assert_eq!(error.error.code, ErrorCode::Cancelled);
    let result =
        error.outcome.messages.last().unwrap().tool_results().next().unwrap().content.clone();
    assert!(result.ends_with("the tool did not stop and was abandoned"), "{result}");
    sender.send("at last").unwrap();
}

/// A value that cannot be dropped in peace.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        std::panic::panic_any("boom");
    }
}

// Covers: R11
#[tokio::test(start_paused = true)]
async fn a_tool_that_panics_in_drop_leaves_the_run_alive() {
    let turn = ScriptedTurn::new().call("bomb", json!({})).call("echo", json!({ "text": "x" }));
    let provider = ScriptedProvider::new([turn, ScriptedTurn::new().text("ok")]);
    let bomb = tool_fn("bomb", "", |_: ToolContext, _: Nothing| async {
        let bomb = Bomb;
        std::future::pending::<()>().await;
        drop(bomb);
        "never"
    });
    let config = crate::config::AgentConfig::default().tool_timeout(Duration::from_secs(1));
    let agent = builder(&provider).config(config).tool(bomb).build().unwrap().conversation();
    let outcome = agent.run("Go.").await.unwrap();
    assert_eq!(outcome.text, "ok");
    let results: Vec<_> =
        outcome.messages[2].tool_results().map(|it| it.content.as_str()).collect();
    assert_eq!(
        results,
        ["The tool `bomb` failed: no result after 1s; ask for less at a time", "x"]
    );
}

// Covers: A6
#[tokio::test(start_paused = true)]
async fn a_tool_goes_on_while_the_events_are_not_read() {
    let (sender, receiver) = oneshot::channel();
    let sender = Arc::new(Mutex::new(Some(sender)));
    let tool = tool_fn("work", "", move |_: ToolContext, _: Nothing| {
        let sender = Arc::clone(&sender);
        async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            sender.lock().unwrap().take().unwrap().send(()).unwrap();
            "done"
        }
    });
    let provider = ScriptedProvider::new([ScriptedTurn::new().call("work", json!({}))]);
    let agent =
        Agent::builder(provider).tool(tool).event_capacity(1).build().unwrap().conversation();
    let mut stream = agent.run_stream("Go.");
    while stream.next().await.is_some_and(|it| it.event.kind() != "tool_call") {}
    timeout(2 * Duration::from_secs(1), receiver).await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn results_are_reported_as_soon_as_they_exist() {
    let nap = tool_fn("nap", "", |_: ToolContext, echo: Echo| async move {
        tokio::time::sleep(Duration::from_secs(echo.text.parse().unwrap())).await;
        echo.text
    });
    let call = |turn: ScriptedTurn, text| turn.call("nap", json!({ "text": text }));
    let calls = ["3", "1", "2"].into_iter().fold(ScriptedTurn::new(), call);
    let provider = ScriptedProvider::new([calls, ScriptedTurn::new().text("ok")]);
    let agent = Agent::builder(provider).tool(nap).build().unwrap().conversation();
    let mut stream = agent.run_stream("Go.");
    let mut told = Vec::new();
    while let Some(envelope) = stream.next().await {
        if let AgentEvent::ToolResult(ToolResultEvent { content, .. }) = envelope.event {
            told.push(content);
        }
    }
    assert_eq!(told, ["1", "2", "3"]);
    let outcome = stream.outcome().await.unwrap();
    let kept: Vec<_> = outcome.messages[2].tool_results().map(|it| it.content.as_str()).collect();
    assert_eq!(kept, ["3", "1", "2"]);
}

#[tokio::test(start_paused = true)]
async fn dropping_a_run_ends_its_calls() {
    let turn = ScriptedTurn::new().call("hang", json!({})).call("wait", json!({}));
    let agent = agent(&ScriptedProvider::new([turn]));
    let mut stream = agent.run_stream("Go.");
    while stream.next().await.is_some_and(|it| it.event.kind() != "tool_call") {}
    drop(stream);
    assert_no_task_left().await;
}
