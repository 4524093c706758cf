//! The reference server of MCP, by stdio and by HTTP: what it has, what it asks, and its death in mid-call.

use std::{
    io::{BufRead as _, BufReader},
    net::TcpListener,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use forgeline::{
    agent::{
        Agent, RunOutcome, RunStream,
        approval::OutsideText,
        mcp::{McpConfig, McpServers},
        prompts::{PromptContext, SystemPrompt as _},
        run::RunContext,
        tools::ToolSource as _,
    },
    testing::{ScriptedProvider, ScriptedTurn},
    types::{AgentEvent, Json, ToolAnswer, ToolOutputEvent},
};
use forgeline_testkit::{
    mcp::node,
    process::{children_with, wait_for_end},
    say,
};
use serde_json::{Value, json};
use tokio::time::timeout;

/// The server's script.
const SCRIPT: &str = "@modelcontextprotocol/server-everything/dist/index.js";

/// Longest wait for anything.
const LONG: Duration = Duration::from_mins(1);

/// The server, and how it is reached.
struct Everything {
    config: Value,
    /// The process, where it is not one of the library's.
    child: Option<Child>,
}

impl Drop for Everything {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            child.kill().ok();
            child.wait().ok();
        }
    }
}

/// Returns the server by stdio; `None` when it is not installed.
fn by_stdio() -> Option<Everything> {
    let command = node(SCRIPT)?;
    let arguments: Vec<_> = command.get_args().map(|it| it.to_str().unwrap()).collect();
    let config = json!({ "command": command.get_program().to_str().unwrap(), "args": arguments });
    Some(Everything { config, child: None })
}

/// Starts the server on a port; `None` when it is not installed.
fn by_http() -> Option<Everything> {
    let mut command = node(SCRIPT)?;
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let config = json!({ "type": "http", "url": format!("http://127.0.0.1:{port}/mcp") });
    let child = listening(&mut command, port);
    Some(Everything { config, child: Some(child) })
}

fn listening(command: &mut Command, port: u16) -> Child {
    command.arg("streamableHttp").env("PORT", port.to_string());
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let is_ready = |line: &std::io::Result<String>| line.as_ref().unwrap().contains("listening");
    assert!(lines.by_ref().any(|line| is_ready(&line)), "the server ended");
    // Reads to the end, so that the server never waits for its log to be read.
    thread::spawn(move || lines.for_each(drop));
    child
}

async fn connect(everything: &Everything) -> McpServers {
    let config = json!({ "mcpServers": { "all": everything.config } });
    let config = McpConfig::parse(&config.to_string()).unwrap();
    let servers = timeout(LONG, McpServers::connect(config)).await.unwrap().unwrap();
    assert!(servers.failures().is_empty(), "{:?}", servers.failures());
    servers
}

/// Begins a run that makes these calls, one a turn.
fn begin(servers: &McpServers, calls: &[(&str, Value)]) -> RunStream {
    let turns = calls.iter().map(|(name, arguments)| {
        ScriptedTurn::new().call(&format!("mcp.all.{name}"), arguments.clone())
    });
    let turns = turns.chain([ScriptedTurn::new().text("Done.")]);
    let granted = calls.iter().map(|(name, _)| format!("mcp.all.{name}"));
    let agent = Agent::builder(ScriptedProvider::new(turns))
        .tool_source(servers.clone())
        .grant(granted)
        .outside_text(OutsideText::Ignore)
        .build()
        .unwrap();
    agent.run_stream("Go.")
}

/// Reads a run to its end; returns its outcome and its events.
async fn end(mut stream: RunStream) -> (RunOutcome, Vec<AgentEvent>) {
    let mut events = Vec::new();
    let questions = stream.questions();
    let reading = async {
        while let Some(envelope) = stream.next().await {
            if let AgentEvent::ToolQuestion(question) = &envelope.event {
                let content = Json::parse(r#"{"name":"Ann","integer":7}"#).unwrap();
                questions.answer(&question.question_id, ToolAnswer::accept(content)).unwrap();
            }
            events.push(envelope.event);
        }
    };
    timeout(LONG, reading).await.expect("the run ends");
    (stream.outcome().await.unwrap(), events)
}

fn results(outcome: &RunOutcome) -> Vec<String> {
    let results = outcome.messages.iter().flat_map(|message| message.tool_results());
    results.map(|result| result.content.clone()).collect()
}

/// Lists, calls, hears of progress, answers a form, and reads what there is besides.
async fn works(servers: &McpServers, how: &str) {
    let names: Vec<_> = servers.tools(RunContext::default()).await.unwrap();
    let names: Vec<_> = names.iter().map(|tool| tool.name().to_owned()).collect();
    assert!(names.contains(&"mcp.all.echo".to_owned()), "{names:?}");
    let long = json!({ "duration": 0.4, "steps": 4 });
    let calls = [
        ("echo", json!({ "message": "hello" })),
        ("get-tiny-image", json!({})),
        ("trigger-long-running-operation", long),
        ("trigger-elicitation-request", json!({})),
    ];
    let (outcome, events) = end(begin(servers, &calls)).await;
    let results = results(&outcome);
    assert!(results[0].contains("hello"), "{results:?}");
    assert!(results[2].contains("completed"), "{results:?}");
    assert!(
        results[3].contains("Name: Ann") && results[3].contains("Favorite Integer: 7"),
        "{results:?}"
    );
    // A field that was left out has its default.
    assert!(results[3].contains("\"legacyTitledEnum\": \"pet-1\""), "{results:?}");
    let output = |event: &AgentEvent| {
        if let AgentEvent::ToolOutput(ToolOutputEvent { content, .. }) = event {
            Some(content.clone())
        } else {
            None
        }
    };
    let progress: Vec<_> = events.iter().filter_map(output).collect();
    assert!(progress.contains(&"1 of 4\n".to_owned()), "{progress:?}");

    let prompts = servers.prompts().await.unwrap();
    assert!(prompts.iter().any(|prompt| prompt.name == "args-prompt"), "{prompts:?}");
    servers.prompt("all", "args-prompt", [("city", "Paris")]).await.unwrap();
    let resources = servers.resources().await.unwrap();
    assert!(resources.iter().any(|resource| resource.is_template), "{resources:?}");
    let uri = "demo://resource/dynamic/text/1";
    servers.with_resource("Read it.", "all", uri).await.unwrap();
    let part = servers.resource_prompt("all", uri).build(PromptContext::default()).await.unwrap();
    assert!(part.contains("> demo://"), "{part}");
    say(format!(
        "the reference MCP server by {how}: {} tools, {} events of progress, {} prompts, {} resources",
        names.len(),
        progress.len(),
        prompts.len(),
        resources.len(),
    ));
}

/// Cancels a call of a minute.
async fn stops(servers: &McpServers) {
    let long = json!({ "duration": 60, "steps": 600 });
    let mut stream = begin(servers, &[("trigger-long-running-operation", long)]);
    let began = Instant::now();
    while let Some(envelope) = stream.next().await {
        if matches!(envelope.event, AgentEvent::ToolOutput(_)) {
            stream.cancel();
        }
    }
    assert!(stream.outcome().await.is_err());
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    // The server is still of use.
    let (outcome, _) = end(begin(servers, &[("echo", json!({ "message": "still" }))])).await;
    assert!(results(&outcome)[0].contains("still"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reference_server_works_by_stdio_and_is_started_again() {
    let Some(everything) = by_stdio() else { return };
    let servers = connect(&everything).await;
    works(&servers, "stdio").await;
    stops(&servers).await;
    let long = json!({ "duration": 60, "steps": 600 });
    let stream = begin(&servers, &[("trigger-long-running-operation", long)]);
    let (outcome, _) = kill_in_mid_call(stream, child_of_this()).await;
    assert!(results(&outcome)[0].contains("the MCP server `all` has ended"), "{outcome:?}");
    let (outcome, _) = end(begin(&servers, &[("echo", json!({ "message": "again" }))])).await;
    assert!(results(&outcome)[0].contains("again"));
    let again = child_of_this();
    drop((servers, outcome));
    wait_for_end(again);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reference_server_works_by_http_and_is_reached_again() {
    let Some(mut everything) = by_http() else { return };
    let servers = connect(&everything).await;
    works(&servers, "HTTP").await;
    stops(&servers).await;
    let long = json!({ "duration": 60, "steps": 600 });
    let stream = begin(&servers, &[("trigger-long-running-operation", long)]);
    let child = everything.child.as_ref().unwrap().id();
    let (outcome, _) = kill_in_mid_call(stream, child).await;
    let results_of = results(&outcome);
    assert!(results_of[0].contains("the MCP server `all`"), "{results_of:?}");
    everything.child.as_mut().unwrap().wait().unwrap();
    // Another process at the same address knows nothing of the session.
    let url = everything.config["url"].as_str().unwrap();
    let port = url.split([':', '/']).nth(4).unwrap().parse().unwrap();
    everything.child = Some(listening(&mut node(SCRIPT).unwrap(), port));
    let (outcome, _) = end(begin(&servers, &[("echo", json!({ "message": "again" }))])).await;
    assert!(results(&outcome)[0].contains("again"), "{outcome:?} {:?}", servers.failures());
}

/// Kills a process once the call has made progress.
async fn kill_in_mid_call(mut stream: RunStream, pid: u32) -> (RunOutcome, Vec<AgentEvent>) {
    while let Some(envelope) = stream.next().await {
        if matches!(envelope.event, AgentEvent::ToolOutput(_)) {
            let killed = Command::new("kill").args(["-KILL", &pid.to_string()]).status().unwrap();
            assert!(killed.success());
            break;
        }
    }
    end(stream).await
}

/// Returns the server that this process has started by stdio.
fn child_of_this() -> u32 {
    let all = children_with(SCRIPT);
    let by_http = children_with("streamableHttp");
    let pids = all.into_iter().filter(|pid| !by_http.contains(pid));
    pids.max().expect("a server runs")
}
