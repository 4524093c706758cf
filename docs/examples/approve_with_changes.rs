#![expect(clippy::print_stdout, reason = "an example: it prints what is asked and done")]
//! A command that a person refuses, and one that is run as the person has edited it.

use std::{error::Error, path::Path};

use forgeline::{
    agent::tools::CommandTool, llm::demo::DemoProvider, prelude::*, types::ToolOutputEvent,
};

/// Works on `task` below `root` with the command `echo`; `decide` is asked before each call.
async fn work(
    provider: impl Provider + 'static,
    root: &Path,
    task: &str,
    decide: impl Fn(&ApprovalRequest) -> Decision + Send + Sync + 'static,
    mut on_event: impl FnMut(&AgentEvent),
) -> Result<String, Box<dyn Error>> {
    let agent = Agent::builder(provider)
        .tool(Calculator)
        .tool(CommandTool::new(root, ["echo"])?)
        .approval(ApprovalPolicy::Always)
        .approver(move |asked: ApprovalContext| std::future::ready(decide(&asked.request)))
        .build()?;
    let mut run = agent.run_stream(task);
    while let Some(envelope) = run.next().await {
        on_event(&envelope.event);
    }
    Ok(run.outcome().await?.text)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let decide = |request: &ApprovalRequest| {
        println!("{} {}", request.tool_name, request.arguments);
        Decision::Grant
    };
    let show = |event: &AgentEvent| {
        if let AgentEvent::ToolOutput(ToolOutputEvent { content, .. }) = event {
            print!("{content}");
        }
    };
    println!(
        "{}",
        work(DemoProvider::new(), Path::new("."), "What is 6 * 7?", decide, show).await?
    );
    Ok(())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::{env::temp_dir, sync::Mutex};

    use forgeline::{
        testing::{ScriptedProvider, ScriptedTurn},
        types::Json,
    };
    use serde_json::json;

    use super::*;

    fn echo(words: &[&str]) -> ScriptedTurn {
        let command: Vec<_> = ["echo"].iter().chain(words).collect();
        ScriptedTurn::new().call("command.run", json!({ "command": command }))
    }

    fn changed(arguments: serde_json::Value) -> Decision {
        Decision::grant_changed(Json::from(arguments))
    }

    #[tokio::test]
    async fn a_command_runs_as_the_person_has_edited_it() {
        let turns = [echo(&["all"]), echo(&["some"]), ScriptedTurn::new().text("Done.")];
        let provider = ScriptedProvider::new(turns);
        let asked = Mutex::new(Vec::new());
        let decide = move |request: &ApprovalRequest| {
            let mut asked = asked.lock().unwrap();
            asked.push(request.preview.clone().unwrap().text);
            match &asked[..] {
                [first] if first == "echo all" => Decision::reject("not all"),
                [_, second] if second == "echo some" => {
                    changed(json!({ "command": ["echo", "one"] }))
                }
                _ => panic!("asked for {asked:?}"),
            }
        };
        let mut output = String::new();
        let note = |event: &AgentEvent| {
            if let AgentEvent::ToolOutput(ToolOutputEvent { content, .. }) = event {
                output.push_str(content);
            }
        };
        let said = work(provider.clone(), &temp_dir(), "Echo.", decide, note).await.unwrap();
        assert_eq!((said.as_str(), output.as_str()), ("Done.", "one\n"));
        let last = provider.requests().pop().unwrap();
        let results = last.messages.iter().flat_map(|message| message.tool_results());
        let results: Vec<_> = results.map(|result| result.content.clone()).collect();
        assert!(results[0].contains("not all"), "{results:?}");
        assert!(
            results[1]
                .contains(r#"changed the arguments of this call to {"command":["echo","one"]}"#)
        );
    }

    #[tokio::test]
    async fn what_the_person_writes_is_checked_too() {
        let provider = ScriptedProvider::new([echo(&["a"]), ScriptedTurn::new().text("Done.")]);
        let decide = |_: &ApprovalRequest| changed(json!({ "command": ["rm", "-r", "."] }));
        work(provider.clone(), &temp_dir(), "Echo.", decide, |_| {}).await.unwrap();
        let last = provider.requests().pop().unwrap();
        let mut results = last.messages.iter().flat_map(|message| message.tool_results());
        assert!(results.next().unwrap().content.contains("`rm -r .` is not allowed"));
    }

    #[tokio::test]
    async fn the_demo_model_reads_the_result_of_what_was_edited() {
        let decide = |_: &ApprovalRequest| changed(json!({ "expression": "6 * 8" }));
        let root = temp_dir();
        let said = work(DemoProvider::new(), &root, "What is 6 * 7?", decide, |_| {}).await;
        assert!(said.unwrap().contains("48"));
    }
}
