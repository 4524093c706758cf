//! Nested runs with a server of their own, cancelled at each of their events: no process, no request, no task is left.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use forgeline::{
    agent::{
        Agent,
        approval::OutsideText,
        mcp::{McpConfig, McpServers},
        run::RunContext,
        tools::ToolSource as _,
    },
    testing::{ScriptedProvider, ScriptedTurn},
};
use forgeline_testkit::{
    process::{children_with, wait_for_end},
    say,
};
use serde_json::{Value, json};
use tokio::{runtime::Handle, time::timeout};

/// Longest wait for anything.
const LONG: Duration = Duration::from_mins(1);

/// A server that keeps each line that it reads in `lines`, and answers a call where its second argument is `answers`.
const SCRIPT: &str = r#"
sleep 600 >/dev/null 2>&1 &
while IFS= read -r line; do
    printf '%s\n' "$line" >>"$1/lines"
    id=${line#*'"id":'}
    id=${id%%[,\}]*}
    token=${line#*'"progressToken":'}
    token=${token%%[,\}]*}
    case $line in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"work","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*)
        echo '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":'"$token"',"progress":1}}'
        [ "$2" = answers ] || continue
        result='{"content":[{"type":"text","text":"done"}]}' ;;
    *) continue ;;
    esac
    echo '{"jsonrpc":"2.0","id":'"$id"',"result":'"$result"'}'
done
"#;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::remove_dir_all(&path).ok();
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("server.sh"), SCRIPT).unwrap();
        Self(path)
    }

    fn text(&self) -> &str {
        self.0.to_str().unwrap()
    }

    /// Returns the requests that the server got and that wait for its answer: of each call, whether it was cancelled.
    fn calls(&self) -> Vec<bool> {
        let text = fs::read_to_string(self.0.join("lines")).unwrap_or_default();
        let lines: Vec<Value> = text.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
        let is_cancelled = |id: &Value| {
            lines.iter().any(|line| {
                line["method"] == "notifications/cancelled" && line["params"]["requestId"] == *id
            })
        };
        let calls = lines.iter().filter(|line| line["method"] == "tools/call");
        calls.map(|call| is_cancelled(&call["id"])).collect()
    }
}

/// Returns an agent below which another one calls the tool of a server.
fn nested(servers: &McpServers) -> Agent {
    let call = ScriptedTurn::new().call("mcp.s.work", json!({}));
    let below = ScriptedProvider::new([call, ScriptedTurn::new().text("Below.")]);
    // The run is never ahead of its reader by more than an event.
    let below = Agent::builder(below)
        .event_capacity(1)
        .tool_source(servers.clone())
        .grant(["mcp.s.work"])
        .outside_text(OutsideText::Ignore)
        .build()
        .unwrap()
        .into_tool("helper", "Helps.");
    let call = ScriptedTurn::new().call("helper", json!({ "task": "Work." }));
    let above = ScriptedProvider::new([call, ScriptedTurn::new().text("Above.")]);
    Agent::builder(above).event_capacity(1).tool(below).grant(["helper"]).build().unwrap()
}

/// Runs the agent, and cancels it at this event; returns the events that it had. Without an event it runs to its end.
async fn cancelled_at(index: usize, answers: bool) -> (usize, Vec<bool>) {
    let folder = Folder::new(&format!("mcp-cancel-{answers}-{index}"));
    let script = folder.0.join("server.sh");
    let answers = if answers { "answers" } else { "hangs" };
    let server =
        json!({ "command": "/bin/sh", "args": [script, folder.text(), answers], "required": true });
    let config = json!({ "mcpServers": { "s": server } }).to_string();
    let servers = McpServers::connect(McpConfig::parse(&config).unwrap()).await.unwrap();
    let [pid] = *children_with(folder.text()) else { panic!("one server runs") };
    let agent = nested(&servers);
    let mut stream = agent.run_stream("Go.");
    let mut seen = 0;
    while let Some(_event) = timeout(LONG, stream.next()).await.expect("the run goes on") {
        if seen == index {
            stream.cancel();
        }
        seen += 1;
    }
    let outcome = stream.outcome().await;
    // At its last events a run has ended already.
    let is_late = index.saturating_add(4) > seen;
    assert!(outcome.is_err() == (index < seen) || is_late, "{index} of {seen}: {outcome:?}");
    drop(agent);
    // The server reads in order: behind this list it has read all that was sent.
    timeout(LONG, servers.tools(RunContext::default())).await.unwrap().unwrap();
    let calls = folder.calls();
    drop(servers);
    wait_for_end(pid);
    assert!(children_with(folder.text()).is_empty(), "what the server has started is gone too");
    fs::remove_dir_all(&folder.0).unwrap();
    (seen, calls)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_nested_run_that_is_cancelled_at_any_event_leaves_no_process_request_or_task() {
    let before = Handle::current().metrics().num_alive_tasks();
    let (whole, calls) = cancelled_at(usize::MAX, true).await;
    assert_eq!(calls, [false], "the call was answered");
    let mut waited = 0;
    for answers in [true, false] {
        for index in 0..whole {
            let (seen, calls) = cancelled_at(index, answers).await;
            if index >= seen {
                continue;
            }
            assert!(calls.len() <= 1, "{calls:?}");
            if !answers {
                // A call that was sent waited for ever, so that it can only have been cancelled.
                assert!(calls.iter().all(|is_cancelled| *is_cancelled), "{index}: {calls:?}");
                waited += calls.len();
            }
            gone(before, index).await;
            if !answers && calls.len() == 1 {
                // Nothing comes any more: the call hangs.
                break;
            }
        }
    }
    assert!(waited > 0, "no call was cancelled while it waited");
    say(format!("nested runs with an MCP server: {whole} events, cancelled at each"));
}

/// Waits until the tasks of a run have ended.
async fn gone(before: usize, index: usize) {
    let metrics = Handle::current().metrics();
    let ended = async {
        while metrics.num_alive_tasks() > before {
            tokio::task::yield_now().await;
        }
    };
    let left = || metrics.num_alive_tasks() - before;
    timeout(LONG, ended).await.unwrap_or_else(|_| panic!("{index}: {} tasks are left", left()));
}
