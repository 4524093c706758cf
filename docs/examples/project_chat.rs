#![expect(clippy::print_stdout, reason = "an example: it prints what each agent does")]
//! A chat about a project: rules from `AGENTS.md`, a page for a tool, a skill, and agents three deep below the first.

use std::{error::Error, path::Path, sync::Arc};

use forgeline::{
    agent::{
        notice::SubAgentEvent,
        prompts::{ClockPrompt, FilePrompt, IdentityPrompt, ProjectPrompt, ToolFilesPrompt},
        skills::Skills,
    },
    llm::anthropic::Anthropic,
    prelude::*,
};

/// A model of one of the agents.
type Model = Arc<dyn Provider>;

/// Returns the agent of a model. It gives tasks to the agent of the first model `below`; the last of them calculates.
fn agent(root: &Path, model: &Model, below: &[Model]) -> Result<Agent, BuildError> {
    let builder = prompted(root, model.clone());
    let Some((next, rest)) = below.split_first() else { return builder.tool(Calculator).build() };
    let next = agent(root, next, rest)?;
    let next = next.into_tool("call_subordinate", "Gives a task to another agent.").recent(6);
    builder.tool(next).build()
}

/// Returns an agent with all parts of the prompt; what changes most comes last.
fn prompted(root: &Path, model: Model) -> AgentBuilder {
    Agent::builder(model)
        .system(FilePrompt::new(root.join("prompts/system.md")).or("You help with a shop's work."))
        .system(IdentityPrompt)
        .system(ToolFilesPrompt::new(root.join("prompts")))
        .system(ProjectPrompt::new(root).name("Shop").description("Sells boats."))
        .skills(&Skills::find([root.join(".agents/skills")]))
        .system(ClockPrompt::new())
}

/// A call or a result, and how deep below the first agent.
type Step = (usize, AgentEvent);

/// Asks, and returns the answer and what led to it.
async fn ask(agent: &Agent, question: &str) -> Result<(String, Vec<Step>), Box<dyn Error>> {
    let (mut stream, mut steps) = (agent.run_stream(question), Vec::new());
    while let Some(envelope) = stream.next().await {
        let (mut event, mut depth) = (envelope.event, 0);
        while let Some(below) = SubAgentEvent::read(&event) {
            depth += 1;
            event = below.envelope.event;
        }
        if matches!(event, AgentEvent::ToolCall(_) | AgentEvent::ToolResult(_)) {
            steps.push((depth, event));
        }
    }
    Ok((stream.outcome().await?.text, steps))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let model: Model = Arc::new(Anthropic::from_env()?);
    let chat = agent(Path::new("."), &model, &[model.clone(), model.clone()])?;
    let (answer, steps) = ask(&chat, "Please write the invoice for three boats.").await?;
    for (depth, event) in steps {
        if let AgentEvent::ToolCall(ToolCallEvent { tool_name, arguments, .. }) = event {
            println!("{}{tool_name} {}", "  ".repeat(depth), arguments.as_str());
        }
    }
    println!("{answer}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use forgeline::{
        llm::demo::DemoProvider,
        testing::{ScriptedProvider, ScriptedTurn},
        types::ToolResultEvent,
    };
    use serde_json::json;

    use super::*;

    /// Questions for the demo model, which takes what stands in quotes for the task of the next agent: each mark is of one level.
    const DEMO: [&str; 2] = [
        "Please load_skill \"invoice\".",
        "Ask call_subordinate \"call_subordinate `call_subordinate 'What is 3 * 4?'`\"",
    ];

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

    /// The question that the last agent gets.
    const SUM: &str = "What is 3 * 4?";

    fn project(name: &str) -> std::path::PathBuf {
        let root = std::env::temp_dir().join(format!("project-{name}-{}", std::process::id()));
        write_project(&root).unwrap();
        root
    }

    /// Returns the models of all agents but the last: each loads the skill or asks the next one, and says what came of it.
    fn models() -> [ScriptedProvider; 3] {
        let ask =
            |task: &str| ScriptedTurn::new().call("call_subordinate", json!({ "task": task }));
        let load = ScriptedTurn::new().call("load_skill", json!({ "name": "invoice" }));
        let said = |text: &'static str| ScriptedTurn::new().text(text);
        [
            ScriptedProvider::new([
                load,
                ask("Make the invoice."),
                said("The invoice is 12 euros."),
            ]),
            ScriptedProvider::new([ask("Find the sum."), said("It is 12 euros.")]),
            ScriptedProvider::new([ask(SUM), said("12")]),
        ]
    }

    fn results(steps: &[Step]) -> Vec<(usize, &str)> {
        let mut results = Vec::new();
        for (depth, event) in steps {
            if let AgentEvent::ToolResult(ToolResultEvent { content, .. }) = event {
                results.push((*depth, content.as_str()));
            }
        }
        results
    }

    fn calls(steps: &[Step]) -> Vec<(usize, &str)> {
        let mut calls = Vec::new();
        for (depth, event) in steps {
            if let AgentEvent::ToolCall(ToolCallEvent { tool_name, .. }) = event {
                calls.push((*depth, tool_name.as_str()));
            }
        }
        calls
    }

    #[tokio::test]
    async fn the_demo_model_works_at_each_of_the_levels() {
        let root = project("demo");
        let demo = || Arc::new(DemoProvider::new()) as Model;
        let chat = agent(&root, &demo(), &[demo(), demo(), demo()]).unwrap();
        let (answer, steps) = ask(&chat, DEMO[0]).await.unwrap();
        assert_eq!(calls(&steps), [(0, "load_skill")]);
        assert!(answer.contains("Add the tax last."), "{answer}");
        let (answer, steps) = ask(&chat, DEMO[1]).await.unwrap();
        let below = [
            (0, "call_subordinate"),
            (1, "call_subordinate"),
            (2, "call_subordinate"),
            (3, "calculator"),
        ];
        assert_eq!(calls(&steps), below);
        assert!(answer.ends_with("3 * 4 = 12"), "{answer}");
        // Each level by itself has the skill, and those below it.
        for level in 1..=3 {
            let models: Vec<_> = (level..3).map(|_| demo()).collect();
            let agent = agent(&root, &demo(), &models).unwrap();
            let (answer, _) = ask(&agent, DEMO[0]).await.unwrap();
            assert!(answer.contains("Add the tax last."), "{level}: {answer}");
            let (answer, steps) = ask(&agent, SUM).await.unwrap();
            let is_last = level == 3;
            assert_eq!(answer == "3 * 4 = 12", is_last, "{level}: {answer}");
            assert_eq!(calls(&steps).len(), usize::from(is_last), "{level}: {steps:?}");
        }
        fs::remove_dir_all(root).unwrap();
    }

    // Covers: E-08
    #[tokio::test]
    async fn each_agent_has_the_whole_prompt_and_the_last_one_the_sum() {
        let (root, models) = (project("scripted"), models());
        let [first, second, third] = models.clone().map(|model| Arc::new(model) as Model);
        let last = Arc::new(DemoProvider::new());
        let chat = agent(&root, &first, &[second, third, last]).unwrap();
        let (answer, steps) = ask(&chat, "Please write the invoice.").await.unwrap();
        assert_eq!(answer, "The invoice is 12 euros.");
        assert_eq!(steps.iter().map(|(depth, _)| *depth).max(), Some(3));
        let results = results(&steps);
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
