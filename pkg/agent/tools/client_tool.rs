//! Tools that run at the client.

use std::fmt;

use schemars::JsonSchema;
use serde_json::Value;

use super::{Tool, ToolContext, ToolEffects, ToolError, ToolFuture, ToolPlace};
use crate::run::Surface;
use forgeline_llm::private::schema_of;
use forgeline_types::{Json, Text, setters};

/// A tool whose calls run at the client, such as the page that the user sees.
///
/// A call is the event [`ClientToolRequest`](forgeline_types::AgentEvent::ClientToolRequest); a reader of the events gives the result through
/// [`ClientCalls`](crate::steering::ClientCalls). The run waits for at most [`client_timeout`](crate::config::AgentConfig::client_timeout). If no one can
/// answer, as in [`Agent::run`](crate::Agent::run), the call is not run and the model is informed.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use forgeline::{
///     agent::{Agent, tools::ClientTool},
///     testing::{ScriptedProvider, ScriptedTurn},
///     types::AgentEvent,
/// };
/// use serde_json::json;
///
/// #[derive(schemars::JsonSchema)]
/// struct Read {
///     /// The element, as a CSS selector.
///     selector: String,
/// }
///
/// let turn = ScriptedTurn::new().call("page.read", json!({ "selector": "#total" }));
/// let provider = ScriptedProvider::new([turn, ScriptedTurn::new().text("It is 42.")]);
/// let tool = ClientTool::typed::<Read>("page.read", "Reads an element of the page.");
/// let agent = Agent::builder(provider).tool(tool).build()?;
/// let mut stream = agent.run_stream("What is the total?");
/// while let Some(envelope) = stream.next().await {
///     if let AgentEvent::ClientToolRequest(request) = envelope.event {
///         assert_eq!(request.arguments.as_str(), r##"{"selector":"#total"}"##);
///         stream.complete_client_call(&request.client_call_id, "42")?;
///     }
/// }
/// assert_eq!(stream.outcome().await?.text, "It is 42.");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub struct ClientTool {
    name: Text,
    description: String,
    schema: Value,
    module: Option<Text>,
    permission: Option<Text>,
    surface: Option<Surface>,
    effects: ToolEffects,
    may_repeat: bool,
    runs_alone: bool,
}

impl ClientTool {
    /// Returns a tool with this JSON schema of its arguments.
    #[must_use]
    pub fn new(name: impl Into<Text>, description: impl Into<String>, schema: Value) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            schema,
            module: None,
            permission: None,
            surface: Some(Surface::FullPage),
            effects: ToolEffects::default(),
            may_repeat: false,
            runs_alone: false,
        }
    }

    /// Returns a tool whose schema is derived from the type of its arguments.
    #[must_use]
    pub fn typed<A: JsonSchema>(name: impl Into<Text>, description: impl Into<String>) -> Self {
        Self::new(name, description, schema_of::<A>())
    }

    setters! {
        ClientTool:
        /// Says which module of the application the tool belongs to; see [`Tool::module`].
        module(some into Text),
        /// Says which permission a caller needs; see [`Tool::permission`].
        permission(some into Text),
        /// Says on which surface alone the tool is offered; see [`Tool::surface`].
        surface(into Option<Surface>),
        /// Says what calls change; see [`Tool::effects`].
        effects(ToolEffects),
        /// Says whether a model may make the same call again and again; see [`Tool::may_repeat`].
        may_repeat(bool),
        /// Says whether each call runs beside no other of the same response; see [`Tool::runs_alone`].
        runs_alone(bool),
    }
}

impl Tool for ClientTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn schema(&self) -> Value {
        self.schema.clone()
    }

    fn runs_alone(&self) -> bool {
        self.runs_alone
    }

    fn may_repeat(&self) -> bool {
        self.may_repeat
    }

    fn place(&self) -> ToolPlace {
        ToolPlace::Client
    }

    fn module(&self) -> Option<&str> {
        self.module.as_deref()
    }

    fn permission(&self) -> Option<&str> {
        self.permission.as_deref()
    }

    fn surface(&self) -> Option<Surface> {
        self.surface
    }

    fn effects(&self) -> ToolEffects {
        self.effects
    }

    fn execute(&self, _context: ToolContext, _arguments: Json) -> ToolFuture {
        let error = ToolError::failed("this tool runs at the client; call it through an agent");
        Box::pin(std::future::ready(Err(error)))
    }
}

impl fmt::Debug for ClientTool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ClientTool").field("name", &self.name).finish_non_exhaustive()
    }
}
