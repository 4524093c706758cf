#![expect(clippy::print_stdout, reason = "an example: it prints what happens")]
//! A tool of an MCP server, which a person allows: `mcp/server.sh` keeps notes.

use std::{error::Error, path::Path};

use forgeline::{
    agent::mcp::{McpConfig, McpOptions, McpQuestion, McpServers},
    llm::demo::DemoProvider,
    prelude::*,
    types::ToolAnswer,
};
use serde_json::json;

/// Starts the server, which keeps its notes in this file.
async fn connect(notes: &Path) -> Result<McpServers, Box<dyn Error>> {
    let server = json!({
        "command": "sh",
        "args": ["docs/examples/mcp/server.sh"],
        "env": { "NOTES": notes },
        "required": true,
    });
    let config = McpConfig::parse(&json!({ "mcpServers": { "notes": server } }).to_string())?;
    // What a server asks is answered by the reader of the events, or here.
    let options = McpOptions::default().respondent(|asked: McpQuestion| async move {
        println!("{} asks: {}", asked.server, asked.message);
        Some(ToolAnswer::Decline)
    });
    Ok(McpServers::connect_with(config, options).await?)
}

/// Answers `prompt` with the tools of the servers; each call that changes something is decided about.
async fn answer(
    provider: impl Provider + 'static,
    servers: McpServers,
    prompt: &str,
    decide: impl Fn(&ApprovalContext) -> Decision + Send + Sync + 'static,
) -> Result<RunOutcome, Box<dyn Error>> {
    let agent = Agent::builder(provider)
        .tool_source(servers)
        .approver(move |asked: ApprovalContext| std::future::ready(decide(&asked)))
        .build()?;
    Ok(agent.run(prompt).await?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let notes = std::env::temp_dir().join("forgeline-notes.txt");
    let servers = connect(&notes).await?;
    let allow = |asked: &ApprovalContext| {
        println!("allowed: {} {}", asked.request.tool_name, asked.request.arguments);
        Decision::Grant
    };
    let prompt = "Use mcp.notes.add for \"buy tea\"";
    println!("{}", answer(DemoProvider::new(), servers, prompt, allow).await?.text);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{fs, path::PathBuf};

    use forgeline::testing::{ScriptedProvider, ScriptedTurn};

    use super::*;

    fn file(name: &str) -> PathBuf {
        let name = format!("forgeline-example-{name}-{}.txt", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::remove_file(&path).ok();
        path
    }

    fn scripted() -> ScriptedProvider {
        let turn = ScriptedTurn::new().call("mcp.notes.add", json!({ "text": "buy tea" }));
        ScriptedProvider::new([turn, ScriptedTurn::new().text("Noted.")])
    }

    fn decide(decision: Decision) -> impl Fn(&ApprovalContext) -> Decision + Send + Sync + 'static {
        move |asked| {
            assert_eq!(asked.request.tool_name, "mcp.notes.add");
            assert_eq!(asked.request.arguments.as_str(), r#"{"text":"buy tea"}"#);
            decision.clone()
        }
    }

    #[tokio::test]
    async fn a_note_is_added_when_a_person_allows_it() {
        let notes = file("allowed");
        let prompt = "Use mcp.notes.add for \"buy tea\"";
        let servers = connect(&notes).await.unwrap();
        let outcome = answer(scripted(), servers, prompt, decide(Decision::Grant)).await.unwrap();
        assert_eq!(outcome.text, "Noted.");
        let servers = connect(&notes).await.unwrap();
        let demo = answer(DemoProvider::new(), servers, prompt, decide(Decision::Grant)).await;
        assert!(demo.unwrap().text.contains("It is note 2."));
        assert_eq!(fs::read_to_string(&notes).unwrap(), "buy tea\nbuy tea\n");
        fs::remove_file(notes).unwrap();
    }

    #[tokio::test]
    async fn nothing_is_added_when_they_do_not() {
        let notes = file("refused");
        let servers = connect(&notes).await.unwrap();
        let refuse = decide(Decision::reject("not now"));
        let outcome = answer(scripted(), servers, "Note it.", refuse).await.unwrap();
        let results: Vec<_> =
            outcome.messages.iter().flat_map(|message| message.tool_results()).collect();
        assert!(results[0].is_error && results[0].content.contains("not now"));
        assert!(!notes.exists());
    }
}
