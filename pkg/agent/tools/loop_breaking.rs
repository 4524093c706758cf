//! The agent's own tools: each ends the run.

use futures_core::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use super::{Tool, ToolContext, ToolError, ToolOutput, typed::schema_of};
use crate::types::Json;

pub(crate) const TASK_COMPLETION: &str = "task_completion";
pub(crate) const ASK_QUESTION: &str = "ask_question";
pub(crate) const CONVERSE: &str = "converse";

/// The names that no other tool can have.
pub(crate) const PROTECTED_NAMES: [&str; 3] = [TASK_COMPLETION, ASK_QUESTION, CONVERSE];

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Completed {
    /// What was done, and the result, for the user to read.
    pub(crate) result: String,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Asked {
    /// The question to the user.
    pub(crate) question: String,
    /// Answers that the user may choose from, if there are obvious ones.
    #[serde(default)]
    pub(crate) suggestions: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Said {
    /// What to say to the user.
    pub(crate) message: String,
}

/// Ends the run because the task is done: `task_completion`.
#[derive(Debug, Clone, Copy)]
pub struct TaskCompletionTool;

/// Ends the run with a question to the user: `ask_question`.
#[derive(Debug, Clone, Copy)]
pub struct AskQuestionTool;

/// Ends the run with a reply that asks for no work: `converse`.
#[derive(Debug, Clone, Copy)]
pub struct ConverseTool;

macro_rules! loop_breaking {
    ($tool:ty, $name:expr, $description:expr, $arguments:ty, $text:expr) => {
        impl Tool for $tool {
            fn name(&self) -> &'static str {
                $name
            }

            fn description(&self) -> &'static str {
                $description
            }

            fn schema(&self) -> Value {
                schema_of::<$arguments>()
            }

            fn is_loop_breaking(&self) -> bool {
                true
            }

            fn execute(
                &self,
                _context: ToolContext,
                arguments: Json,
            ) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
                Box::pin(std::future::ready(read::<$arguments>(&arguments).map($text)))
            }
        }
    };
}

loop_breaking!(
    TaskCompletionTool,
    TASK_COMPLETION,
    "Call this when the task is done. The user sees the result, and nothing runs after it.",
    Completed,
    |done: Completed| done.result.into()
);
loop_breaking!(
    AskQuestionTool,
    ASK_QUESTION,
    "Call this when the task cannot go on without an answer of the user's.",
    Asked,
    |asked: Asked| asked.question.into()
);
loop_breaking!(
    ConverseTool,
    CONVERSE,
    "Call this to reply when the user only talks and there is nothing to do.",
    Said,
    |said: Said| said.message.into()
);

fn read<A: DeserializeOwned>(arguments: &Json) -> Result<A, ToolError> {
    arguments.read().map_err(|error| ToolError::invalid("", error.to_string()))
}
