//! Tools that a request brings along: they run at the client that sent it.

use std::sync::Arc;

use futures_util::future::{BoxFuture, ready};
use serde::Deserialize;
use serde_json::Value;

use super::Problem;
use crate::{
    agent::{
        RunContext, ToolSource,
        tools::{ClientTool, Tool},
    },
    types::{AgentError, Text},
};

/// Most tools of a request.
const MAX_TOOLS: usize = 128;

/// Longest description and schema of a tool of a request together, in bytes.
const MAX_TOOL_BYTES: usize = 16 << 10;

/// A tool as a request describes it.
#[derive(Debug, Deserialize)]
pub(super) struct Offered {
    name: Text,
    #[serde(default)]
    description: String,
    parameters: Option<Value>,
}

/// The tools of a request.
#[derive(Default)]
pub(super) struct ClientTools(Vec<Arc<dyn Tool>>);

impl ClientTools {
    pub(super) fn new(offered: Vec<Offered>) -> Result<Arc<Self>, Problem> {
        if offered.len() > MAX_TOOLS {
            return Err(Problem::bad(format!("a request has at most {MAX_TOOLS} tools")));
        }
        let tool = |Offered { name, description, parameters }| {
            let parameters = parameters.unwrap_or_else(|| serde_json::json!({ "type": "object" }));
            if description.len() + parameters.to_string().len() > MAX_TOOL_BYTES {
                let detail = format!(
                    "the description and schema of the tool `{name}` have more than {MAX_TOOL_BYTES} bytes"
                );
                return Err(Problem::bad(detail));
            }
            Ok(Arc::new(ClientTool::new(name, description, parameters)) as Arc<dyn Tool>)
        };
        let tools: Result<_, _> = offered.into_iter().map(tool).collect();
        Ok(Arc::new(Self(tools?)))
    }
}

/// The source of the tools of requests, for each agent of a service.
#[derive(Debug)]
pub(super) struct OfRequest;

impl ToolSource for OfRequest {
    fn tools(&self, run: RunContext) -> BoxFuture<'static, Result<Vec<Arc<dyn Tool>>, AgentError>> {
        let tools = run.state::<ClientTools>().map(|tools| tools.0.clone()).unwrap_or_default();
        Box::pin(ready(Ok(tools)))
    }

    // A name that is taken is the agent's own tool.
    fn is_optional(&self) -> bool {
        true
    }
}
