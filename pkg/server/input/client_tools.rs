//! Tools sent with a request, which run at the client that sent them.

use std::sync::Arc;

use futures_util::future::{BoxFuture, ready};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::pending::{
    JournaledAnswers, MessageCounts, PendingAnswer, PendingAnswers, QueuedMessage, QueuedMessages,
};
use crate::Problem;
use forgeline_agent::{
    DefaultAgent, RunContext, RunInput, ToolSource,
    tools::{ClientTool, RegistryError, Tool, ToolRegistry},
};
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

    /// Returns the tools of a kept request, except those that can no longer be offered.
    fn of_kept(offered: Vec<OfferedTool>) -> Arc<Self> {
        let mut registry = ToolRegistry::default();
        let tools = offered.iter().filter_map(|one| one.tool(&mut registry).ok()).collect();
        Arc::new(Self { tools, offered })
    }

    /// Refuses a tool that has the name of one of the agent's own tools.
    pub(crate) fn check_beside(&self, agent: &DefaultAgent) -> Result<(), Problem> {
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

/// The part of a request kept until its run has ended: a process that resumes the run needs it.
#[derive(Debug, Deserialize, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
struct StoredRequest {
    input: String,
    #[serde(default)]
    tools: Vec<OfferedTool>,
    #[serde(default, skip_serializing_if = "QueuedMessages::is_empty")]
    said: QueuedMessages,
    #[serde(default, skip_serializing_if = "PendingAnswers::is_empty")]
    answers: PendingAnswers,
    /// `true` once the user has cancelled the run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_cancelled: bool,
    /// `true` once the user has moved on to something else: the answers are given, and other requests of the run are refused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_left: bool,
}

impl StoredRequest {
    fn new(input: String, tools: Vec<OfferedTool>) -> Self {
        let (said, answers) = (QueuedMessages::default(), PendingAnswers::default());
        Self { input, tools, said, answers, is_cancelled: false, is_left: false }
    }

    fn parse(kept: &str) -> Self {
        serde_json::from_str(kept).unwrap_or_else(|_| Self::new(kept.to_owned(), Vec::new()))
    }
}

/// Returns an input and the tools sent with it, in the form in which they are kept.
pub(crate) fn keep(input: &RunInput, tools: Option<&ClientTools>) -> serde_json::Result<String> {
    let input = input.to_json()?;
    match tools.map(|tools| tools.offered.clone()).filter(|tools| !tools.is_empty()) {
        Some(tools) => serde_json::to_string(&StoredRequest::new(input, tools)),
        None => Ok(input),
    }
}

/// Returns the kept request with one more message, given the counts in the run's journal; `None` if it cannot be serialized.
pub(crate) fn keep_word(
    kept: &str,
    word: QueuedMessage,
    journaled: MessageCounts,
) -> Option<String> {
    let mut kept = StoredRequest::parse(kept);
    kept.said.add(word, journaled);
    serde_json::to_string(&kept).ok()
}

/// Returns the kept request with more answers, given those in the run's journal, and the approximate size of all kept answers in bytes; `None` if it
/// cannot be serialized.
pub(crate) fn keep_answers(
    kept: &str,
    answers: &[PendingAnswer],
    journaled: &JournaledAnswers,
) -> Option<(String, usize)> {
    let mut kept = StoredRequest::parse(kept);
    kept.answers.add(answers, journaled);
    Some((serde_json::to_string(&kept).ok()?, kept.answers.bytes()))
}

/// Returns the kept request of a run that the user has cancelled; `None` if it cannot be serialized.
pub(crate) fn keep_cancelled(kept: &str) -> Option<String> {
    serde_json::to_string(&StoredRequest { is_cancelled: true, ..StoredRequest::parse(kept) }).ok()
}

/// Returns the kept request of a run that the user has left for something else; `None` if it cannot be serialized.
pub(crate) fn keep_left(kept: &str) -> Option<String> {
    serde_json::to_string(&StoredRequest { is_left: true, ..StoredRequest::parse(kept) }).ok()
}

/// Returns `true` for a run that the user has left for something else.
pub(crate) fn is_left(kept: &str) -> bool {
    serde_json::from_str(kept).is_ok_and(|StoredRequest { is_left, .. }| is_left)
}

/// Returns `true` for a run that the user has cancelled.
pub(crate) fn is_cancelled(kept: &str) -> bool {
    serde_json::from_str(kept).is_ok_and(|StoredRequest { is_cancelled, .. }| is_cancelled)
}

/// Returns the answers in a kept request.
pub(crate) fn kept_answers(kept: &str) -> PendingAnswers {
    serde_json::from_str(kept).map(|StoredRequest { answers, .. }| answers).unwrap_or_default()
}

/// Returns the messages in a kept request.
pub(crate) fn kept_words(kept: &str) -> QueuedMessages {
    serde_json::from_str(kept).map(|StoredRequest { said, .. }| said).unwrap_or_default()
}

/// Returns the input in a kept request; `None` if it cannot be read.
pub(crate) fn kept_input(kept: &str) -> Option<RunInput> {
    let Ok(StoredRequest { input, .. }) = serde_json::from_str(kept) else {
        return RunInput::from_json(kept).ok();
    };
    let input = RunInput::from_json(&input).ok()?;
    Some(match kept_tools(kept) {
        Some(tools) => input.state(tools),
        None => input,
    })
}

/// Returns the tools in a kept request, if any.
pub(crate) fn kept_tools(kept: &str) -> Option<Arc<ClientTools>> {
    let StoredRequest { tools, .. } = serde_json::from_str(kept).ok()?;
    if tools.is_empty() { None } else { Some(ClientTools::of_kept(tools)) }
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
