//! What tools return, and what they say before.

use super::*;
use crate::Conversation;
use crate::{config::CallMode, tools::ToolOutput};
use forgeline_types::{Capabilities, Part, ToolOutputEvent};

/// A turn that calls `tool` with nothing, and one that answers.
fn called(tool: &str) -> ScriptedProvider {
    ScriptedProvider::new([
        ScriptedTurn::new().call(tool, json!({})),
        ScriptedTurn::new().text("ok"),
    ])
}

fn pictured() -> ToolOutput {
    ToolOutput::new("The page.").picture("image/png", "iVBORw0KGgo=")
}

/// The events of one run.
async fn events(agent: &Conversation) -> Vec<Envelope> {
    let mut stream = agent.run_stream("Go.");
    let mut events = Vec::new();
    while let Some(envelope) = stream.next().await {
        events.push(envelope);
    }
    events
}

// Covers: T-48, T-21
#[tokio::test(start_paused = true)]
async fn output_comes_before_the_result_in_bounded_pieces() {
    let long = "é".repeat(20 << 10);
    let said = long.clone();
    let tool = tool_fn("say", "Says a lot.", move |context: ToolContext, (): ()| {
        let said = said.clone();
        async move {
            context.output("").await;
            context.output(&said).await;
            context.output("end").await;
            "said"
        }
    });
    let provider = called("say");
    let agent = Agent::builder(provider.clone()).tool(tool).build().unwrap().conversation();
    let events = events(&agent).await;
    assert_whole(&events);
    let kinds: Vec<_> = events.iter().map(|envelope| envelope.event.kind()).collect();
    let first = kinds.iter().position(|kind| *kind == "tool_output").unwrap();
    assert_eq!(kinds[first - 1], "tool_call");
    assert_eq!(kinds[first..first + 5], [["tool_output"; 4].as_slice(), &["tool_result"]].concat());
    let mut heard = String::new();
    for envelope in &events {
        if let AgentEvent::ToolOutput(ToolOutputEvent { call_id: id, tool_name, content, .. }) =
            &envelope.event
        {
            assert_eq!((id.as_str(), tool_name.as_str()), ("call-0", "say"));
            assert!((1..=16 << 10).contains(&content.len()), "{} bytes", content.len());
            heard.push_str(content);
        }
    }
    assert_eq!(heard, long + "end");
    let results: Vec<_> = provider.requests()[1]
        .messages
        .iter()
        .flat_map(|message| message.tool_results())
        .map(|result| result.content.clone())
        .collect();
    assert_eq!(results, ["said"], "the model reads the result only");
}

#[tokio::test(start_paused = true)]
async fn output_of_a_call_that_was_told_to_stop_is_dropped() {
    let tool = tool_fn("say", "Says without end.", |context: ToolContext, (): ()| async move {
        context.output("first").await;
        context.cancelled().cancelled().await;
        context.output("late").await;
    })
    .timeout(SOON);
    let agent = Agent::builder(called("say")).tool(tool).build().unwrap().conversation();
    let events = events(&agent).await;
    let told = |text: &str| {
        events.iter().any(
            |it| matches!(&it.event, AgentEvent::ToolOutput(ToolOutputEvent { content, .. }) if content == text),
        )
    };
    assert!(told("first") && !told("late"));
    assert!(kinds(&events).iter().any(|kind| kind.contains("no result after 100ms")));
    assert_no_task_left().await;
}

// Covers: CT-130, CT-131, CT-137, T-49
#[tokio::test(start_paused = true)]
async fn a_tool_has_a_time_and_a_budget_of_its_own() {
    assert_eq!(crate::config::AgentConfig::default().max_result_chars, 200_000);
    let text = |length: usize| move |_: ToolContext, (): ()| async move { "a".repeat(length) };
    let small = tool_fn("small", "Has little room.", text(11)).max_result_chars(10);
    let large = tool_fn("large", "Has all room.", text(200_001)).max_result_chars(usize::MAX);
    let plain = tool_fn("plain", "Has the agent's room.", text(200_001));
    let none = tool_fn("none", "Returns nothing.", async |_: ToolContext, (): ()| None::<u32>);
    let slow = tool_fn("slow", "Takes two minutes.", |_: ToolContext, (): ()| async {
        tokio::time::sleep(Duration::from_mins(2)).await;
        "done"
    })
    .timeout(Duration::from_mins(3));
    let names = ["small", "large", "plain", "none", "slow"];
    let turn = names.iter().fold(ScriptedTurn::new(), |turn, name| turn.call(name, json!({})));
    let provider = ScriptedProvider::new([turn, ScriptedTurn::new().text("ok")]);
    let agent = Agent::builder(provider.clone())
        .tool(small)
        .tool(large)
        .tool(plain)
        .tool(none)
        .tool(slow)
        .build()
        .unwrap()
        .conversation();
    let outcome = agent.run("Go.").await.unwrap();
    let results: Vec<_> = outcome.messages.iter().flat_map(|it| it.tool_results()).collect();
    let lengths: Vec<_> = results.iter().map(|result| result.content.len()).collect();
    assert!(results.iter().all(|result| !result.is_error), "a marker is no failure");
    assert!(results[0].content.contains(r#""resultChars":11,"budgetChars":10"#));
    assert_eq!(lengths[1], 200_001);
    assert!(results[2].content.contains(r#""resultChars":200001,"budgetChars":200000"#));
    assert_eq!(results[3].content, "Done; there is nothing to report.");
    assert_eq!(results[4].content, "done");
}

#[tokio::test(start_paused = true)]
async fn parts_of_a_result_are_kept_and_sent_in_both_modes() {
    for native in [true, false] {
        let turn = ScriptedTurn::new();
        let turn = if native {
            turn.call("look", json!({}))
        } else {
            turn.text(r#"<tool>{"tool_name":"look","arguments":{}}</tool>"#)
        };
        let provider = ScriptedProvider::new([turn, ScriptedTurn::new().text("ok")])
            .capabilities(Capabilities::ALL);
        let mode = if native { CallMode::Native } else { CallMode::Text };
        let tool = tool_fn("look", "Looks.", async |_: ToolContext, (): ()| pictured());
        let builder = Agent::builder(provider.clone()).tool(tool);
        let agent = builder.call_mode(mode).build().unwrap().conversation();
        let outcome = agent.run("Go.").await.unwrap();
        let kept: Vec<_> = outcome.messages.iter().flat_map(|it| it.tool_results()).collect();
        assert_eq!((kept.len(), &kept[0].parts), (1, &pictured().parts));
        let sent = provider.requests()[1].messages.messages().last().unwrap().clone();
        let within = sent.tool_results().flat_map(|result| &result.parts);
        let parts: Vec<_> = sent.parts.iter().chain(within).collect();
        let pictures = parts.iter().filter(|part| matches!(part, Part::Image { .. })).count();
        assert_eq!(pictures, 1, "native: {native}");
    }
}

#[tokio::test(start_paused = true)]
async fn pictures_that_differ_are_no_circle() {
    let shots = std::sync::atomic::AtomicUsize::new(0);
    let tool = tool_fn("look", "Looks.", move |_: ToolContext, (): ()| {
        let shot = shots.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        std::future::ready(
            ToolOutput::new("The page.").picture("image/png", format!("/9j/{shot:04}")),
        )
    });
    let turns = (0..6).map(|_| ScriptedTurn::new().call("look", json!({})));
    let provider = ScriptedProvider::new(turns.chain([ScriptedTurn::new().text("ok")]))
        .capabilities(Capabilities::ALL);
    let agent = Agent::builder(provider).tool(tool).build().unwrap().conversation();
    assert_eq!(agent.run("Go.").await.unwrap().text, "ok");
}
