//! An answer that is bound to a schema.

use crate::tools::validate;
use forgeline_llm::{AnswerSchema, ResponseFormat};
use forgeline_types::{AgentError, Completion, Ending, ErrorCode, FinishReason, Json, Part};

/// Replaces the text of an answer with the requested value; other text is an error of the answer,
/// which keeps what arrived.
pub(crate) fn parse_answer(completion: &mut Completion, goal: &AnswerSchema) {
    let is_cut = completion.finish_reason == Some(FinishReason::Interrupted);
    if completion.error.is_some() || is_cut {
        completion.tool_calls.clear();
        completion.parts.retain(|part| part.as_tool_call().is_none());
        return;
    }
    let text = match goal.read_answer(completion.clone()) {
        Ok(json) => {
            completion.error = validate(goal.as_value(), &json.to_value()).err().map(|error| {
                let message = format!("the answer does not match its schema: {error}");
                AgentError::new(ErrorCode::InvalidAnswer, message)
            });
            json.as_str().to_owned()
        }
        Err(error) => {
            let message = error.to_string();
            completion.error = Some(AgentError::new(ErrorCode::InvalidAnswer, message));
            let call = completion.tool_calls.first().map(|call| call.arguments_raw.clone());
            call.unwrap_or_else(|| std::mem::take(&mut completion.text))
        }
    };
    completion.tool_calls.clear();
    completion.parts.retain(|part| part.as_tool_call().is_none() && part.as_text().is_none());
    completion.parts.push(Part::text(text.clone()));
    completion.text = text;
}

/// Checks a last answer against the format that all requests of the agent ask for: what does not fit is an error of the answer. An answer with calls is
/// not the last one.
pub(crate) fn check_format(completion: &mut Completion, format: Option<&ResponseFormat>) {
    let is_last = completion.tool_calls.is_empty() && completion.fenced_calls == 0;
    let is_whole =
        is_last && completion.ending() == Ending::Answered && !completion.text.is_empty();
    let Some(format) = format.filter(|_| is_whole) else { return };
    let text = completion.text.trim();
    let problem = match (Json::parse(text), format) {
        (Err(error), _) => Some(format!("the answer is not JSON: {error}")),
        (Ok(json), ResponseFormat::JsonSchema { schema, .. }) => {
            let mismatch = |error| format!("the answer does not match its schema: {error}");
            validate(schema, &json.to_value()).err().map(mismatch)
        }
        (Ok(_), _) => None,
    };
    completion.error = problem.map(|problem| AgentError::new(ErrorCode::InvalidAnswer, problem));
}
