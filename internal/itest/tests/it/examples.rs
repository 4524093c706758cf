//! Examples: README.md and the pages show them as they compile, they are short, tested, and in an index.

use forgeline::{
    agent::{Agent, tools::Calculator},
    llm::{anthropic, cohere, gemini, ollama, openai, responses},
};

use super::source::{read_file, root};

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
        ("gateway", "gateway"),
        ("observability", "metrics_and_cost"),
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
fn the_page_on_embedding_shows_the_login_of_its_example() {
    let (page, example) = ("docs/guide/embedding.md", "docs/examples/own_login.rs");
    let (text, program) = (read_file(page), read_file(example));
    let section = text.split("\n## A login of your own\n").nth(1).unwrap();
    let shown = section.split("```").nth(1).unwrap().trim_start_matches("rust").trim();
    // After its imports.
    for function in shown.split("\n\n").skip(1) {
        assert!(
            program.contains(function),
            "{example} does not have what {page} shows:\n{function}"
        );
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
        let shown = shown.split("\n#[cfg(test)]").next().unwrap_or_default();
        let lines = shown.lines().filter(|line| !line.trim().is_empty()).count();
        assert!(lines <= most, "{example} has {lines} lines, more than {most}");
    }
}

/// Returns the names of all examples.
fn names() -> Vec<String> {
    let files = std::fs::read_dir(root().join("docs/examples")).unwrap().map(|it| it.unwrap());
    let mut names: Vec<_> = files
        .filter_map(|file| file.file_name().to_str()?.strip_suffix(".rs").map(str::to_owned))
        .collect();
    names.sort();
    assert!(names.len() > 30, "{names:?}");
    names
}

#[test]
fn an_example_takes_eighty_lines() {
    for name in names() {
        let text = read_file(&format!("docs/examples/{name}.rs"));
        let program = text.split("\n#[cfg(test)]").next().unwrap_or_default();
        // A provider, and what the suite needs to know about its server; routes, the life of a node, and the work on a run.
        let most = match name.as_str() {
            "own_provider" => 120,
            "runs_on_two_nodes" => 100,
            _ => 80,
        };
        let lines = program.lines().count();
        assert!(lines <= most, "{name}.rs has {lines} lines, more than {most}");
    }
}

#[test]
fn every_example_runs_in_a_test() {
    let manifest = read_file("Cargo.toml");
    for name in names() {
        let text = read_file(&format!("docs/examples/{name}.rs"));
        let (_, entry) = manifest.split_once(&format!("\nname = \"{name}\"\n")).unwrap();
        let is_tested = entry.split("\n\n").next().unwrap().contains("\ntest = true");
        // README.md, the documentation of the suite, and the official clients run these.
        let runs_elsewhere = ["first_agent", "gateway", "own_provider"].contains(&name.as_str());
        assert_eq!(is_tested, text.contains("#[cfg(test)]"), "{name}: `test = true` in Cargo.toml");
        assert!(is_tested != runs_elsewhere, "{name}: no test runs it");
    }
}

/// The jobs that people have, and the examples that show them.
const JOBS: [(&str, &str); 26] = [
    ("first agent", "first_agent"),
    ("terminal chat with approvals and cancel", "terminal_chat"),
    ("axum SSE by hand", "axum_sse"),
    ("embedded service with own login", "own_login"),
    ("typed extraction with partials and a re-ask", "structured_output"),
    ("planner with parallel sub-agents", "parallel_sub_agents"),
    ("resume after kill -9", "resume_after_crash"),
    ("long conversation", "long_conversation"),
    ("parser alone", "parser_alone"),
    ("Prometheus, cost", "metrics_and_cost"),
    ("OpenTelemetry", "opentelemetry"),
    ("MCP", "mcp"),
    ("own SSE provider with the suite", "own_provider"),
    ("own dialect", "own_dialect"),
    ("tool source with permissions", "tool_source"),
    ("tests with scripts and recordings", "testing_an_agent"),
    ("failover that returns", "failover"),
    ("desktop channels with steering", "desktop_channels"),
    ("500 prompts with a limiter", "batch"),
    ("memory and knowledge", "memory_and_knowledge"),
    ("useChat page", "use_chat_page"),
    ("own loop", "own_loop"),
    ("approvals", "approvals"),
    ("gateway", "gateway"),
    ("runs on many nodes behind own routes", "runs_on_two_nodes"),
    ("tool with a database", "tool_with_database"),
];

#[test]
fn the_index_has_every_example_once_and_every_job() {
    let index = read_file("docs/examples/README.md");
    let mut linked: Vec<_> = index
        .lines()
        .filter_map(|line| line.rsplit_once("](")?.1.strip_suffix(".rs) |"))
        .map(str::to_owned)
        .collect();
    linked.sort();
    assert_eq!(linked, names(), "docs/examples/README.md");
    for (job, name) in JOBS {
        assert!(linked.iter().any(|linked| linked == name), "no example for: {job}");
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
