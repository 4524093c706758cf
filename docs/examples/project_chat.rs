#![expect(clippy::print_stdout, reason = "an example: it prints what each agent does")]
//! A chat about a project: rules from `AGENTS.md`, a page for a tool, a skill, and agents three deep below the first.

use std::{error::Error, fs, path::Path};

use forgeline::{
    agent::{
        BuildError, DefaultAgent, SubAgentEvent,
        prompts::{ClockPrompt, FilePrompt, IdentityPrompt, ProjectPrompt, ToolFilesPrompt},
        skills::Skills,
        tools::Calculator,
    },
    llm::{Provider, demo::DemoProvider},
    testing::{ScriptedProvider, ScriptedTurn},
    types::AgentEvent,
};
use serde_json::json;

/// The question that the last agent gets.
const SUM: &str = "What is 3 * 4?";

/// Writes the files that a project has.
fn write_project(root: &Path) -> std::io::Result<()> {
    fs::create_dir_all(root.join("prompts"))?;
    fs::create_dir_all(root.join(".agents/skills/invoice"))?;
    fs::write(root.join("AGENTS.md"), "Prices are in euros.\n")?;
    let page = "Give the whole task; the other agent knows nothing else.\n";
    fs::write(root.join("prompts/tool-call_subordinate.md"), page)?;
    let skill = "---\nname: invoice\ndescription: Writes invoices. Use it for every invoice.\n---\n\nAdd the tax last.\n";
    fs::write(root.join(".agents/skills/invoice/SKILL.md"), skill)
}

/// Returns the agent of the first model; those below it have the models behind it.
fn agent(root: &Path, models: &[ScriptedProvider]) -> Result<DefaultAgent, BuildError> {
    let Some((model, below)) = models.split_first() else {
        return prompted(root, DemoProvider::new()).tool(Calculator).build();
    };
    let below = agent(root, below)?;
    let below = below.into_tool("call_subordinate", "Gives a task to another agent.").recent(6);
    prompted(root, model.clone()).tool(below).build()
}

/// Returns an agent with all parts of the prompt; what changes most comes last.
fn prompted(root: &Path, model: impl Provider + 'static) -> forgeline::agent::AgentBuilder {
    DefaultAgent::builder(model)
        .system(FilePrompt::new(root.join("prompts/system.md")).or("You help with a shop's work."))
        .system(IdentityPrompt)
        .system(ToolFilesPrompt::new(root.join("prompts")))
        .system(ProjectPrompt::new(root).name("Shop").description("Sells boats."))
        .skills(&Skills::find([root.join(".agents/skills")]))
        .system(ClockPrompt::new())
}

/// Returns the models of all agents but the last: each loads the skill or asks the next one, and says what came of it.
fn models() -> Vec<ScriptedProvider> {
    let ask = |task: &str| ScriptedTurn::new().call("call_subordinate", json!({ "task": task }));
    let load = ScriptedTurn::new().call("load_skill", json!({ "name": "invoice" }));
    let said = |text: &'static str| ScriptedTurn::new().text(text);
    vec![
        ScriptedProvider::new([load, ask("Make the invoice."), said("The invoice is 12 euros.")]),
        ScriptedProvider::new([ask("Find the sum."), said("It is 12 euros.")]),
        ScriptedProvider::new([ask(SUM), said("12")]),
    ]
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let root = std::env::temp_dir().join(format!("project-{}", std::process::id()));
    write_project(&root)?;
    let mut stream = agent(&root, &models())?.run_stream("Please write the invoice.");
    while let Some(envelope) = stream.next().await {
        let (mut event, mut depth) = (envelope.event, 0);
        while let Some(below) = SubAgentEvent::read(&event) {
            depth += 1;
            event = below.envelope.event;
        }
        if let AgentEvent::ToolCall { tool_name, arguments, .. } = event {
            println!("{}{tool_name} {}", "  ".repeat(depth), arguments.as_str());
        }
    }
    println!("{}", stream.outcome().await?.text);
    fs::remove_dir_all(root)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Covers: E-08
    #[tokio::test]
    async fn each_agent_has_the_whole_prompt_and_the_last_one_the_sum() {
        let root = std::env::temp_dir().join(format!("project-test-{}", std::process::id()));
        write_project(&root).unwrap();
        let models = models();
        let chat = agent(&root, &models).unwrap();
        let (mut stream, mut deepest) = (chat.run_stream("Please write the invoice."), 0);
        let mut results = Vec::new();
        while let Some(envelope) = stream.next().await {
            let (mut event, mut depth) = (envelope.event, 0);
            while let Some(below) = SubAgentEvent::read(&event) {
                depth += 1;
                event = below.envelope.event;
            }
            deepest = deepest.max(depth);
            if let AgentEvent::ToolResult { content, .. } = event {
                results.push((depth, content));
            }
        }
        assert_eq!(stream.outcome().await.unwrap().text, "The invoice is 12 euros.");
        assert_eq!(deepest, 3);
        let calculated = results.iter().any(|(depth, text)| *depth == 3 && text.contains("12"));
        assert!(calculated && results[0].1.contains("Add the tax last."), "{results:?}");

        for (number, model) in models.iter().enumerate() {
            let requests = model.requests();
            let prompt = requests[0].system.as_deref().unwrap_or_default();
            let parts = [
                "You help with a shop's work.".to_owned(),
                format!("You are agent {number}."),
                "## Tool: call_subordinate\n\nGive the whole task".to_owned(),
                "Sells boats.".to_owned(),
                "Prices are in euros.".to_owned(),
                "<name>invoice</name>".to_owned(),
                "UTC".to_owned(),
            ];
            let places: Vec<_> = parts.iter().map(|part| prompt.find(part.as_str())).collect();
            assert!(
                places.iter().all(Option::is_some) && places.is_sorted(),
                "{places:?}\n{prompt}"
            );
            assert!(
                !prompt.contains("Add the tax last."),
                "a skill is loaded, and not in the prompt"
            );
            assert!(requests.iter().all(|it| it.system == requests[0].system), "it stays the same");
        }
        fs::remove_dir_all(root).unwrap();
    }
}
