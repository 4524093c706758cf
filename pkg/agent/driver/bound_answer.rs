//! An answer that is bound to a schema.

use crate::tools::validate;
use forgeline_llm::AnswerSchema;
use forgeline_types::{AgentError, Completion, ErrorCode, FinishReason, Part};

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
                AgentError::new(ErrorCode::Decode, message)
            });
            json.as_str().to_owned()
        }
        Err(error) => {
            let message = error.to_string();
            completion.error = Some(AgentError::new(ErrorCode::Decode, message));
            let call = completion.tool_calls.first().map(|call| call.arguments_raw.clone());
            call.unwrap_or_else(|| std::mem::take(&mut completion.text))
        }
    };
    completion.tool_calls.clear();
    completion.parts.retain(|part| part.as_tool_call().is_none() && part.as_text().is_none());
    completion.parts.push(Part::Text { text: text.clone() });
    completion.text = text;
}
