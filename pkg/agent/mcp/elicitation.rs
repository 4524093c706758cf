//! Conversion of server questions into those of this library.

use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};

use crate::{
    agent::tools::Question,
    types::{Json, ToolAnswer},
};

/// Most characters of a question; a longer one is cut.
const MAX_MESSAGE: usize = 4_000;

/// Longest form, in bytes.
const MAX_FORM_BYTES: usize = 64 << 10;

/// Longest address, in bytes.
const MAX_URL_BYTES: usize = 2_048;

/// Returns what the user is asked; `None` for what cannot be asked.
pub(super) fn question(params: ElicitRequestParams) -> Option<Question> {
    match params {
        ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
            // As text: it has the fields in the order of the server.
            let schema = serde_json::to_string(&requested_schema).ok()?;
            let schema = Json::parse(&schema).ok().filter(|_| schema.len() <= MAX_FORM_BYTES)?;
            Some(Question { message: cut(&message), schema: Some(schema), url: None })
        }
        ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
            let is_web = url.starts_with("https://") || url.starts_with("http://");
            (is_web && url.len() <= MAX_URL_BYTES).then(|| Question::url(cut(&message), url))
        }
        _ => None,
    }
}

/// Returns an answer as the server reads it.
pub(super) fn result(question: &Question, answer: ToolAnswer) -> ElicitResult {
    match answer {
        ToolAnswer::Accept { content } if question.schema.is_some() => {
            ElicitResult::new(ElicitationAction::Accept).with_content(content.to_value())
        }
        ToolAnswer::Accept { .. } => ElicitResult::new(ElicitationAction::Accept),
        ToolAnswer::Decline => ElicitResult::new(ElicitationAction::Decline),
        ToolAnswer::Cancel => cancelled(),
    }
}

/// Returns the answer where there is none.
pub(super) fn cancelled() -> ElicitResult {
    ElicitResult::new(ElicitationAction::Cancel)
}

fn cut(message: &str) -> String {
    message.chars().take(MAX_MESSAGE).collect()
}
