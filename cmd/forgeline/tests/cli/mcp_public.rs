//! Public MCP servers at `run --mcp`: each is listed, called and trusted.

use std::{fs, path::Path, process::Command};

use forgeline_testkit::{
    mcp::{node, python},
    say,
    server::{ScriptedServer, Seen, Step},
};
use serde_json::{Value, json};
use tokio::task::block_in_place;

use crate::{
    approve::{arguments, call, folder},
    process::run,
    run::answer,
};

/// A public server, a call, and a word of the result.
struct PublicServer {
    name: &'static str,
    command: Option<Command>,
    arguments: Vec<String>,
    variables: Value,
    tool: &'static str,
    call: Value,
    says: &'static str,
}

/// Returns a server of npm.
fn of_npm(name: &'static str, tool: &'static str, call: Value, says: &'static str) -> PublicServer {
    let command = node(&format!("@modelcontextprotocol/server-{name}/dist/index.js"));
    PublicServer { name, command, arguments: Vec::new(), variables: json!({}), tool, call, says }
}

/// Returns a server of `PyPI`, in this environment.
fn of_pypi(
    (environment, name): (&str, &'static str),
    arguments: &[&str],
    (tool, call, says): (&'static str, Value, &'static str),
) -> PublicServer {
    let command = python(&format!("{environment}/bin/mcp-server-{name}"));
    let arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
    PublicServer { name, command, arguments, variables: json!({}), tool, call, says }
}

/// Returns the servers, which work in a folder, and one of which reads a page.
fn servers(root: &Path, page: &str) -> Vec<PublicServer> {
    let at = |name: &str| root.join(name).to_str().unwrap().to_owned();
    fs::create_dir_all(root.join("files")).unwrap();
    fs::write(root.join("files/a.txt"), "Buy milk.").unwrap();
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.args(["-C", &at("files"), "-c", "user.name=n", "-c", "user.email=n@example.com"]);
        assert!(command.args(arguments).output().unwrap().status.success(), "{arguments:?}");
    };
    git(&["init", "--quiet"]);
    git(&["commit", "--quiet", "--allow-empty", "--message", "The first of all"]);

    let mut files =
        of_npm("filesystem", "read_text_file", json!({ "path": at("files/a.txt") }), "Buy milk.");
    files.arguments.push(at("files"));
    let entity = json!({ "name": "Ann", "entityType": "person", "observations": ["likes tea"] });
    let mut memory =
        of_npm("memory", "create_entities", json!({ "entities": [entity] }), "likes tea");
    memory.variables = json!({ "MEMORY_FILE_PATH": at("memory.jsonl") });
    let thought = json!({ "thought": "First.", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1 });
    let noon =
        json!({ "source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo" });
    let fetch = ["--ignore-robots-txt", "--allow-private-ips"];
    vec![
        of_npm("everything", "echo", json!({ "message": "hello" }), "hello"),
        files,
        memory,
        of_npm("sequential-thinking", "sequentialthinking", thought, "thoughtHistoryLength"),
        of_pypi(
            ("venv", "time"),
            &["--local-timezone", "UTC"],
            ("convert_time", noon, "T21:00:00"),
        ),
        of_pypi(
            ("venv", "git"),
            &["--repository", &at("files")],
            ("git_log", json!({ "repo_path": at("files") }), "The first of all"),
        ),
        of_pypi(("venv", "fetch"), &fetch, ("fetch", json!({ "url": page }), "a page of our own")),
        of_pypi(
            ("older", "sqlite"),
            &["--db-path", &at("of.db")],
            ("create_table", json!({ "query": "CREATE TABLE notes (text TEXT)" }), "created"),
        ),
    ]
}

/// Returns the body of a request.
fn body(seen: Seen) -> Value {
    let Seen::Request { body, .. } = seen else { panic!("{seen:?}") };
    serde_json::from_slice(&body).unwrap()
}

/// Returns a page that says something.
fn page() -> Vec<Step> {
    let kind = vec![("content-type", "text/plain".to_owned())];
    vec![Step::Head(200, kind), Step::chunk("This is a page of our own."), Step::End]
}

#[tokio::test(flavor = "multi_thread")]
async fn public_servers_are_listed_called_and_trusted() {
    let root = folder("mcp-public");
    let pages = ScriptedServer::start(vec![page(), page()]).await;
    let (mut listed, mut called) = (0, 0);
    for public in servers(&root, &(pages.url() + "/page")) {
        let PublicServer { name, command, arguments: more, variables, tool, call: made, says } =
            public;
        let Some(command) = command else { continue };
        let own = command.get_args().map(|it| it.to_str().unwrap().to_owned());
        let all: Vec<_> = own.chain(more).collect();
        let program = command.get_program().to_str().unwrap();
        let entry = json!({ "command": program, "args": all, "env": variables, "required": true });
        let file = root.join(format!("{name}.json"));
        fs::write(&file, json!({ "mcpServers": { name: entry } }).to_string()).unwrap();

        let wire = format!("mcp_{name}_{tool}");
        let mut server = ScriptedServer::start(vec![call(&wire, &made), answer("Done.")]).await;
        let url = server.url();
        let flags = ["--no-project", "--mcp", file.to_str().unwrap(), "--trust-mcp", name, "Go."];
        let outcome = block_in_place(|| run(&arguments("run", &url, &root, &flags), b""));
        assert_eq!((outcome.code, outcome.stdout.trim()), (Some(0), "Done."), "{outcome:?}");
        let offered = body(server.seen().await);
        let tools = offered["tools"].as_array().unwrap();
        assert!(tools.iter().any(|it| it["function"]["name"] == *wire), "{name}: {tools:?}");
        listed += 1;
        let after = body(server.seen().await);
        let messages = after["messages"].as_array().unwrap();
        let result = messages.iter().find(|it| it["role"] == "tool").unwrap();
        assert!(result["content"].to_string().contains(says), "{name}: {result}");
        called += 1;
    }
    say(format!("public MCP servers by --mcp: {listed} listed, {called} called"));
}
