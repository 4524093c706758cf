//! The outcome of a run that a call ends.

use crate::{
    run::OutcomeKind,
    tools::{ASK_QUESTION, CONVERSE, QuestionArguments, TASK_COMPLETION},
};
use forgeline_types::{Json, Text};

/// Returns the reason that a successful loop-breaking call represents.
pub(super) fn outcome_of_call(
    tool_name: &Text,
    arguments: Option<&Json>,
    result: &str,
) -> OutcomeKind {
    let result = result.to_owned();
    match tool_name.as_str() {
        TASK_COMPLETION => OutcomeKind::TaskCompleted { result },
        CONVERSE => OutcomeKind::Conversed { message: result },
        ASK_QUESTION => {
            let asked = arguments.and_then(|arguments| arguments.read::<QuestionArguments>().ok());
            let suggestions = asked.map(|asked| asked.suggestions).unwrap_or_default();
            OutcomeKind::QuestionAsked { question: result, suggestions }
        }
        _ => OutcomeKind::Tool { name: tool_name.clone(), result },
    }
}
