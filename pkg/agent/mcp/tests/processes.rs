//! Servers that are processes.

use std::{fs, io::Read as _, path::PathBuf, process::Command, thread};

use serde_json::json;
use tokio::{sync::oneshot, time::timeout};

use super::{LONG, config};
use crate::agent::{
    mcp::{McpConfig, McpError, McpServers},
    tools::ToolContext,
};

/// A server that lists one tool, and ends when it is called. What it started holds a pipe open: the first server
/// the pipe `first`, the next one `second`.
const SCRIPT: &str = r#"
mkdir "$1/began" 2>/dev/null && pipe=first || pipe=second
exec 3>"$1/$pipe"
sleep 600 >/dev/null &
while IFS= read -r line; do
    id=${line#*'"id":'}
    id=${id%%[,\}]*}
    case $line in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"'$NAME'","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) exit 3 ;;
    *) continue ;;
    esac
    echo '{"jsonrpc":"2.0","id":'"$id"',"result":'"$result"'}'
done
"#;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("forgeline-mcp-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("server.sh"), SCRIPT).unwrap();
        let pipes = [path.join("first"), path.join("second")];
        assert!(Command::new("mkfifo").args(pipes).status().unwrap().success());
        Self(path)
    }

    fn config(&self) -> McpConfig {
        let server = json!({
            "command": "/bin/sh",
            "args": [self.0.join("server.sh"), self.0],
            "env": { "NAME": "die" },
            "required": true,
        });
        let text = json!({ "mcpServers": { "s": server, "gone": { "command": "/no/such" } } });
        config(&text.to_string()).unwrap()
    }

    /// Tells when a writer of this pipe has come, and all are gone again. A thread waits: a runtime would wait
    /// for its own one forever.
    fn all_gone(&self, pipe: &str) -> oneshot::Receiver<usize> {
        let (told, gone) = oneshot::channel();
        let pipe = self.0.join(pipe);
        thread::spawn(move || {
            let written = fs::File::open(pipe).unwrap().read_to_end(&mut Vec::new()).unwrap();
            let _nobody_waits = told.send(written);
        });
        gone
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

#[tokio::test]
async fn a_server_is_started_again_and_leaves_no_process() {
    let folder = Folder::new("again");
    let (mut first, mut second) = (folder.all_gone("first"), folder.all_gone("second"));
    let servers = McpServers::connect(folder.config()).await.unwrap();
    assert!(
        matches!(&*servers.failures(), [McpError::NotStarted { server, .. }] if server == "gone")
    );
    let tools = servers.list().await.unwrap();
    assert_eq!(tools[0].name(), "mcp.s.die");
    let died = tools[0].execute(ToolContext::default(), json!({}).into()).await;
    assert!(died.unwrap_err().to_string().contains("`s` has ended"));
    // What the dead server started is there as long as one of its tools is.
    first.try_recv().unwrap_err();
    drop(tools);
    let again = servers.list().await.unwrap();
    assert_eq!(again.len(), 1);
    assert_eq!(timeout(LONG, first).await.unwrap(), Ok(0));
    second.try_recv().unwrap_err();
    drop((servers, again));
    assert_eq!(timeout(LONG, second).await.unwrap(), Ok(0));
}

#[tokio::test]
async fn a_required_server_that_cannot_be_started_fails_the_start() {
    let config = config(r#"{"mcpServers":{"gone":{"command":"/no/such","required":true}}}"#);
    let error = McpServers::connect(config.unwrap()).await.unwrap_err();
    assert!(matches!(error, McpError::NotStarted { .. }), "{error}");
}
