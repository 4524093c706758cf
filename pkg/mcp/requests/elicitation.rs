//! Conversion of server questions into those of this library.

use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};

use forgeline_agent::tools::Question;
use forgeline_types::{Json, ToolAnswer};

/// Maximum number of characters of a question; a longer one is truncated.
const MAX_MESSAGE: usize = 4_000;

/// Maximum length of a form, in bytes.
const MAX_FORM_BYTES: usize = 64 << 10;

/// Maximum length of a URL, in bytes.
const MAX_URL_BYTES: usize = 2_048;

/// Returns the question to the user; `None` for a request that cannot be asked.
pub(crate) fn question(params: ElicitRequestParams) -> Option<Question> {
    match params {
        ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
            // Serialized as text, which keeps the server's order of the fields.
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

/// Returns an answer in the form that the server reads.
pub(crate) fn result(question: &Question, answer: ToolAnswer) -> ElicitResult {
    match answer {
        ToolAnswer::Accept { content, .. } if question.schema.is_some() => {
            ElicitResult::new(ElicitationAction::Accept).with_content(content.to_value())
        }
        ToolAnswer::Accept { .. } => ElicitResult::new(ElicitationAction::Accept),
        ToolAnswer::Decline => ElicitResult::new(ElicitationAction::Decline),
        ToolAnswer::Cancel => cancelled(),
        _ => cancelled(),
    }
}

/// Returns the result for a question without an answer.
pub(crate) fn cancelled() -> ElicitResult {
    ElicitResult::new(ElicitationAction::Cancel)
}

fn cut(message: &str) -> String {
    message.chars().take(MAX_MESSAGE).collect()
}
