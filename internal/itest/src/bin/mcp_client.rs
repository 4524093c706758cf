//! The client that the conformance suite of MCP tests: it calls each tool of the server whose address is the last
//! argument, by the public means of the library.
#![expect(clippy::print_stderr, reason = "the suite keeps what it says")]

use std::{env, error::Error, future::ready};

use forgeline::{
    agent::{
        Agent,
        approval::ApprovalPolicy,
        mcp::{
            McpConfig, McpLogin, McpLoginError, McpLogins, McpOptions, McpQuestion, McpServers,
            MemoryTokens,
        },
    },
    llm::{
        Request, ToolSpec,
        transport::{HttpRequest, HttpTransport, Transport as _},
    },
    testing::{ScriptedProvider, ScriptedTurn},
    types::{MessageRole, ToolAnswer},
};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

/// The address to which logins are sent back; nothing listens there.
const REDIRECT: &str = "http://127.0.0.1:39117/callback";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = env::args().next_back().ok_or("the address of the server is missing")?;
    let context = env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context: Value = serde_json::from_str(&context).unwrap_or_default();
    let mut oauth = Map::new();
    for (name, member) in [("clientId", "client_id"), ("clientSecret", "client_secret")] {
        oauth.extend(context.get(member).map(|value| (name.to_owned(), value.clone())));
    }
    if env::var("MCP_CONFORMANCE_SCENARIO").is_ok_and(|it| it == "auth/client-credentials-basic") {
        oauth.insert("grant".to_owned(), json!("client_credentials"));
    }
    oauth.insert(
        "clientMetadataUrl".to_owned(),
        json!("https://conformance-test.local/client-metadata.json"),
    );
    let server = json!({ "type": "http", "url": url, "required": true, "oauth": oauth });
    let config = McpConfig::parse(&json!({ "mcpServers": { "s": server } }).to_string())?;
    let yes = || ToolAnswer::accept(json!({}).into());
    let options = McpOptions::default()
        .logins(Automatic(HttpTransport::new()?))
        .token_store(MemoryTokens::new())
        .respondent(move |_: McpQuestion| ready(Some(yes())));
    let servers = McpServers::connect_with(config, options).await?;
    let turn = move |request: &Request| turn(request, &context);
    let agent = Agent::builder(ScriptedProvider::from_fn(turn))
        .tool_source(servers.clone())
        .approval(ApprovalPolicy::Never)
        .build()?
        .conversation();
    let outcome = agent.run("Call each tool.").await?;
    eprintln!("{:?}", outcome.reason);
    for message in &agent.transcript() {
        for result in message.tool_results() {
            eprintln!("{result:?}");
        }
    }
    servers.close().await;
    Ok(())
}

/// Makes the calls that the suite names, or else calls each tool once, and ends.
fn turn(request: &Request, context: &Value) -> ScriptedTurn {
    let turn = ScriptedTurn::new();
    if request.messages.iter().any(|message| message.role == MessageRole::Assistant) {
        return turn.text("Done.");
    }
    if let Some(calls) = context.get("toolCalls").and_then(Value::as_array) {
        return calls.iter().fold(turn, |turn, call| {
            let name = call["name"].as_str().unwrap_or_default();
            let mut arguments = call["arguments"].clone();
            // A member that is null is one that is left out.
            if let Some(members) = arguments.as_object_mut() {
                members.retain(|_, value| !value.is_null());
            }
            turn.call(&format!("mcp.s.{name}"), arguments)
        });
    }
    if request.tools.is_empty() {
        return turn.text("No tools.");
    }
    let first = request.tools.first().map(|tool| tool.parameters.clone()).unwrap_or_default();
    request.tools.iter().fold(turn, |turn, tool| turn.call(&tool.name, arguments(tool, &first)))
}

/// Returns arguments that the schema takes; where one is asked for, the schema of another tool as it arrived.
fn arguments(tool: &ToolSpec, first: &Value) -> Value {
    let members = tool.parameters.get("properties").and_then(Value::as_object);
    let pair = |(name, schema): (&String, &Value)| {
        let value = if name == "schema" { first.clone() } else { example(schema) };
        (name.clone(), value)
    };
    Value::Object(members.into_iter().flatten().map(pair).collect())
}

fn example(schema: &Value) -> Value {
    let first = |name: &str| schema.get(name).and_then(Value::as_array).and_then(|it| it.first());
    if let Some(value) = schema.get("default").or_else(|| first("enum")) {
        return value.clone();
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("integer" | "number") => json!(2),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => json!("text"),
    }
}

/// A person who always says yes, with a browser that shows nothing.
struct Automatic(HttpTransport);

impl McpLogins for Automatic {
    fn begin(&self, _server: &str) -> BoxFuture<'static, Result<Box<dyn McpLogin>, McpLoginError>> {
        let login = Automatic(self.0.clone());
        Box::pin(async { Ok(Box::new(login) as Box<dyn McpLogin>) })
    }
}

impl McpLogin for Automatic {
    fn redirect_uri(&self) -> String {
        REDIRECT.to_owned()
    }

    fn answer(self: Box<Self>, page: &str) -> BoxFuture<'static, Result<String, McpLoginError>> {
        let page = self.0.send(HttpRequest::new("GET", page));
        Box::pin(async {
            let answer = page.await.map_err(|error| McpLoginError::new(error.to_string()))?;
            let to = answer.header("location").map(str::to_owned);
            to.ok_or_else(|| McpLoginError::new("the page leads nowhere"))
        })
    }
}
