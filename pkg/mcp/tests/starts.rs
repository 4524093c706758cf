//! Starts that take long, limits of the greeting, and servers that are gone.

use std::sync::atomic::Ordering;

use super::{asking::agent, *};
use forgeline_agent::{
    notice::{Notice, TOOL_SOURCE, ToolSourceNotice},
    tools::ToolSource as _,
};
use forgeline_types::{AgentEvent, CustomEvent};

#[tokio::test(start_paused = true)]
async fn the_limits_of_the_greeting_and_of_the_list_are_those_of_the_options() {
    let (ours, _silent) = pipe();
    let limit = Duration::from_secs(40);
    let options = McpOptions::default().start_timeout(limit).list_timeout(limit);
    let began = Instant::now();
    let error = session(ours, &options).await.unwrap_err();
    assert!(matches!(error, McpError::TimedOut { after, .. } if after == limit), "{error}");
    assert_eq!(began.elapsed(), limit);

    let (ours, mut scripted) = pipe();
    let (session, ()) = tokio::join!(session(ours, &options), scripted.greet());
    let members = json!({ "command": "x", "required": true });
    let servers = McpServers::with_session(server(&members), session.unwrap());
    let began = Instant::now();
    let error = servers.list().await.err().unwrap();
    assert!(matches!(error, McpError::TimedOut { after, .. } if after == limit), "{error}");
    assert_eq!(began.elapsed(), limit);
    // Zero means the default.
    let (ours, _silent) = pipe();
    let options = McpOptions::default().start_timeout(Duration::ZERO);
    let began = Instant::now();
    super::session(ours, &options).await.unwrap_err();
    assert_eq!(began.elapsed(), Duration::from_secs(30));
}

#[tokio::test]
async fn a_change_of_the_list_counts_until_the_new_list_has_come() {
    let (servers, mut scripted) = greeted(json!({ "command": "x" })).await;
    let tool = tools(&servers, &mut scripted, json!([listed("f")])).await.remove(0);
    scripted.notify("notifications/tools/list_changed", json!({})).await;
    // The first list after the change fails: the call decides.
    let call = tool.execute(ToolContext::default(), json!({}).into());
    let answer = async {
        scripted.ask(1, "ping", json!({})).await;
        scripted.read_line().await;
        let list = scripted.read_line().await;
        assert_eq!(list["method"], "tools/list");
        let error = json!({ "code": -32000, "message": "busy" });
        let error = json!({ "jsonrpc": "2.0", "id": list["id"], "error": error });
        scripted.write(&error.to_string()).await;
        scripted.answer("tools/call", super::asking::done()).await;
    };
    let (result, ()) = tokio::join!(first_pinged(call), answer);
    assert_eq!(result.unwrap().content, "done");
    // The next call asks again, and hears that its tool is gone.
    let call = tool.execute(ToolContext::default(), json!({}).into());
    let answer = scripted.answer("tools/list", json!({ "tools": [listed("g")] }));
    let (result, ()) = tokio::join!(call, answer);
    let error = result.unwrap_err().to_string();
    assert!(error.contains("`mcp.s.f` no longer exists"), "{error}");
    // One list is enough.
    let call = tool.execute(ToolContext::default(), json!({}).into());
    assert!(call.await.unwrap_err().to_string().contains("no longer exists"));
}

/// Begins a call once the session has read what came before.
async fn first_pinged<T>(call: impl Future<Output = T>) -> T {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
    call.await
}

#[tokio::test]
async fn lost_server_is_reported_at_the_start_of_the_next_run() {
    let (servers, mut scripted) = greeted(json!({ "command": "/no/such" })).await;
    tools(&servers, &mut scripted, json!([listed("f")])).await;
    drop(scripted);
    // The end has arrived.
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
    let agent = agent(servers).build().unwrap().conversation();
    let mut stream = agent.run_stream("Do it.");
    let mut said = Vec::new();
    let mut seen = 0;
    while let Some(envelope) = stream.next().await {
        if let Some(Notice::ToolSource(notice)) = Notice::read(&envelope.event) {
            assert_eq!(seen, 1, "behind the first event");
            said.push(notice);
        }
        seen += 1;
    }
    let [notice] = &*said else { panic!("{said:?}") };
    assert_eq!((&*notice.kind, notice.text("server")), ("mcp_server_gone", Some("s")));
    let (tools, count) = (&notice.fields["tools"], &notice.fields["count"]);
    assert_eq!((tools, count), (&json!(["mcp.s.f"]), &json!(1)));
    let reason = notice.text("reason").unwrap();
    assert!(reason.contains("cannot be started"), "{reason}");
}

/// The notices of the sources in a run, and the names of the tools that the model was offered.
async fn noticed(
    agent: &Conversation,
    provider: &ScriptedProvider,
) -> (Vec<ToolSourceNotice>, Vec<String>) {
    let mut stream = agent.run_stream("Do it.");
    let mut said = Vec::new();
    while let Some(envelope) = stream.next().await {
        if let Some(Notice::ToolSource(notice)) = Notice::read(&envelope.event) {
            said.push(notice);
        }
    }
    let requests = provider.requests();
    let offered = requests.last().unwrap().tools.iter().map(|tool| tool.name.to_string());
    (said, offered.collect())
}

/// A server that greets once the pipe `go` is written to.
#[cfg(unix)]
const SLOW: &str = r#"
read -r go <"$1/go"
while IFS= read -r line; do
    id=${line#*'"id":'}
    id=${id%%[,\}]*}
    case $line in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"f","inputSchema":{"type":"object"}}]}' ;;
    *) continue ;;
    esac
    echo '{"jsonrpc":"2.0","id":'"$id"',"result":'"$result"'}'
done
"#;

// Rows: N-45
#[cfg(unix)]
#[tokio::test]
async fn n45_a_server_that_is_late_joins_the_next_run_which_says_so() {
    let folder = std::env::temp_dir().join(format!("forgeline-mcp-late-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let go = folder.join("go");
    std::fs::write(folder.join("server.sh"), SLOW).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&go).status().unwrap().success());
    let file = json!({ "mcpServers": {
        "s": { "command": "/bin/sh", "args": [folder.join("server.sh"), folder] },
    } });
    let config = config(&file.to_string()).unwrap();
    assert!(config.refused.is_empty(), "{:?}", config.refused);
    let started = McpServers::connect_within(config, McpOptions::default(), Duration::ZERO).await;
    let servers = started.unwrap().0;
    let turn = |n: u32| ScriptedTurn::new().text(format!("Answer {n}."));
    let provider = ScriptedProvider::new((1..=4).map(turn));
    // Its name is not taken from the tool that was there first.
    let own = tool_fn("f", "Does it.", |_: ToolContext, (): ()| async { "done" });
    let agent = Agent::builder(provider.clone()).tool(own).tool_source(servers.clone());
    let agent = agent.build().unwrap().conversation();

    tokio::time::pause();
    let (said, offered) = noticed(&agent, &provider).await;
    tokio::time::resume();
    let [late] = &*said else { panic!("{said:?}, {:?}", servers.failures()) };
    assert_eq!((&*late.kind, late.text("server")), ("mcp_server_late", Some("s")));
    assert_eq!(offered, ["f"]);
    // It is not waited for again, and said no more.
    let (said, offered) = noticed(&agent, &provider).await;
    assert_eq!((said, offered), (vec![], vec!["f".to_owned()]));

    let written = go.clone();
    tokio::task::spawn_blocking(move || std::fs::write(written, "go\n")).await.unwrap().unwrap();
    servers.slots()[0].session().await.unwrap();
    let (said, offered) = noticed(&agent, &provider).await;
    let joined = ToolSourceNotice::new("mcp_server_joined").field("server", "s");
    assert_eq!(said, [joined.field("count", 1)]);
    assert_eq!(offered, ["f", "mcp.s.f"]);
    let (said, offered) = noticed(&agent, &provider).await;
    assert_eq!((said, offered.len()), (vec![], 2), "once");
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn server_that_never_started_is_not_reported_in_runs() {
    let config = config(r#"{"mcpServers":{"s":{"command":"/no/such"}}}"#).unwrap();
    let servers = McpServers::connect(config).await.unwrap();
    assert_eq!(servers.failures().len(), 1);
    let mut stream = agent(servers).build().unwrap().conversation().run_stream("Do it.");
    while let Some(envelope) = stream.next().await {
        let is_notice = matches!(&envelope.event, AgentEvent::Custom(CustomEvent { name, .. }) if name == TOOL_SOURCE);
        assert!(!is_notice, "{:?}", envelope.event);
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_of_a_server_that_is_not_required_waits_while_a_person_logs_in() {
    let (ours, mut scripted) = pipe();
    let options = McpOptions::default().list_timeout(Duration::from_hours(1));
    let (session, ()) = tokio::join!(session(ours, &options), scripted.greet());
    let servers = McpServers::with_session(server(&json!({ "command": "x" })), session.unwrap());
    let asking = Arc::clone(&servers.slots()[0].login().asking);
    asking.fetch_add(1, Ordering::SeqCst);
    assert!(servers.is_asking());
    let began = Instant::now();
    let person = async {
        tokio::time::sleep(Duration::from_mins(4)).await;
        asking.fetch_sub(1, Ordering::SeqCst);
    };
    let listed = async { (servers.list().await, began.elapsed()) };
    let ((tools, waited), ()) = tokio::join!(listed, person);
    assert_eq!(tools.unwrap().len(), 0);
    assert!(waited >= Duration::from_mins(4) && waited <= Duration::from_secs(249), "{waited:?}");
    assert!(matches!(&*servers.failures(), [McpError::TimedOut { .. }]));
    assert!(!servers.is_asking());
}
