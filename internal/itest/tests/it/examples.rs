//! The README shows the first agent as it compiles.

use forgeline::{
    agent::{Agent, tools::Calculator},
    llm::{anthropic, cohere, gemini, ollama, openai, responses},
};

use super::source::read_file;

#[test]
fn the_readme_shows_the_first_agent_as_it_compiles() {
    let (readme, example) = (read_file("README.md"), read_file("docs/examples/first_agent.rs"));
    // The lines above the imports are for lints.
    let shown = example.split_at(example.find("use ").unwrap()).1;
    assert!(readme.contains(shown.trim()), "README.md does not show docs/examples/first_agent.rs");
    let lines = shown.lines().filter(|line| !line.trim().is_empty()).count();
    assert!(lines <= 15, "the first agent has {lines} lines, more than 15");
    forgeline_testkit::say(format!("the first agent has {lines} lines"));
}

#[test]
fn pages_show_their_examples_as_they_compile() {
    for (page, example) in [
        ("embedding", "embedded"),
        ("embedding", "own_service"),
        ("embedding", "agent_per_caller"),
        ("observability", "observed"),
        ("prompts", "system_prompt"),
        ("skills", "skills"),
        ("tools", "tool_with_database"),
    ] {
        let text = read_file(&format!("docs/examples/{example}.rs"));
        let shown = text.split_at(text.find("\nuse ").unwrap()).1;
        let shown = shown.split("\n#[cfg(test)]").next().unwrap_or_default().trim();
        let is_shown = read_file(&format!("docs/guide/{page}.md")).contains(shown);
        assert!(is_shown, "docs/guide/{page}.md does not show docs/examples/{example}.rs");
    }
}

#[test]
fn the_page_on_deploying_shows_its_files_as_they_are() {
    let page = read_file("docs/guide/deploying.md");
    let files = ["forgeline.service", "Containerfile", "nginx.conf", "Caddyfile"];
    for file in files {
        let text = read_file(&format!("docs/deploy/{file}"));
        let fenced = format!("\n{}\n```\n", text.trim_end());
        assert!(page.contains(&fenced), "docs/guide/deploying.md does not show docs/deploy/{file}");
    }
    // Each file is one of those above.
    let found = std::fs::read_dir(super::source::root().join("docs/deploy")).unwrap();
    assert_eq!(found.count(), files.len());
}

#[test]
fn a_service_takes_fifteen_lines_in_an_application_and_forty_alone() {
    for (example, most) in [("embedded", 15), ("own_service", 40)] {
        let text = read_file(&format!("docs/examples/{example}.rs"));
        let shown = text.split_at(text.find("\nuse ").unwrap()).1;
        let lines = shown.lines().filter(|line| !line.trim().is_empty()).count();
        assert!(lines <= most, "{example} has {lines} lines, more than {most}");
    }
}

#[test]
fn an_agent_takes_eighty_lines() {
    let own = &[
        "own_agent",
        "forge_loop",
        "text_agent",
        "steered",
        "put_away",
        "sub_agents",
        "answered_elsewhere",
        "approved_edit",
        "edited_command",
        "client_tool",
        "agent_per_caller",
        "gateway",
        "tool_with_database",
    ];
    for path in own.map(|name| format!("docs/examples/{name}.rs")) {
        let text = read_file(&path);
        let program = text.split("\n#[cfg(test)]").next().unwrap_or_default();
        let lines = program.lines().count();
        assert!(lines <= 80, "{path} has {lines} lines, more than 80");
    }
}

/// The README's program with a model, once for each provider that it names.
macro_rules! with_a_model {
    ($($Provider:ty),*) => {[$({
        async fn program() -> Result<(), Box<dyn std::error::Error>> {
            let agent = Agent::builder(<$Provider>::from_env()?).tool(Calculator).build()?;
            let outcome = agent.run("What is 17.5 % of 2,348?").await?;
            forgeline_testkit::say(outcome.text);
            Ok(())
        }
        // Never awaited: that it compiles is the test.
        drop(program());
        stringify!($Provider)
    }),*]};
}

// Found: F1
#[test]
fn the_program_with_a_model_compiles_with_every_provider() {
    let providers = with_a_model!(
        openai::OpenAi,
        anthropic::Anthropic,
        responses::OpenAiResponses,
        gemini::Gemini,
        ollama::Ollama,
        cohere::Cohere
    );
    let readme = read_file("README.md");
    for provider in providers {
        let row = format!("| `{}` |", provider.replace(' ', ""));
        assert!(readme.contains(&row), "README.md does not list {row}");
    }
    for line in [
        "Agent::builder(Anthropic::from_env()?).tool(Calculator).build()?;",
        "agent.run(\"What is 17.5 % of 2,348?\").await?;",
    ] {
        assert!(readme.contains(line), "README.md does not show: {line}");
    }
}
