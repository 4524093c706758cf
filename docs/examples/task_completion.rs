#![expect(clippy::print_stdout, reason = "an example: it prints what happens")]
//! A loop that goes on until the model says that its task is done: tools run beside each other, one that
//! fails is told to the model, and `task_completion` ends the run.

use std::error::Error;

use forgeline::{agent::config::NoToolCall, llm::demo::DemoProvider, prelude::*};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct City {
    city: String,
}

/// Works on `task` to its end, and returns the result.
async fn work(
    provider: impl Provider + 'static,
    task: &str,
    mut on_event: impl FnMut(&AgentEvent),
) -> Result<String, Box<dyn Error>> {
    let weather = tool_fn("weather", "Tells the weather.", |_: ToolContext, it: City| async move {
        match it.city.as_str() {
            "Paris" => Ok("sunny"),
            other => Err(ToolError::failed(format!("no station in {other}"))),
        }
    });
    let agent = Agent::builder(provider)
        .system("Work until the task is done, then call task_completion.")
        .tool(Calculator)
        .tool(weather.idempotent())
        .loop_breaking_tools(true)
        .no_tool_call(NoToolCall::Nudge(2))
        .max_turns(6)
        .build()?;
    let mut run = agent.run_stream(task);
    while let Some(envelope) = run.next().await {
        on_event(&envelope.event);
    }
    let reason = run.outcome().await?.reason;
    if let OutcomeKind::TaskCompleted { result, .. } = reason {
        return Ok(result);
    }
    Err(format!("the task is not done: {reason:?}").into())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let show = |event: &AgentEvent| {
        if let AgentEvent::ToolResult(ToolResultEvent { tool_name, content, .. }) = event {
            println!("{tool_name}: {content}");
        }
    };
    println!("{}", work(DemoProvider::new(), "What is 6 * 7?", show).await?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use forgeline::testing::{ScriptedProvider, ScriptedTurn};
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn it_ends_when_the_task_is_done() {
        let call = |turn: ScriptedTurn, city| turn.call("weather", json!({ "city": city }));
        let provider = ScriptedProvider::new([
            ["Paris", "Atlantis"].into_iter().fold(ScriptedTurn::new().thinking("Hm."), call),
            ScriptedTurn::new().text("That is all."),
            ScriptedTurn::new().call("task_completion", json!({ "result": "Sunny in Paris." })),
        ]);
        let mut told = Vec::new();
        let note = |event: &AgentEvent| told.push(event.kind().to_owned());
        let result = work(provider.clone(), "How is the weather?", note).await.unwrap();
        assert_eq!((result.as_str(), provider.requests().len()), ("Sunny in Paris.", 3));
        for kind in ["tool_result", "tool_result_error", "no_tool_call"] {
            assert!(told.contains(&kind.to_owned()), "{kind}: {told:?}");
        }
    }

    #[tokio::test]
    async fn the_demo_model_completes_its_task() {
        let result = work(DemoProvider::new(), "What is 6 * 7?", |_| {}).await.unwrap();
        assert_eq!(result, "6 * 7 = 42");
    }
}
