//! The agent through its front door, with scripted models.
#![expect(clippy::wildcard_enum_match_arm, reason = "a test looks at the kinds it is about")]

mod answering_server;
mod approvals;
mod background_agents;
mod broken_histories;
mod budgets_below;
mod cancel;
mod causes;
#[cfg(feature = "local-tools")]
mod changed_files;
mod circles;
mod client_tools;
mod conversations;
mod covered;
#[cfg(feature = "local-tools")]
mod demo;
mod dialects;
mod dropped;
mod early;
mod encoders;
mod endings;
mod fallback;
mod faults;
mod fitted_arguments;
mod foreign_text;
mod found_tools;
mod found_tools_of_providers;
mod gates;
mod hosted;
mod journal;
mod journal_entries;
mod kept_thinking;
mod latency;
mod learnt_windows;
mod loops;
mod memories;
mod nobody_can;
mod outputs;
mod prompts;
mod provider_parts;
mod questions;
mod records;
mod refused_content;
mod refused_reasoning;
mod reopened;
mod resumed_events;
mod rewind;
mod run_inputs;
mod scenarios;
mod session;
mod sources;
mod spans;
mod steering;
mod streams;
mod sub_agents;
mod summaries;
mod summary_approvals;
mod summary_bounds;
mod tasks;
mod tool_schemas;
mod tool_search;
mod tool_search_of_provider;
mod typed;
mod untrusted_text;
mod vendor_endings;
mod waiting;
mod whole;
mod window;

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use self::whole::assert_whole;
use super::{
    Agent, AgentBuilder, Conversation,
    tools::{ToolContext, ToolError, tool_fn},
};
use forgeline_llm::scripted::{ScriptedProvider, ScriptedTurn};
use forgeline_types::{
    AgentEvent, CustomEvent, Envelope, ErrorEvent, MessageContentEvent, ThinkingContentEvent,
    ToolCallEvent, ToolResultEvent, UpdateBusyEvent,
};

#[derive(Deserialize, JsonSchema)]
struct Echo {
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// An agent with an `echo`, and tools that fail, panic, hang and listen to nobody.
fn builder(provider: &ScriptedProvider) -> AgentBuilder {
    Agent::builder(provider.clone())
        .loop_breaking_tools(true)
        .tool(tool_fn("echo", "Says it again.", |context: ToolContext, echo: Echo| async move {
            context.emit("progress", json!(echo.text)).await;
            echo.text
        }))
        .tool(tool_fn("fail", "Fails.", |_: ToolContext, echo: Echo| async move {
            Err::<String, _>(ToolError::failed(format!("no {}", echo.text)))
        }))
        .tool(tool_fn("flaky", "Fails by chance.", |_: ToolContext, _: Nothing| async {
            Err::<String, _>(ToolError::transient("try later"))
        }))
        .tool(tool_fn("panic", "Panics.", |_: ToolContext, _: Nothing| async {
            std::panic::panic_any("at the disco");
            #[expect(unreachable_code, reason = "it gives the function its type")]
            ""
        }))
        .tool(tool_fn(
            "wait",
            "Waits until it is asked to stop.",
            |context: ToolContext, _: Nothing| async move {
                context.cancelled().cancelled().await;
                "stopped"
            },
        ))
        .tool(tool_fn("hang", "Never ends.", |_: ToolContext, _: Nothing| async {
            std::future::pending::<()>().await;
            ""
        }))
}

fn agent(provider: &ScriptedProvider) -> Conversation {
    builder(provider).build().unwrap().conversation()
}

/// A conversation that has everything: thinking, text, two calls, a broken call, an answer.
fn rich_script() -> ScriptedProvider {
    ScriptedProvider::new([
        ScriptedTurn::new()
            .thinking("Hm, ")
            .thinking("well.")
            .text("Let me ")
            .text("see.")
            .call("echo", json!({ "text": "one" }))
            .call("echo", json!({ "text": "two" })),
        ScriptedTurn::new().call("fail", json!({ "text": "way" })).call("echo", json!({})),
        ScriptedTurn::new().thinking("So.").text("It is ").text("done."),
    ])
}

/// The events in short.
fn kinds(events: &[Envelope]) -> Vec<String> {
    events.iter().map(|envelope| short(&envelope.event)).collect()
}

fn short(event: &AgentEvent) -> String {
    match event {
        AgentEvent::MessageContent(MessageContentEvent { content, .. }) => {
            format!("message {content}")
        }
        AgentEvent::ThinkingContent(ThinkingContentEvent { content, .. }) => {
            format!("thinking {content}")
        }
        AgentEvent::ToolCall(ToolCallEvent { tool_name, arguments, .. }) => {
            format!("call {tool_name} {arguments}")
        }
        AgentEvent::ToolResult(ToolResultEvent { content, .. }) => format!("result {content}"),
        AgentEvent::ToolResultError(ToolResultEvent { content, .. }) => {
            format!("failure {content}")
        }
        AgentEvent::Error(ErrorEvent { error, .. }) => format!("error {:?}", error.code),
        AgentEvent::Custom(CustomEvent { name, data, .. }) => format!("{name} {data}"),
        AgentEvent::UpdateBusy(UpdateBusyEvent { busy, .. }) => format!("busy {busy}"),
        other => other.kind().to_owned(),
    }
}

/// Reads to the end, which comes within an hour.
async fn to_the_end(stream: &mut super::RunStream, events: &mut Vec<Envelope>) {
    while let Some(envelope) =
        tokio::time::timeout(Duration::from_hours(1), stream.next()).await.unwrap()
    {
        events.push(envelope);
    }
    assert_whole(events);
}

/// Counts the events of a kind.
fn count(events: &[Envelope], kind: &str) -> usize {
    events.iter().filter(|envelope| envelope.event.kind() == kind).count()
}

/// Waits, on the paused clock, until no task is left but the test's own.
async fn assert_no_task_left() {
    for _ in 0..100 {
        if tokio::runtime::Handle::current().metrics().num_alive_tasks() == 0 {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("a task is left");
}

/// More than any wait of the agent that is not a bug.
const SOON: Duration = Duration::from_millis(100);
