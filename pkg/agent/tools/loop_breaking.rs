//! The agent's own tools, each of which ends the run.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    tool_search::{CALL_FOUND_TOOL, TOOL_SEARCH},
    unit_tool::unit_tool,
};

pub(crate) const TASK_COMPLETION: &str = "task_completion";
pub(crate) const ASK_QUESTION: &str = "ask_question";
pub(crate) const CONVERSE: &str = "converse";

/// The names reserved for the agent.
pub(crate) const PROTECTED_NAMES: [&str; 5] =
    [TASK_COMPLETION, ASK_QUESTION, CONVERSE, TOOL_SEARCH, CALL_FOUND_TOOL];

#[derive(Deserialize, JsonSchema)]
pub(crate) struct CompletionArguments {
    /// The work that was done and its result, for the user to read.
    pub(crate) result: String,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct QuestionArguments {
    /// The question to the user.
    pub(crate) question: String,
    /// Answers that the user may choose from, if there are obvious ones.
    #[serde(default)]
    pub(crate) suggestions: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct ConverseArguments {
    /// The reply to the user.
    pub(crate) message: String,
}

/// The tool `task_completion`, which ends the run because the task is done.
#[derive(Debug, Clone, Copy)]
pub struct TaskCompletionTool;

/// The tool `ask_question`, which ends the run with a question to the user.
#[derive(Debug, Clone, Copy)]
pub struct AskQuestionTool;

/// The tool `converse`, which ends the run with a reply that requires no work.
#[derive(Debug, Clone, Copy)]
pub struct ConverseTool;

unit_tool!(
    TaskCompletionTool,
    TASK_COMPLETION,
    "Call this when the task is done. The user sees the result, and nothing runs after it.",
    true,
    |done: CompletionArguments| Ok(done.result.into())
);
unit_tool!(
    AskQuestionTool,
    ASK_QUESTION,
    "Call this when the task cannot continue without an answer from the user.",
    true,
    |asked: QuestionArguments| Ok(asked.question.into())
);
unit_tool!(
    ConverseTool,
    CONVERSE,
    "Call this to reply when the user only talks and there is nothing to do.",
    true,
    |said: ConverseArguments| Ok(said.message.into())
);
