//! Servers that behave, and servers that do not.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf},
    sync::mpsc,
    time::{Instant, timeout},
};

use crate::{
    McpConfig, McpError, McpOptions, McpServer, McpServers, session::server_session::ServerSession,
};
use forgeline_agent::{
    Agent, CancellationToken, Conversation,
    private::{CallPlace, SharedState},
    run::RunContext,
    tools::{Tool, ToolContext, ToolEffects, ToolError, tool_fn},
};
use forgeline_llm::scripted::{ScriptedProvider, ScriptedTurn};
use forgeline_types::{TextOrigin, ToolResult};

mod asking;
mod bounds;
mod contexts;
#[path = "../../agent/tests/encoders.rs"]
mod encoders;
mod faults;
mod files;
#[cfg(target_os = "linux")]
mod nested;
#[cfg(unix)]
mod processes;
mod remote;
mod sampling;
mod starts;
pub(crate) mod subscriber;
mod trust;
#[path = "../../agent/tests/whole.rs"]
mod whole;

/// Longest wait for what comes soon, if it comes.
const LONG: Duration = Duration::from_mins(1);

fn config(text: &str) -> Result<McpConfig, String> {
    let variable = |name: &str| (name == "KEY").then(|| "s3cret".to_owned());
    McpConfig::parse_with(text, &variable).map_err(|error| error.to_string())
}

/// Returns the only thing that is wrong with a file.
fn wrong(text: &str) -> String {
    match config(text) {
        Ok(McpConfig { refused, .. }) => {
            let [error] = &*refused else { panic!("{text}: {refused:?}") };
            error.to_string()
        }
        Err(error) => error,
    }
}

fn server(members: &Value) -> McpServer {
    config(&json!({ "mcpServers": { "s": members } }).to_string()).unwrap().servers.remove(0)
}

#[test]
fn a_wrong_member_is_named_with_what_was_expected() {
    #[rustfmt::skip]
    let cases = [
        ("{",                                               "`(file)` is not JSON at line 1, column 1"),
        ("[]",                                              "`(file)` is an array; expected an object"),
        ("{}",                                              "`mcpServers` is missing; expected an object of servers by name"),
        (r#"{"other":{}}"#,                                 "`mcpServers` is missing; expected an object of servers by name"),
        (r#"{"mcpServers":{"a.b":{"command":"x"}}}"#,       "`mcpServers.a.b` is not a name of a server; expected letters, digits, `_` and `-`, at most 32"),
        (r#"{"mcpServers":{"a":{}}}"#,                      "`mcpServers.a.command` is missing or empty; expected the program of the server, or its `url`"),
        (r#"{"mcpServers":{"a":{"command":1}}}"#,           "`mcpServers.a.command` is a number; expected a string"),
        (r#"{"mcpServers":{"a":{"args":["x",null]}}}"#,     "`mcpServers.a.args[1]` is null; expected a string"),
        (r#"{"mcpServers":{"a":{"env":{"K":true}}}}"#,      "`mcpServers.a.env.K` is a boolean; expected a string"),
        (r#"{"mcpServers":{"a":{"env":{"K":"${KEY}${L}"}}}}"#, "`mcpServers.a.env.K` needs the variable `L`, which is not set; set it, or write `${L:-default}`"),
        (r#"{"mcpServers":{"a":{"required":"yes"}}}"#,      "`mcpServers.a.required` is a string; expected `true` or `false`"),
        (r#"{"mcpServers":{"a":{"type":"http"}}}"#,         "`mcpServers.a.url` is missing; expected the address of the server"),
        (r#"{"mcpServers":{"a":{"type":"sse","url":"https://x"}}}"#, "`mcpServers.a.type` must be `stdio` or `http`; `sse` is the transport before streamable HTTP and is not supported, use the server's address for `http`"),
        (r#"{"mcpServers":{"a":{"type":"ws"}}}"#,           "`mcpServers.a.type` must be `stdio` or `http`"),
        (r#"{"mcpServers":{"a":{"type":"stdio","url":"https://x"}}}"#, "`mcpServers.a.url` is only for a server of `type` `http` with a `url`"),
        (r#"{"mcpServers":{"a":{"command":"x","headers":{"a":"b"}}}}"#, "`mcpServers.a.headers` is only for a server of `type` `http` with a `url`"),
        (r#"{"mcpServers":{"a":{"url":"https://x","command":"x"}}}"#, "`mcpServers.a.command` is for a process, but the server has a `url`; remove one"),
        (r#"{"mcpServers":{"a":{"url":"x"}}}"#,             "`mcpServers.a.url` is not an address; expected one such as `https://host/mcp`"),
        (r#"{"mcpServers":{"a":{"url":"file:///x"}}}"#,     "`mcpServers.a.url` is not an address of HTTP; expected `https://…`"),
        (r#"{"mcpServers":{"a":{"url":"ws://x/mcp"}}}"#,    "`mcpServers.a.url` is not an address of HTTP; expected `https://…`"),
        (r#"{"mcpServers":{"a":{"url":"https://me:${KEY}@x"}}}"#, "`mcpServers.a.url` contains a user name or password; use a header `Authorization`"),
        (r#"{"mcpServers":{"a":{"url":"https://x","headers":{"a b":"c"}}}}"#, "`mcpServers.a.headers.a b` is not a name of a header; expected one such as `X-Key`"),
        (r#"{"mcpServers":{"a":{"url":"https://x","headers":{"Host":"c"}}}}"#, "`mcpServers.a.headers.Host` is a header of the protocol, which sets it; remove it"),
        (r#"{"mcpServers":{"a":{"url":"https://x","headers":{"K":"${KEY}\n"}}}}"#, "`mcpServers.a.headers.K` has a character that no header may have; remove it"),
        (r#"{"mcpServers":{"a":{"command":"x","timeout":0}}}"#, "`mcpServers.a.timeout` is 0; expected more than 0 seconds, or milliseconds from 1,000 on"),
        (r#"{"mcpServers":{"a":{"command":"x","timeout":"5"}}}"#, "`mcpServers.a.timeout` is a string; expected a number of seconds"),
        (r#"{"mcpServers":{"a":{"command":"x","disabled":1}}}"#, "`mcpServers.a.disabled` is a number; expected `true` or `false`"),
        (r#"{"mcpServers":{"a":{"command":"x"}},"servers":{"a":{"command":"y"}}}"#, "`servers.a` occurs twice; rename one of them"),
        (r#"{"mcpServers":{"a":{"url":"https://x","oauth":{"grant":"password"}}}}"#, "`mcpServers.a.oauth.grant` must be `authorization_code` or `client_credentials`"),
        (r#"{"mcpServers":{"a":{"url":"https://x","oauth":{"clientId":"c","grant":"client_credentials"}}}}"#, "`mcpServers.a.oauth` has the grant `client_credentials` without `clientSecret`; add it"),
        (r#"{"mcpServers":{"a":{"url":"https://x","oauth":{"clientSecret":"${KEY}"}}}}"#, "`mcpServers.a.oauth` has a `clientSecret` without its `clientId`; add it"),
        (r#"{"mcpServers":{"a_b":{"command":"x"},"a":{"command":"x"}}}"#, "`mcpServers.a_b` begins with the name of the server `a` and `_`, so that their tools could be confused; rename one"),
    ];
    for (text, want) in cases {
        assert_eq!(wrong(text), want, "{text}");
    }
}

#[test]
fn values_of_variables_are_in_no_debug_text() {
    let process = server(&json!({ "command": "x", "args": ["${KEY}"], "env": { "K": "${KEY}" } }));
    assert_eq!(process.arguments, ["s3cret"]);
    let shown = format!("{process:?}");
    assert!(shown.contains('K') && !shown.contains("s3cret"), "{shown}");
    let server = server(&json!({
        "type": "streamable-http",
        "url": "https://x/?token=${KEY}",
        "headers": { "X-Key": "${KEY}" },
        "oauth": { "clientId": "it", "clientSecret": "${KEY}" },
    }));
    let shown = format!("{server:?}");
    assert!(shown.contains("X-Key") && !shown.contains("s3cret"), "{shown}");
}

/// A server at the other end of a pipe; its test reads and writes the lines.
struct Scripted {
    /// Longest wait for a line.
    patience: Duration,
    lines: tokio::io::Lines<BufReader<ReadHalf<DuplexStream>>>,
    to: WriteHalf<DuplexStream>,
}

impl Scripted {
    async fn read_line(&mut self) -> Value {
        let line = timeout(self.patience, self.lines.next_line()).await.expect("nothing was sent");
        serde_json::from_str(&line.unwrap().unwrap()).unwrap()
    }

    async fn write(&mut self, line: &str) {
        self.to.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    /// Answers the next request.
    async fn answer(&mut self, method: &str, result: Value) {
        let request = self.read_line().await;
        assert_eq!(request["method"], method);
        let answer = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result });
        self.write(&answer.to_string()).await;
    }

    /// Asks this end for something; returns the id.
    async fn ask(&mut self, id: u32, method: &str, params: Value) {
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.write(&request.to_string()).await;
    }

    async fn notify(&mut self, method: &str, params: Value) {
        let told = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        self.write(&told.to_string()).await;
    }

    /// Reads a call.
    async fn call(&mut self) -> Value {
        let request = self.read_line().await;
        assert_eq!(request["method"], "tools/call");
        request
    }

    async fn result(&mut self, request: &Value, result: Value) {
        let answer = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result });
        self.write(&answer.to_string()).await;
    }

    async fn greet(&mut self) {
        let info = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "scripted", "version": "1" },
        });
        self.answer("initialize", info).await;
        assert_eq!(self.read_line().await["method"], "notifications/initialized");
    }
}

fn pipe() -> (DuplexStream, Scripted) {
    let (ours, theirs) = tokio::io::duplex(64 << 10);
    let (from, to) = tokio::io::split(theirs);
    (ours, Scripted { patience: LONG, lines: BufReader::new(from).lines(), to })
}

async fn session(ours: DuplexStream, options: &McpOptions) -> Result<ServerSession, McpError> {
    let (output, input) = tokio::io::split(ours);
    ServerSession::over("s".into(), options, output, input, None).await
}

/// Returns a server that has greeted.
async fn greeted(members: Value) -> (McpServers, Scripted) {
    greeted_with(members, McpOptions::default()).await
}

async fn greeted_with(members: Value, options: McpOptions) -> (McpServers, Scripted) {
    let (ours, mut scripted) = pipe();
    let (session, ()) = tokio::join!(session(ours, &options), scripted.greet());
    (McpServers::with_session(server(&members), session.unwrap()), scripted)
}

fn listed(name: &str) -> Value {
    json!({ "name": name, "inputSchema": { "type": "object" } })
}

/// Returns the tools that a server lists.
async fn tools(servers: &McpServers, scripted: &mut Scripted, list: Value) -> Vec<Arc<dyn Tool>> {
    let answer = scripted.answer("tools/list", json!({ "tools": list }));
    let (tools, ()) = tokio::join!(servers.list(), answer);
    tools.unwrap()
}

fn context(cancel: &CancellationToken) -> ToolContext {
    let (events, _) = mpsc::channel(1);
    let run = RunContext::default();
    ToolContext::new(CallPlace::default(), cancel.clone(), events, SharedState::default(), run)
}

#[tokio::test]
async fn an_odd_or_forged_name_shadows_no_other_tool() {
    let (servers, mut scripted) = greeted(json!({ "command": "x" })).await;
    let list = json!([
        listed("a.b"), listed("a_b"), listed("a.b"), listed("../x"), listed("é"), listed(""),
        listed(&"x".repeat(60)), { "name": "list", "inputSchema": {} }, listed("task_completion"),
    ]);
    let tools = tools(&servers, &mut scripted, list).await;
    let names: Vec<_> = tools.iter().map(|tool| tool.name().to_owned()).collect();
    let is_plain = |name: &&String| ["mcp.s.a.b", "mcp.s.task_completion"].contains(&name.as_str());
    assert_eq!(names.iter().filter(is_plain).count(), 2, "{names:?}");
    assert!(names.iter().all(|name| name.starts_with("mcp.s.") && name.len() <= 64), "{names:?}");
    // One without a schema of an object is left out.
    assert_eq!((names.len(), servers.left_out().len()), (8, 1), "{:?}", servers.left_out());
}

// Rows: N-45
#[tokio::test]
async fn n45_a_tool_with_an_odd_name_is_called_by_its_own() {
    let own = ["notes/add", "notes_add", "notes.add", "say it", &"z".repeat(80)];
    let (servers, mut scripted) = greeted(json!({ "command": "x" })).await;
    let list = own.iter().map(|name| listed(name)).collect();
    let tools = tools(&servers, &mut scripted, list).await;
    assert_eq!(tools.len(), own.len());
    for (tool, own) in tools.iter().zip(own) {
        let call = tool.execute(ToolContext::default(), json!({}).into());
        let server = async {
            let request = scripted.call().await;
            scripted.result(&request, json!({ "content": [] })).await;
            request["params"]["name"].clone()
        };
        let (result, name) = tokio::join!(call, server);
        assert_eq!(name, own, "{}", tool.name());
        result.unwrap();
        // A person who approves reads the own name where it is another one.
        let preview = tool.preview(ToolContext::default(), json!({}).into()).await.unwrap();
        let shows_it = preview.unwrap().text.contains(&format!("{own:?}"));
        assert_eq!(shows_it, tool.name() != format!("mcp.s.{own}"), "{own}");
    }
}

// Rows: N-44
#[tokio::test(start_paused = true)]
async fn n44_an_answer_that_cannot_be_parsed_ends_its_call_at_once() {
    let content = |text: &str| format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#);
    #[rustfmt::skip]
    let rows = [
        (format!(r#""id":ID,"result":{}"#, content("half \\ud83c")), Ok("half \u{fffd}")),
        (r#""id":ID,"result":{"content":[],"structuredContent":{"mean":NaN}}"#.to_owned(), Ok(r#"{"mean":null}"#)),
        (format!(r#""id":"ID","result":{}"#, content("done")), Ok("done")),
        (format!(r#""id":ID,"error":null,"result":{}"#, content("done")), Ok("done")),
        (r#""id":ID,"error":{"code":"E_BUSY","message":"come back"}"#.to_owned(), Err("come back (code \"E_BUSY\")")),
        (r#""id":ID,"error":{"code":-32000,"message":null}"#.to_owned(), Err("the server gave no message")),
        (r#""id":ID,"result":{"content":"a text"}"#.to_owned(), Err("Unexpected response type")),
        (r#""id":ID,"result":{"content":[{"type":"text","text":"cut}]}"#.to_owned(), Err("its answer cannot be read")),
        (r#""id":null,"error":{"code":-32700,"message":"Parse error"}"#.to_owned(), Err("cannot be read and does not say to which call it belongs")),
    ];
    for (rest, want) in rows {
        let (servers, mut scripted) = greeted(json!({ "command": "x" })).await;
        let tools = tools(&servers, &mut scripted, json!([listed("f")])).await;
        let began = Instant::now();
        let call = tools[0].execute(ToolContext::default(), json!({}).into());
        let server = async {
            let id = scripted.call().await["id"].to_string();
            let line = format!(r#"{{"jsonrpc":"2.0",{}}}"#, rest.replace("ID", &id));
            scripted.write(&line).await;
        };
        let (result, ()) = tokio::join!(call, server);
        match (result, want) {
            (Ok(output), Ok(text)) => assert_eq!(output.content, text, "{rest}"),
            (Err(error), Err(words)) => {
                let error = error.to_string();
                assert!(error.contains("`s`") && error.contains(words), "{rest}: {error}");
            }
            (result, _) => panic!("{rest}: {result:?}"),
        }
        assert!(began.elapsed() < Duration::from_secs(1), "{rest}: {:?}", began.elapsed());
    }
}

#[tokio::test]
async fn hints_of_a_server_count_when_it_is_trusted() {
    let hinted = |hints: Value| json!([{ "name": "f", "inputSchema": { "type": "object" }, "annotations": hints }]);
    let cases = [
        (json!({ "readOnlyHint": true }), ToolEffects::Reads),
        (json!({ "destructiveHint": false }), ToolEffects::Writes),
        (json!({}), ToolEffects::Irreversible),
    ];
    for (hints, effects) in cases {
        for (is_trusted, want) in [(true, effects), (false, ToolEffects::Irreversible)] {
            let members = json!({ "command": "x", "trustAnnotations": is_trusted });
            let (servers, mut scripted) = greeted(members).await;
            let tools = tools(&servers, &mut scripted, hinted(hints.clone())).await;
            assert_eq!(tools[0].effects(), want, "{hints} {is_trusted}");
            assert_eq!(tools[0].origin(), TextOrigin::Outside);
        }
    }
}

#[tokio::test]
async fn results_become_text_parts_and_errors() {
    let (servers, mut scripted) = greeted(json!({ "command": "x" })).await;
    let tools = tools(&servers, &mut scripted, json!([listed("f")])).await;
    #[rustfmt::skip]
    let cases = [
        (json!({ "content": [{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }] }), Ok(("a\nb", 0))),
        (json!({ "content": [{ "type": "text", "text": "{}" }], "structuredContent": { "n": 1 } }), Ok(("{}", 0))),
        (json!({ "content": [], "structuredContent": { "n": 1 } }),                                 Ok((r#"{"n":1}"#, 0))),
        (json!({ "content": [{ "type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png" }] }),      Ok(("", 1))),
        (json!({ "content": [{ "type": "resource", "resource": { "uri": "u:1", "text": "t" } }] }), Ok(("u:1:\nt", 0))),
        (json!({ "content": [{ "type": "resource_link", "uri": "u:1", "name": "n" }] }),            Ok(("[n](u:1)", 0))),
        (json!({ "content": [{ "type": "text", "text": "no" }], "isError": true }),                 Err("no")),
        (json!({ "content": [], "isError": true }),                                                 Err("the tool failed without a message")),
    ];
    for (result, want) in cases {
        let call = tools[0].execute(ToolContext::default(), json!({ "a": 1 }).into());
        let (got, ()) = tokio::join!(call, scripted.answer("tools/call", result.clone()));
        let got = got
            .map(|output| (output.content, output.parts.len()))
            .map_err(|error| error.to_string());
        assert_eq!(
            got,
            want.map(|(text, parts)| (text.to_owned(), parts)).map_err(str::to_owned),
            "{result}"
        );
    }
}

#[tokio::test]
async fn a_file_of_a_server_is_one_that_models_read_or_a_note_and_never_an_address() {
    let (servers, mut scripted) = greeted(json!({ "command": "x" })).await;
    let tools = tools(&servers, &mut scripted, json!([listed("f")])).await;
    let image = |kind: &str, data: &str| json!({ "type": "image", "data": data, "mimeType": kind });
    let blob = |kind: Option<&str>, data: &str| {
        let mut resource = json!({ "uri": "u:1", "blob": data });
        if let Some(kind) = kind {
            resource["mimeType"] = kind.into();
        }
        json!({ "type": "resource", "resource": resource })
    };
    #[rustfmt::skip]
    let cases = [
        (image("image/png", "iVBORw0KGgo="),          "", 1),
        (image("image/png", "https://10.0.0.1/x.png"), "[picture left out: image/png, 22 bytes; its data are not base64]", 0),
        (image("image/png", "gs://bucket/x.png"),     "[picture left out: image/png, 17 bytes; its data are not base64]", 0),
        (image("image/svg+xml", "PHN2Zy8+"),          "[picture left out: image/svg+xml, 6 bytes; models accept PNG, JPEG, GIF and WebP]", 0),
        (blob(None, "aGk="),                          "[document left out: application/octet-stream, 2 bytes; models accept PDF and text]", 0),
        (blob(None, "iVBORw0KGgo="),                  "", 1),
        (blob(Some("image/png"), "https://x/y.png"),  "[picture left out: image/png, 15 bytes; its data are not base64]", 0),
        (blob(Some("application/pdf"), "JVBERi0="),   "", 1),
        (blob(Some("application/pdf"), "https://x/y"), "[document left out: application/pdf, 11 bytes; its data are not base64]", 0),
        (blob(Some("text/plain"), "aGk="),            "u:1:\nhi", 0),
        (blob(Some("text/plain"), "/w=="),            "[document left out: text/plain, 1 bytes; its type is text, but it is not UTF-8]", 0),
    ];
    for (block, text, parts) in cases {
        let call = tools[0].execute(ToolContext::default(), json!({}).into());
        let answer = scripted.answer("tools/call", json!({ "content": [block] }));
        let (got, ()) = tokio::join!(call, answer);
        let got = got.unwrap();
        assert_eq!((got.content.as_str(), got.parts.len()), (text, parts), "{block}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_is_a_typed_error() {
    let (ours, _silent) = pipe();
    let error = session(ours, &McpOptions::default()).await.unwrap_err();
    assert!(matches!(error, McpError::TimedOut { request: "initialize", .. }), "{error}");
    let (servers, _silent) = greeted(json!({ "command": "x", "required": true })).await;
    let error = servers.list().await.err().unwrap();
    assert!(matches!(error, McpError::TimedOut { request: "tools/list", .. }), "{error}");
    assert!(error.to_string().contains("`s`"), "{error}");
}

#[tokio::test]
async fn garbage_and_endless_lines_are_skipped() {
    let (servers, mut scripted) = greeted(json!({ "command": "x" })).await;
    let answer = async {
        scripted.write("npm warn: not JSON\n\n{\"jsonrpc\":").await;
        scripted.write(&"x".repeat(10 << 20)).await;
        scripted.answer("tools/list", json!({ "tools": [listed("f")] })).await;
    };
    let (tools, ()) = tokio::join!(servers.list(), answer);
    assert_eq!(tools.unwrap().len(), 1);
}

#[tokio::test]
async fn lists_have_a_bound() {
    let (servers, mut scripted) = greeted(json!({ "command": "x", "required": true })).await;
    let endless = async {
        for page in 0..11 {
            let tools: Vec<_> = (0..100).map(|at| listed(&format!("f{page}-{at}"))).collect();
            scripted.answer("tools/list", json!({ "tools": tools, "nextCursor": "on" })).await;
        }
    };
    let (tools, ()) = tokio::join!(servers.list(), endless);
    assert!(matches!(tools, Err(McpError::TooManyTools { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_ends_at_once_and_the_server_hears_of_it() {
    let (servers, mut scripted) = greeted(json!({ "command": "x" })).await;
    let tools = tools(&servers, &mut scripted, json!([listed("f")])).await;
    let cancel = CancellationToken::new();
    let call = tokio::spawn(tools[0].execute(context(&cancel), json!({}).into()));
    let request = scripted.read_line().await;
    let began = Instant::now();
    cancel.cancel();
    let result = timeout(LONG, call).await.expect("the call goes on").unwrap();
    assert_eq!(result, Err(ToolError::cancelled(false)));
    assert!(began.elapsed() < Duration::from_millis(50));
    let told = scripted.read_line().await;
    assert_eq!(told["method"], "notifications/cancelled");
    assert_eq!(told["params"]["requestId"], request["id"]);
}

#[tokio::test]
async fn a_dropped_call_is_cancelled_at_the_server() {
    let (servers, mut scripted) = greeted(json!({ "command": "x" })).await;
    let tools = tools(&servers, &mut scripted, json!([listed("f")])).await;
    let call = tokio::spawn(tools[0].execute(ToolContext::default(), json!({}).into()));
    let request = scripted.read_line().await;
    call.abort();
    let told = scripted.read_line().await;
    assert_eq!(told["method"], "notifications/cancelled");
    assert_eq!(told["params"]["requestId"], request["id"]);
}

#[tokio::test]
async fn a_call_whose_answer_is_too_long_ends_with_the_server_and_the_limit() {
    let (servers, mut scripted) = greeted(json!({ "command": "x" })).await;
    let tools = tools(&servers, &mut scripted, json!([listed("f")])).await;
    let call = tools[0].execute(ToolContext::default(), json!({}).into());
    let answer = async {
        scripted.read_line().await;
        scripted.write(&"x".repeat(10 << 20)).await;
    };
    let ended = timeout(LONG, async { tokio::join!(call, answer) });
    let (result, ()) = ended.await.expect("the call goes on");
    let error = result.unwrap_err().to_string();
    assert!(error.contains("`s`") && error.contains("8388608 bytes"), "{error}");
    assert_eq!(scripted.read_line().await["method"], "notifications/cancelled");
    // A line that is as long as it may be is an answer, and the server is still of use.
    let text = "y".repeat((8 << 20) - 200);
    let call = tools[0].execute(ToolContext::default(), json!({}).into());
    let content = json!({ "content": [{ "type": "text", "text": text }] });
    let (result, ()) = tokio::join!(call, scripted.answer("tools/call", content));
    assert_eq!(result.unwrap().content.len(), text.len());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_lists_nothing_in_time_is_started_again() {
    let (servers, _silent) = greeted(json!({ "command": "/no/such", "required": true })).await;
    assert!(matches!(servers.list().await.err(), Some(McpError::TimedOut { .. })));
    assert!(matches!(servers.list().await.err(), Some(McpError::NotStarted { .. })));
}

#[tokio::test]
async fn a_server_that_ends_in_a_call_is_an_error_that_names_it() {
    let (servers, mut scripted) = greeted(json!({ "command": "x" })).await;
    let tools = tools(&servers, &mut scripted, json!([listed("f")])).await;
    let call = tokio::spawn(tools[0].execute(ToolContext::default(), json!({}).into()));
    scripted.read_line().await;
    drop(scripted);
    let error = call.await.unwrap().unwrap_err().to_string();
    assert_eq!(error, "the MCP server `s` has ended; it is started again when it is needed");
}

#[tokio::test]
async fn a_person_is_asked_before_a_call_reaches_the_server() {
    let (servers, mut scripted) = greeted(json!({ "command": "x" })).await;
    let turn = ScriptedTurn::new().call("mcp.s.f", json!({}));
    let provider = ScriptedProvider::new([turn, ScriptedTurn::new().text("Ok.")]);
    let other = tool_fn("other", "Does nothing.", |_: ToolContext, (): ()| async { "" });
    let agent = Agent::builder(provider.clone())
        .tool(other)
        .tool_source(servers)
        .build()
        .unwrap()
        .conversation();
    let answer = scripted.answer("tools/list", json!({ "tools": [listed("f")] }));
    let (outcome, ()) = tokio::join!(agent.run("Do it."), answer);
    assert_eq!(outcome.unwrap().text, "Ok.");
    let requests = provider.requests();
    let results: Vec<&ToolResult> =
        requests[1].messages.iter().flat_map(|message| message.tool_results()).collect();
    assert!(matches!(&*results, [result] if result.is_error), "{results:?}");
    drop(agent);
    // Nothing of the call has been written.
    assert_eq!(scripted.lines.next_line().await.unwrap(), None);
}
