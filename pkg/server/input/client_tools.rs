//! Tools sent with a request, which run at the client that sent them.

use std::sync::Arc;

use futures_util::future::{BoxFuture, ready};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Problem;
use forgeline_agent::{
    Agent,
    run::RunContext,
    tools::{ClientTool, RegistryError, Tool, ToolRegistry, ToolSource},
};
use forgeline_llm::ToolSpec;
use forgeline_types::{AgentError, Text, private::clipped};

/// Maximum number of tools of a request.
const MAX_TOOLS: usize = 128;

/// Maximum length of the description and schema of a tool of a request together, in bytes.
const MAX_TOOL_BYTES: usize = 16 << 10;

/// Maximum length of the name of a tool of a request, in bytes; the same as for every tool.
const MAX_NAME_BYTES: usize = 64;

/// Maximum length of the message about a tool that cannot be offered, in characters.
const MAX_TOLD: usize = 300;

/// A tool as described by a request.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub(crate) struct OfferedTool {
    name: Text,
    #[serde(default)]
    description: String,
    parameters: Option<Value>,
}

/// The tools of a request.
#[derive(Default)]
pub(crate) struct ClientTools {
    tools: Vec<Arc<dyn Tool>>,
    offered: Vec<OfferedTool>,
}

impl ClientTools {
    /// Returns the tools of a request; if one of them cannot be offered, none are.
    ///
    /// # Errors
    ///
    /// Returns a problem that names the tool that cannot be offered.
    pub(crate) fn new(offered: Vec<OfferedTool>) -> Result<Arc<Self>, Problem> {
        if offered.len() > MAX_TOOLS {
            let detail = format!(
                "a request may have at most {MAX_TOOLS} tools; this one has {}",
                offered.len()
            );
            return Err(Problem::bad(detail));
        }
        let (mut tools, mut registry) = (Vec::new(), ToolRegistry::default());
        for one in &offered {
            tools.push(one.tool(&mut registry)?);
        }
        Ok(Arc::new(Self { tools, offered }))
    }

    /// Returns the tools as the request described them.
    pub(crate) fn offered(&self) -> &[OfferedTool] {
        &self.offered
    }

    /// Returns the tools of a kept request, except those that can no longer be offered.
    pub(super) fn of_stored(offered: Vec<OfferedTool>) -> Arc<Self> {
        let mut registry = ToolRegistry::default();
        let tools = offered.iter().filter_map(|one| one.tool(&mut registry).ok()).collect();
        Arc::new(Self { tools, offered })
    }

    /// Refuses a tool that has the name of one of the agent's own tools.
    pub(crate) fn check_beside(&self, agent: &Agent) -> Result<(), Problem> {
        let wire = |name: &str| name.replace('.', "_");
        let is_own = |tool: &&Arc<dyn Tool>| {
            agent.own_tools().any(|(own, _)| wire(own.name()) == wire(tool.name()))
        };
        let Some(taken) = self.tools.iter().find(is_own) else { return Ok(()) };
        let detail = format!(
            "the tool `{}` of the request has the name of a tool of the agent; rename it",
            taken.name()
        );
        Err(Problem::bad(detail))
    }
}

impl OfferedTool {
    /// Returns the tool of a request to a model.
    pub(crate) fn of_spec(spec: &ToolSpec) -> Self {
        let ToolSpec { name, description, parameters, .. } = spec;
        let (description, parameters) = (description.clone(), Some(Value::clone(parameters)));
        Self { name: name.clone(), description, parameters }
    }

    /// Returns the tool, after checking that it does not conflict with those before it.
    fn tool(&self, registry: &mut ToolRegistry) -> Result<Arc<dyn Tool>, Problem> {
        let Self { name, description, parameters } = self;
        if name.len() > MAX_NAME_BYTES {
            let detail = format!(
                "the name of the tool `{}` of the request has {} bytes; expected at most {MAX_NAME_BYTES}",
                clipped(name, MAX_NAME_BYTES / 2),
                name.len()
            );
            return Err(Problem::bad(detail));
        }
        let parameters = schema(parameters.as_ref());
        if description.len() + parameters.to_string().len() > MAX_TOOL_BYTES {
            let detail = format!(
                "the description and schema of tool `{name}` have more than {MAX_TOOL_BYTES} bytes"
            );
            return Err(Problem::bad(detail));
        }
        let tool = ClientTool::new(name.clone(), description.as_str(), parameters);
        let tool: Arc<dyn Tool> = Arc::new(tool);
        let refused = |error: RegistryError| {
            let told = error.to_string();
            Problem::bad(format!("invalid tool of the request: {}", clipped(&told, MAX_TOLD)))
        };
        registry.register(Arc::clone(&tool)).map_err(refused)?;
        Ok(tool)
    }
}

/// Returns the schema of the arguments; a schema without a type becomes that of an object.
fn schema(parameters: Option<&Value>) -> Value {
    let mut schema = parameters.cloned().unwrap_or_else(|| Value::Object(Map::new()));
    if let Value::Object(members) = &mut schema
        && !members.contains_key("$ref")
    {
        members.entry("type").or_insert_with(|| "object".into());
    }
    schema
}

/// The source of the tools of requests, for every agent of a service.
#[derive(Debug)]
pub(crate) struct RequestToolSource;

impl ToolSource for RequestToolSource {
    fn tools(&self, run: RunContext) -> BoxFuture<'static, Result<Vec<Arc<dyn Tool>>, AgentError>> {
        let tools = run.state::<ClientTools>().map(|own| own.tools.clone()).unwrap_or_default();
        Box::pin(ready(Ok(tools)))
    }

    // A name that is taken belongs to a tool that another source found.
    fn is_optional(&self) -> bool {
        true
    }
}
