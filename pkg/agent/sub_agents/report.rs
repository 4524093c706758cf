//! The report of a sub-agent, as the model reads it.

use super::SubAgent;
use crate::{
    run::{OutcomeKind, RunOutcome},
    tools::ToolError,
};

impl SubAgent {
    /// Returns the model's text about the outcome of a run.
    pub(super) fn report(&self, outcome: RunOutcome) -> Result<String, ToolError> {
        let RunOutcome { reason, text, .. } = outcome;
        match reason {
            OutcomeKind::QuestionAsked { question, .. } => Ok(format!(
                "The agent `{}` needs an answer before it can go on; ask it again with the whole task and the answer. \
                 Its question: {question}",
                self.name
            )),
            OutcomeKind::Empty => Err(self.failed("it gave no answer")),
            OutcomeKind::Cut | OutcomeKind::LimitReached { .. } => Ok(format!(
                "[The agent `{}` reached a limit; this may be incomplete.]\n{text}",
                self.name
            )),
            OutcomeKind::Answer
            | OutcomeKind::PromptAnswered
            | OutcomeKind::TaskCompleted { .. }
            | OutcomeKind::Conversed { .. }
            | OutcomeKind::Tool { .. }
            | OutcomeKind::Failed { .. } => Ok(text),
        }
    }

    pub(super) fn failed(&self, problem: &str) -> ToolError {
        ToolError::failed(format!(
            "the agent `{}` failed: {problem}; give it a smaller task, or continue without it",
            self.name
        ))
    }
}
