//! The fragments of the guides, as they compile: each is below in a function that has what its page leaves out.

use std::{collections::BTreeMap, error::Error, net::SocketAddr};

use forgeline::{
    agent::{
        Agent, Caller, RunInput,
        knowledge::{FileMemoryStore, KnowledgeTools, LexicalIndex, MemoryTools},
        mcp::{LoopbackLogins, McpConfig, McpOptions, McpServers, MemoryTokens},
        search::ToolSearch,
        sub_agents::{Places, SubAgent},
        tools::{Calculator, ClientTool},
    },
    llm::{TokenEstimator, demo::DemoProvider, sse::SseDecoder},
    server::{Service, router},
    store::{SqliteStore, Stores},
    types::Envelope,
};

use super::source::read_file;

type Done = Result<(), Box<dyn Error>>;

/// The arguments of a tool, as the page has them.
type Calculate = BTreeMap<String, String>;

fn context(provider: DemoProvider, small_model: DemoProvider) -> Done {
    {
        let provider = provider.clone();
        let agent = Agent::builder(provider).max_context_tokens(100_000).build()?;
        drop(agent);
    }
    {
        let provider = provider.clone();
        let agent = Agent::builder(provider)
            .max_context_tokens(100_000)
            .summarize_at(75)
            .summarizer(small_model)
            .build()?;
        drop(agent);
    }
    let exact = TokenEstimator::exact("gpt-4.1").ok_or("no vocabulary")?;
    let agent =
        Agent::builder(provider).token_estimator(exact).max_context_tokens(100_000).build()?;
    drop(agent);
    Ok(())
}

fn memory(provider: DemoProvider) -> Done {
    let memories = MemoryTools::new(FileMemoryStore::new("memories.jsonl"));
    let index = LexicalIndex::new([("pump.md", "Turn the pump off first.")])?;
    let agent = Agent::builder(provider)
        .tools(memories.into_tools())
        .tools(KnowledgeTools::new(index).into_tools())
        .build()?;
    let input = RunInput::from("What do I eat?").caller(Caller::new("ann").scope("team-a"));
    drop((agent, input));
    Ok(())
}

async fn mcp(provider: DemoProvider) -> Done {
    {
        let provider = provider.clone();
        let config = McpConfig::parse(&std::fs::read_to_string("mcp.json")?)?;
        let servers = McpServers::connect(config).await?;
        let agent = Agent::builder(provider).tool_source(servers).build()?;
        drop(agent);
    }
    let agent = Agent::builder(provider.clone()).build()?;
    let config = McpConfig::parse("{}")?;
    let logins = LoopbackLogins::new(|server, page| eprintln!("log in to {server}: {page}"));
    let options = McpOptions::default().logins(logins).token_store(MemoryTokens::new());
    let servers = McpServers::connect_with(config, options).await?;
    // …
    servers.close().await;
    let input = servers.prompt("code", "review", [("file", "main.rs")]).await?;
    let outcome = agent.run(input).await?;

    let input =
        servers.with_resource("What is in these notes?", "files", "file:///notes.md").await?;
    let builder =
        Agent::builder(provider).system(servers.resource_prompt("files", "file:///rules.md"));
    drop((outcome, input, builder));
    Ok(())
}

fn client_tools(provider: DemoProvider) -> Done {
    let tool = ClientTool::typed::<Calculate>("calculator", "Calculates, in the page of the user.");
    let agent = Agent::builder(provider).tool(tool).build()?;
    drop(agent);
    Ok(())
}

fn sub_agents() -> Done {
    let reckoner = Agent::builder(DemoProvider::new()).tool(Calculator).build()?;
    let places = Places::new(4);
    let tool = SubAgent::new(reckoner, "reckoner", "Works out sums. Give it the whole sum.")
        .places(&places);
    let agent = Agent::builder(DemoProvider::new()).tool(tool).build()?;
    drop(agent);
    Ok(())
}

fn tools() -> Done {
    let search = ToolSearch::default()
        // Search where all tools together take more than a tenth of the window.
        .share(10)
        // Offer these in any case.
        .always(["calculator"]);
    let agent = Agent::builder(DemoProvider::new()).tool(Calculator).tool_search(search).build()?;
    drop(agent);
    Ok(())
}

async fn service(agent: Agent, listener: tokio::net::TcpListener) -> Done {
    {
        let agent = agent.clone();
        let service = Service::builder().agent("main", agent).build()?;
        let app = axum::Router::new().merge(router(service.clone()));
        axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await?;
    }
    let store = SqliteStore::open("service.db").await?;
    let service = Service::builder().agent("main", agent).stores(Stores::of(store)).build()?;
    service.recover().await?;
    Ok(())
}

async fn clients(service: &str, run: &str) -> Result<String, Box<dyn Error>> {
    let mut response =
        reqwest::get(format!("{service}/v1/runs/{run}/events")).await?.error_for_status()?;
    let (mut decoder, mut text) = (SseDecoder::default(), String::new());
    while let Some(piece) = response.chunk().await? {
        let mut input: &[u8] = &piece;
        while let Some(event) = decoder.next_event(&mut input)? {
            if event.event != "run_end" {
                let envelope: Envelope = serde_json::from_str(event.data)?;
                text.push_str(envelope.event.text());
            }
        }
    }
    Ok(text)
}

/// Returns the fragments of a page that are Rust: blocks that are indented, and those in fences.
fn fragments(page: &str) -> Vec<String> {
    let (mut found, mut block, mut is_fenced) = (Vec::new(), String::new(), false);
    for line in page.lines().chain(["end"]) {
        let code = if is_fenced { Some(line) } else { line.strip_prefix("    ") };
        match code {
            Some(code) if !line.starts_with("```") => {
                // Imports, and lines that the documentation hides, are in the head of this file.
                match code {
                    "};" => block.clear(),
                    import if import.starts_with("use ") && import.ends_with(';') => block.clear(),
                    hidden if hidden.starts_with("# ") => {}
                    code => block.push_str(code),
                }
                block.push('\n');
            }
            _ if line.is_empty() && !block.is_empty() => block.push('\n'),
            _ => found.push(std::mem::take(&mut block)),
        }
        is_fenced = if line.starts_with("```") { line == "```rust" } else { is_fenced };
    }
    let is_rust = |block: &String| {
        let first = block.trim_start();
        ["let ", "Agent::"].iter().any(|start| first.starts_with(start))
    };
    found.into_iter().filter(is_rust).collect()
}

/// Returns code without what its form alone gives it.
fn bare(code: &str) -> String {
    let code: String = code.chars().filter(|letter| !letter.is_whitespace()).collect();
    code.replace(",)", ")")
}

#[test]
fn the_fragments_of_the_guides_compile() {
    let compiled = bare(include_str!("guides.rs"));
    let mut count = 0;
    for page in
        ["client-tools", "clients", "context", "mcp", "memory", "service", "sub-agents", "tools"]
    {
        let all = fragments(&read_file(&format!("docs/guide/{page}.md")));
        assert!(!all.is_empty(), "docs/guide/{page}.md has no fragment");
        for fragment in all {
            count += 1;
            let is_there = compiled.contains(&bare(&fragment));
            assert!(
                is_there,
                "docs/guide/{page}.md has a fragment that guides.rs has not:\n{fragment}"
            );
        }
    }
    assert!(count >= 14, "{count} fragments");
    // Never awaited or called: that they compile is the test.
    std::hint::black_box((context, memory, mcp, client_tools, clients, sub_agents, tools, service));
}
