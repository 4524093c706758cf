//! Tools that a request brings along: they run at the client that sent it.

use std::sync::Arc;

use futures_util::future::{BoxFuture, ready};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Problem,
    words::{Answer, Answered, Answers, Counts, Word, Words},
};
use crate::{
    agent::{
        RunContext, RunInput, ToolSource,
        tools::{ClientTool, Tool},
    },
    types::{AgentError, Text},
};

/// Most tools of a request.
const MAX_TOOLS: usize = 128;

/// Longest description and schema of a tool of a request together, in bytes.
const MAX_TOOL_BYTES: usize = 16 << 10;

/// A tool as a request describes it.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct Offered {
    name: Text,
    #[serde(default)]
    description: String,
    parameters: Option<Value>,
}

/// The tools of a request.
#[derive(Default)]
pub(super) struct ClientTools {
    tools: Vec<Arc<dyn Tool>>,
    offered: Vec<Offered>,
}

impl ClientTools {
    pub(super) fn new(offered: Vec<Offered>) -> Result<Arc<Self>, Problem> {
        if offered.len() > MAX_TOOLS {
            return Err(Problem::bad(format!("a request has at most {MAX_TOOLS} tools")));
        }
        let tool = |Offered { name, description, parameters }: Offered| {
            let parameters = parameters.unwrap_or_else(|| serde_json::json!({ "type": "object" }));
            if description.len() + parameters.to_string().len() > MAX_TOOL_BYTES {
                let detail = format!(
                    "the description and schema of the tool `{name}` have more than {MAX_TOOL_BYTES} bytes"
                );
                return Err(Problem::bad(detail));
            }
            Ok(Arc::new(ClientTool::new(name, description, parameters)) as Arc<dyn Tool>)
        };
        let tools: Result<_, _> = offered.iter().cloned().map(tool).collect();
        Ok(Arc::new(Self { tools: tools?, offered }))
    }
}

/// The part of a request that is kept until its run has ended: a process that goes on with the run needs it.
#[derive(Debug, Deserialize, Serialize)]
struct Kept {
    input: String,
    #[serde(default)]
    tools: Vec<Offered>,
    #[serde(default, skip_serializing_if = "Words::is_empty")]
    said: Words,
    #[serde(default, skip_serializing_if = "Answers::is_empty")]
    answers: Answers,
    /// `true` once the user has cancelled the run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_cancelled: bool,
}

impl Kept {
    fn new(input: String, tools: Vec<Offered>) -> Self {
        let (said, answers) = (Words::default(), Answers::default());
        Self { input, tools, said, answers, is_cancelled: false }
    }

    fn read(kept: &str) -> Self {
        serde_json::from_str(kept).unwrap_or_else(|_| Self::new(kept.to_owned(), Vec::new()))
    }
}

/// Returns an input and the tools that came with it, as they are kept.
pub(super) fn keep(input: &RunInput, tools: Option<&ClientTools>) -> serde_json::Result<String> {
    let input = input.to_json()?;
    match tools.map(|tools| tools.offered.clone()).filter(|tools| !tools.is_empty()) {
        Some(tools) => serde_json::to_string(&Kept::new(input, tools)),
        None => Ok(input),
    }
}

/// Returns what is kept with another word, where the journal of the run has this number of them; `None` when it cannot be read.
pub(super) fn keep_word(kept: &str, word: Word, journaled: Counts) -> Option<String> {
    let mut kept = Kept::read(kept);
    kept.said.add(word, journaled);
    serde_json::to_string(&kept).ok()
}

/// Returns what is kept with more answers, where the journal of the run has these, and about the size of all of them; `None` when it cannot be
/// read.
pub(super) fn keep_answers(
    kept: &str,
    answers: &[Answer],
    journaled: &Answered,
) -> Option<(String, usize)> {
    let mut kept = Kept::read(kept);
    kept.answers.add(answers, journaled);
    Some((serde_json::to_string(&kept).ok()?, kept.answers.bytes()))
}

/// Returns what is kept of a run that the user has cancelled; `None` when it cannot be written.
pub(super) fn keep_cancelled(kept: &str) -> Option<String> {
    serde_json::to_string(&Kept { is_cancelled: true, ..Kept::read(kept) }).ok()
}

/// Returns `true` for a run that the user has cancelled.
pub(super) fn is_cancelled(kept: &str) -> bool {
    serde_json::from_str(kept).is_ok_and(|Kept { is_cancelled, .. }| is_cancelled)
}

/// Returns the answers that are kept so.
pub(super) fn kept_answers(kept: &str) -> Answers {
    serde_json::from_str(kept).map(|Kept { answers, .. }| answers).unwrap_or_default()
}

/// Returns the words that are kept so.
pub(super) fn kept_words(kept: &str) -> Words {
    serde_json::from_str(kept).map(|Kept { said, .. }| said).unwrap_or_default()
}

/// Returns the input that is kept so; `None` when it cannot be read.
pub(super) fn kept_input(kept: &str) -> Option<RunInput> {
    let Ok(Kept { input, .. }) = serde_json::from_str(kept) else {
        return RunInput::from_json(kept).ok();
    };
    let input = RunInput::from_json(&input).ok()?;
    Some(match kept_tools(kept) {
        Some(tools) => input.state(tools),
        None => input,
    })
}

/// Returns the tools that are kept so, if there are any.
pub(super) fn kept_tools(kept: &str) -> Option<Arc<ClientTools>> {
    let Kept { tools, .. } = serde_json::from_str(kept).ok()?;
    if tools.is_empty() { None } else { ClientTools::new(tools).ok() }
}

/// The source of the tools of requests, for each agent of a service.
#[derive(Debug)]
pub(super) struct OfRequest;

impl ToolSource for OfRequest {
    fn tools(&self, run: RunContext) -> BoxFuture<'static, Result<Vec<Arc<dyn Tool>>, AgentError>> {
        let tools = run.state::<ClientTools>().map(|own| own.tools.clone()).unwrap_or_default();
        Box::pin(ready(Ok(tools)))
    }

    // A name that is taken is the agent's own tool.
    fn is_optional(&self) -> bool {
        true
    }
}
