//! Servers that are processes.

use std::{fs, io::Read as _, path::PathBuf, process::Command, thread, time::Duration};

use serde_json::json;
use tokio::{
    sync::oneshot,
    time::{Instant, timeout},
};

use super::{LONG, config};
use crate::{McpConfig, McpError, McpServers};
use forgeline_agent::tools::{ToolContext, ToolSource as _};

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

/// Returns a server that is this script, with the folder as `$1`.
fn scripted(folder: &Folder, script: &str, timeout: f64) -> McpConfig {
    let server = json!({
        "command": "/bin/sh",
        "args": ["-c", script, "sh", folder.0],
        "env": { "KEY": "s3cret-word" },
        "timeout": timeout,
    });
    config(&json!({ "mcpServers": { "s": server } }).to_string()).unwrap()
}

#[tokio::test]
async fn the_last_words_of_a_server_are_in_its_error_without_secrets() {
    let folder = Folder::new("words");
    let dies = "echo \"cannot open $KEY\" >&2; echo 'no such module' >&2; exit 1";
    let servers = McpServers::connect(scripted(&folder, dies, 20.0)).await.unwrap();
    let [error] = &*servers.failures() else { panic!("{:?}", servers.failures()) };
    let McpError::Ended { said, .. } = error else { panic!("{error}") };
    assert_eq!(said, "cannot open [key]\nno such module");
    assert!(error.to_string().ends_with("its last words: cannot open [key]\nno such module"));
    // So are those of a server that does not greet.
    let hangs = "echo 'waiting for a lock' >&2; exec sleep 600";
    let servers = McpServers::connect(scripted(&folder, hangs, 6.0)).await.unwrap();
    let [error] = &*servers.failures() else { panic!("{:?}", servers.failures()) };
    assert!(matches!(error, McpError::TimedOut { request: "initialize", .. }), "{error}");
    assert!(error.to_string().contains("its last words: waiting for a lock"), "{error}");
    // One that never stops to write holds up nothing, and what it left open ends no later.
    let floods = "sleep 600 >/dev/null & yes 'much to say' | head -c 3000000 >&2; exit 1";
    let servers = McpServers::connect(scripted(&folder, floods, 20.0)).await.unwrap();
    let [error] = &*servers.failures() else { panic!("{:?}", servers.failures()) };
    let McpError::Ended { said, .. } = error else { panic!("{error}") };
    assert!(said.len() <= 8 << 10 && said.ends_with("much to say"), "{}", said.len());
}

#[tokio::test]
async fn the_last_words_of_a_server_that_dies_in_a_call_are_in_the_result() {
    let folder = Folder::new("call");
    let script = SCRIPT.replace("exit 3", "echo \"out of memory at $NAME-$NAME\" >&2; exit 3");
    fs::write(folder.0.join("server.sh"), script).unwrap();
    let (_first, _second) = (folder.all_gone("first"), folder.all_gone("second"));
    let servers = McpServers::connect(folder.config()).await.unwrap();
    let tools = servers.list().await.unwrap();
    let died = tools[0].execute(ToolContext::default(), json!({}).into()).await;
    let error = died.unwrap_err().to_string();
    // Too short to be a secret.
    assert!(error.contains("its last words: out of memory at die-die"), "{error}");
    drop((servers, tools));
}

#[tokio::test]
async fn a_start_that_hangs_is_one_for_all_who_wait_and_goes_on_without_them() {
    let folder = Folder::new("hangs");
    let hangs = "echo begun >>\"$1/starts\"; exec sleep 600";
    let servers = McpServers::connect(scripted(&folder, hangs, 1.5)).await.unwrap();
    assert!(matches!(&*servers.failures(), [McpError::TimedOut { .. }]));
    let starts = || fs::read_to_string(folder.0.join("starts")).unwrap_or_default().lines().count();
    assert!(starts() <= 1);
    // A list that is dropped gives nothing up, and two others do not begin anew.
    let dropped = tokio::spawn({
        let servers = servers.clone();
        async move { servers.list().await.map(drop) }
    });
    tokio::task::yield_now().await;
    dropped.abort();
    let (one, other, prompts) = tokio::join!(servers.list(), servers.list(), servers.prompts());
    assert!(one.unwrap().is_empty() && other.unwrap().is_empty() && prompts.unwrap().is_empty());
    assert!(starts() <= 2, "{}", starts());
}

#[tokio::test(start_paused = true)]
async fn hanging_server_delays_one_run_and_is_reported_once() {
    let config =
        config(r#"{"mcpServers":{"s":{"command":"/bin/sh","args":["-c","exec sleep 600"]}}}"#);
    let servers = McpServers::connect(config.unwrap()).await.unwrap();
    let failures = servers.failures();
    let half_a_minute = Duration::from_secs(30);
    assert!(
        matches!(&*failures, [McpError::TimedOut { request: "initialize", after, .. }] if *after == half_a_minute),
        "{failures:?}"
    );
    let waited = async || {
        let began = Instant::now();
        assert!(servers.list().await.unwrap().is_empty());
        began.elapsed().as_secs()
    };
    assert_eq!(servers.notices(), Vec::new(), "`failures` has it");
    // The first run waits, and says so once.
    assert_eq!(waited().await, 8);
    let [notice] = &*servers.notices() else { panic!("no notice") };
    assert_eq!((&*notice.kind, notice.text("server")), ("mcp_server_late", Some("s")));
    assert!(notice.text("reason").unwrap().contains("within 8s"), "{notice:?}");
    // Others do not, for a while, and have the reason.
    for _ in 0..3 {
        assert_eq!(waited().await, 0);
        assert_eq!((servers.failures().len(), servers.notices().len()), (1, 0));
    }
    tokio::time::sleep(Duration::from_secs(16)).await;
    // The start of the first run has gone on, and is not waited for again.
    assert_eq!(waited().await, 0);
    assert_eq!(servers.failures().len(), 1);
    tokio::time::sleep(Duration::from_secs(16)).await;
    // It has failed meanwhile: the next one is waited for.
    assert_eq!(waited().await, 8);
    assert_eq!(waited().await, 0);
    tokio::time::sleep(Duration::from_secs(16)).await;
    assert_eq!(waited().await, 0, "the pause has grown");
    tokio::time::sleep(Duration::from_secs(15)).await;
    assert_eq!(waited().await, 8);
    assert!(servers.notices().is_empty());
}

/// A server with the tools `f` and `die`, which notes each of its starts.
const DYING: &str = r#"
echo begun >>"$1/starts"
while IFS= read -r line; do
    id=${line#*'"id":'}
    id=${id%%[,\}]*}
    case $line in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"f","inputSchema":{"type":"object"}},{"name":"die","inputSchema":{"type":"object"}}]}' ;;
    *'"name":"die"'*) exit 3 ;;
    *'"tools/call"'*) result='{"content":[{"type":"text","text":"done"}]}' ;;
    *) continue ;;
    esac
    echo '{"jsonrpc":"2.0","id":'"$id"',"result":'"$result"'}'
done
"#;

// Rows: N-45
#[tokio::test]
async fn n45_a_server_that_dies_is_started_again_once_for_the_tools_of_a_run() {
    let folder = Folder::new("once");
    fs::write(folder.0.join("server.sh"), DYING).unwrap();
    let servers = McpServers::connect(folder.config()).await.unwrap();
    let starts = || fs::read_to_string(folder.0.join("starts")).unwrap_or_default().lines().count();
    let call = async |tools: &[std::sync::Arc<dyn forgeline_agent::tools::Tool>], name: &str| {
        let tool = tools.iter().find(|tool| tool.name().ends_with(name)).unwrap();
        let done = tool.execute(ToolContext::default(), json!({}).into()).await;
        done.map(|output| output.content).map_err(|error| error.to_string())
    };
    let done = || Ok("done".to_owned());
    let tools = servers.list().await.unwrap();
    assert_eq!(call(&tools, ".f").await, done());
    assert!(call(&tools, ".die").await.unwrap_err().contains("`s` has ended"));
    // Calls at the same time wait for the same start.
    let both = tokio::join!(call(&tools, ".f"), call(&tools, ".f"));
    assert_eq!((both, starts()), ((done(), done()), 2));
    assert!(call(&tools, ".die").await.is_err());
    for _ in 0..2 {
        let error = call(&tools, ".f").await.unwrap_err();
        assert!(error.contains("is not started again in this run"), "{error}");
    }
    assert_eq!(starts(), 2);
    // The next run has a start of its own.
    let tools = servers.list().await.unwrap();
    assert_eq!((call(&tools, ".f").await, starts()), (done(), 3));
}

// Rows: N-45
#[tokio::test]
async fn n45_a_server_that_does_not_come_back_is_tried_once_in_a_run() {
    let folder = Folder::new("gone");
    let once =
        format!("[ -e \"$1/starts\" ] && {{ echo again >>\"$1/starts\"; exit 1; }}\n{DYING}");
    fs::write(folder.0.join("server.sh"), once).unwrap();
    let servers = McpServers::connect(folder.config()).await.unwrap();
    let tools = servers.list().await.unwrap();
    let call = async |at: usize| {
        let done = tools[at].execute(ToolContext::default(), json!({}).into()).await;
        done.unwrap_err().to_string()
    };
    assert!(call(1).await.contains("`s` has ended"));
    assert!(call(0).await.contains("`s` has ended"), "the second start");
    assert!(call(0).await.contains("is not started again in this run"));
    let starts = fs::read_to_string(folder.0.join("starts")).unwrap();
    assert_eq!(starts.lines().count(), 2);
}

#[tokio::test]
async fn a_start_that_is_dropped_leaves_no_process() {
    let folder = Folder::new("dropped");
    let mut first = folder.all_gone("first");
    let hangs = "exec 3>\"$1/first\"; echo begun >&3; touch \"$1/up\"; exec sleep 600";
    let connecting = tokio::spawn(McpServers::connect(scripted(&folder, hangs, 600.0)));
    while !folder.0.join("up").exists() {
        tokio::task::yield_now().await;
    }
    first.try_recv().unwrap_err();
    connecting.abort();
    assert!(connecting.await.unwrap_err().is_cancelled());
    assert_eq!(timeout(LONG, first).await.unwrap(), Ok("begun\n".len()));
}

/// Processes that a server has started may hold its output open, inside or outside of its process group.
#[tokio::test]
async fn ended_server_is_reported_while_its_children_hold_its_output() {
    let leaves = ["sleep 200 & exit 3", "setsid sleep 200 & exit 3"];
    for (number, leaves) in leaves.into_iter().enumerate() {
        let folder = Folder::new(&format!("holds-{number}"));
        let script = SCRIPT.replace("exit 3", leaves).replace("exec 3>\"$1/$pipe\"", "");
        fs::write(folder.0.join("server.sh"), script).unwrap();
        let began = std::time::Instant::now();
        let servers = McpServers::connect(folder.config()).await.unwrap();
        let tools = servers.list().await.unwrap();
        let died = tools[0].execute(ToolContext::default(), json!({}).into()).await;
        let error = died.unwrap_err().to_string();
        assert!(error.contains("`s` has ended"), "{error}");
        servers.close().await;
        drop((servers, tools));
        assert!(began.elapsed() < Duration::from_mins(1), "{leaves}: {:?}", began.elapsed());
    }
}
