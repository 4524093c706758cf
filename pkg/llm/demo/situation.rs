//! The demo model's reading of a request: the tools, the task, and the steps so far.

use std::sync::Arc;

use serde_json::Value;

use crate::{Request, ToolChoice};
use forgeline_types::{Message, MessageRole, Part};

/// The start of the agent's message with the results of text calls.
const RESULTS: &str = "Results of the tool calls:";
/// The start of the agent's request for the answer at its limit of turns.
const ANSWER_NOW: &str = "The limit of turns is reached";
/// The start of the agent's message about an answer without a call.
const NO_CALL: &str = "Your answer called no tool.";

/// The tool that finds other tools.
pub(super) const TOOL_SEARCH: &str = "tool_search";

/// A request, as the demo model understands it.
#[derive(Debug, Default)]
pub(super) struct DemoSituation {
    /// The tools that may be called.
    pub(super) tools: Vec<KnownTool>,
    /// The user's request.
    pub(super) task: String,
    /// The calls that have results, in order.
    pub(super) steps: Vec<DoneStep>,
    /// The agent's demand in addition to the task.
    pub(super) urge: AgentDemand,
    /// `true` if calls go into the native fields.
    pub(super) native: bool,
}

/// A demand made by the agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum AgentDemand {
    /// No demand.
    #[default]
    None,
    /// The answer, without further calls.
    Answer,
    /// A call instead of a plain answer.
    Call,
}

#[derive(Debug)]
pub(super) struct KnownTool {
    pub(super) name: String,
    pub(super) parameters: Arc<Value>,
}

/// A call that has a result.
#[derive(Debug, Default)]
pub(super) struct DoneStep {
    pub(super) name: String,
    pub(super) result: String,
    pub(super) is_error: bool,
}

impl DemoSituation {
    pub(super) fn from_request(request: &Request) -> Self {
        let native = !request.tools.is_empty();
        let mut situation = Self { native, tools: tools(request), ..Self::default() };
        if request.tool_choice == Some(ToolChoice::None) {
            situation.urge = AgentDemand::Answer;
        }
        for message in &request.messages {
            situation.hear(message);
        }
        for step in situation.steps.iter().filter(|step| step.name == TOOL_SEARCH) {
            situation.tools.extend(described(&step.result));
        }
        situation
    }

    fn hear(&mut self, message: &Message) {
        for result in message.tool_results() {
            self.steps.push(DoneStep {
                name: result.name.to_string(),
                result: result.content.clone(),
                is_error: result.is_error,
            });
        }
        if message.role != MessageRole::User {
            return;
        }
        let text = message.text();
        if text.starts_with(RESULTS) {
            self.steps.extend(results(&text));
        } else if text.starts_with(ANSWER_NOW) {
            self.urge = AgentDemand::Answer;
        } else if text.starts_with(NO_CALL) {
            self.urge = AgentDemand::Call;
        } else if message.parts.iter().any(|part| matches!(part, Part::Text { .. })) {
            self.task = text;
            self.steps.clear();
        }
    }

    /// Returns `true` if a tool of this name may be called.
    pub(super) fn has(&self, name: &str) -> bool {
        self.urge != AgentDemand::Answer && self.tools.iter().any(|tool| tool.name == name)
    }

    /// Returns the last call of a tool, with its result.
    pub(super) fn result_of(&self, name: &str) -> Option<&DoneStep> {
        self.steps.iter().rev().find(|step| step.name == name)
    }
}

/// Returns the native tools and those that the system prompt describes, one JSON object per line.
fn tools(request: &Request) -> Vec<KnownTool> {
    let native = request.tools.iter().map(|spec| KnownTool {
        name: spec.name.to_string(),
        parameters: Arc::clone(&spec.parameters),
    });
    native.chain(described(request.system.as_deref().unwrap_or_default())).collect()
}

/// Returns the tools described in a text, one JSON object per line.
fn described(text: &str) -> impl Iterator<Item = KnownTool> {
    text.lines().filter(|line| line.starts_with('{')).filter_map(|line| {
        let mut tool: Value = serde_json::from_str(line).ok()?;
        let name = tool.get("name")?.as_str()?.to_owned();
        Some(KnownTool { name, parameters: tool.get_mut("parameters")?.take().into() })
    })
}

/// Returns the results in the agent's message.
fn results(text: &str) -> Vec<DoneStep> {
    let mut steps = Vec::new();
    let mut rest = text;
    while let Some((_, block)) = rest.split_once("<tool_result name=\"") {
        let Some((name, block)) = block.split_once("\" outcome=\"") else { break };
        let Some((outcome, block)) = block.split_once("\">\n") else { break };
        let (result, tail) = block.split_once("\n</tool_result>").unwrap_or((block, ""));
        steps.push(DoneStep {
            name: name.to_owned(),
            result: result.to_owned(),
            is_error: outcome != "ok",
        });
        rest = tail;
    }
    steps
}
