#![expect(clippy::print_stdout, reason = "an example: it prints what each agent does")]
//! Agents that are tools of others, three deep: an editor asks a researcher, who asks a reckoner.

use std::error::Error;

use forgeline::{
    agent::{
        notice::SubAgentEvent,
        sub_agents::{Places, SubAgent},
    },
    llm::demo::DemoProvider,
    prelude::*,
    testing::{ScriptedProvider, ScriptedTurn},
};
use serde_json::json;

/// Returns an agent whose model first asks the tool `name`, and then says `answer`.
fn asking(name: &str, task: &str, answer: &str) -> AgentBuilder {
    let ask = ScriptedTurn::new().call(name, json!({ "task": task }));
    Agent::builder(ScriptedProvider::new([ask, ScriptedTurn::new().text(answer)]))
}

/// Returns the editor; `model` is that of the reckoner.
fn editor(model: impl Provider + 'static) -> Result<Agent, BuildError> {
    // Two agents work at a time, in the whole tree; those that wait for another do not count.
    let places = Places::new(2);
    let reckoner = Agent::builder(model).tool(Calculator).build()?;
    let reckoner = SubAgent::new(reckoner, "reckoner", "Works out sums.").places(&places);
    let researcher = asking("reckoner", "What is 6 * 7?", "They sold 42 boats.");
    let researcher = researcher.tool(reckoner).build()?;
    let researcher = SubAgent::new(researcher, "researcher", "Finds facts.").places(&places);
    // The researcher knows the last messages too, and not only its task.
    let researcher = researcher.recent(6);
    asking("researcher", "How many boats did they sell?", "A good year: 42 boats.")
        .tool(researcher)
        .build()
}

/// Runs the editor; `tell` gets each event with the names of the agents that it stands in.
async fn run(
    agent: &Agent,
    mut tell: impl FnMut(&[String], &AgentEvent),
) -> Result<RunOutcome, Box<dyn Error>> {
    let mut stream = agent.run_stream("Write a line about the year.");
    while let Some(envelope) = stream.next().await {
        let (mut event, mut names) = (envelope.event, Vec::new());
        while let Some(below) = SubAgentEvent::read(&event) {
            names.push(below.tool_name.to_string());
            event = below.envelope.event;
        }
        tell(&names, &event);
    }
    Ok(stream.outcome().await?)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let outcome = run(&editor(DemoProvider::new())?, |names, event| {
        if let AgentEvent::ToolCall(ToolCallEvent { tool_name, arguments, .. }) = event {
            println!("{}{tool_name} {}", "  ".repeat(names.len()), arguments.as_str());
        }
    })
    .await?;
    println!("{} ({} tokens in the whole tree)", outcome.text, outcome.spent.tokens);
    Ok(())
}

#[cfg(test)]
mod tests {
    use forgeline::types::ToolResultEvent;

    use super::*;

    #[tokio::test]
    async fn each_agent_works_inside_the_one_that_asks_it() {
        let mut calls = Vec::new();
        let agent = editor(DemoProvider::new()).unwrap();
        let outcome = run(&agent, |names, event| {
            if let AgentEvent::ToolResult(ToolResultEvent { tool_name, content, .. }) = event {
                calls.push((names.join("/"), tool_name.to_string(), content.clone()));
            }
        });
        assert_eq!(outcome.await.unwrap().text, "A good year: 42 boats.");
        let [(deep, calculator, sum), (middle, reckoner, _), (top, researcher, _)] = &calls[..]
        else {
            panic!("{calls:?}")
        };
        assert_eq!((deep.as_str(), calculator.as_str()), ("researcher/reckoner", "calculator"));
        assert!(sum.contains("42"), "{sum}");
        assert_eq!((middle.as_str(), reckoner.as_str()), ("researcher", "reckoner"));
        assert_eq!((top.as_str(), researcher.as_str()), ("", "researcher"));
    }

    #[tokio::test]
    async fn a_reckoner_that_fails_is_told_to_the_one_that_asked() {
        let mut failures = Vec::new();
        let agent = editor(ScriptedProvider::new([])).unwrap();
        let outcome = run(&agent, |names, event| {
            if let AgentEvent::ToolResultError(ToolResultEvent { content, .. }) = event {
                failures.push((names.join("/"), content.clone()));
            }
        });
        assert_eq!(outcome.await.unwrap().text, "A good year: 42 boats.");
        let [(who, why)] = &failures[..] else { panic!("{failures:?}") };
        assert!(who == "researcher" && why.contains("the agent `reckoner` failed"), "{who}: {why}");
    }
}
