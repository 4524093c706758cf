//! Tools of MCP servers, at `run`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use forgeline_testkit::server::ScriptedServer;
use serde_json::{Value, json};
use tokio::task::block_in_place;

use crate::{
    approve::{arguments, call, folder},
    process::run,
    run::answer,
};

/// A server with one tool, which writes `called` when it is called.
const SERVER: &str = r#"
while IFS= read -r line; do
    id=${line#*'"id":'}
    id=${id%%[,\}]*}
    case $line in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"note","inputSchema":{"type":"object"}},{"name":"n te","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) echo yes >called; result='{"content":[{"type":"text","text":"It is noted."}]}' ;;
    *) continue ;;
    esac
    echo '{"jsonrpc":"2.0","id":'"$id"',"result":'"$result"'}'
done
"#;

/// Writes a file of servers into `root`.
fn file(root: &Path, servers: &Value) -> PathBuf {
    let path = root.join("mcp.json");
    fs::write(&path, json!({ "mcpServers": servers }).to_string()).unwrap();
    path
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_of_a_server_runs_when_it_is_named_and_what_does_not_work_is_said() {
    for is_allowed in [true, false] {
        let root = folder("mcp-run");
        fs::write(root.join("server.sh"), SERVER).unwrap();
        let notes = json!({ "command": "/bin/sh", "args": ["server.sh"], "cwd": root });
        let path = file(&root, &json!({ "notes": notes, "gone": { "command": "/no/such" } }));
        let called = call("mcp_notes_note", &json!({}));
        let server = ScriptedServer::start(vec![called, answer("Done.")]).await;
        let url = server.url();
        let approve = if is_allowed { "mcp.notes.note" } else { "ask" };
        let flags = ["--mcp", path.to_str().unwrap(), "--approve", approve, "Go."];
        let outcome = block_in_place(|| run(&arguments("run", &url, &root, &flags), b""));
        assert_eq!((outcome.code, outcome.stdout.trim()), (Some(0), "Done."), "{outcome:?}");
        assert_eq!(root.join("called").exists(), is_allowed, "{outcome:?}");
        let said = ["the MCP server `gone` cannot be started", "is left out", "n te"];
        assert!(said.iter().all(|said| outcome.stderr.contains(said)), "{}", outcome.stderr);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_file_is_a_usage_error_and_a_required_server_that_is_down_a_failure() {
    let root = folder("mcp-errors");
    let down = json!({ "command": "/no/such", "required": true });
    let rows = [
        (json!({ "a": { "comand": "x" } }), 2, "`mcpServers.a.comand` is unknown"),
        (json!({ "a": { "url": "https://x" } }), 2, "is of a remote server"),
        (json!({ "a": down }), 1, "the MCP server `a` cannot be started"),
    ];
    for (servers, code, said) in rows {
        let path = file(&root, &servers);
        let flags = ["--mcp", path.to_str().unwrap(), "Go."];
        let fixed = arguments("run", "http://127.0.0.1:9", &root, &flags);
        let outcome = block_in_place(|| run(&fixed, b""));
        assert_eq!(outcome.code, Some(code), "{outcome:?}");
        assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
    }
}
