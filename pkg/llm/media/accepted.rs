//! The images and documents that a model accepts.

use super::{
    kind::{PDF, essence, is_url},
    part::{document_text, unreadable},
};
use forgeline_types::{Capabilities, MediaRules, ModelInfo, Part};

/// The images and documents that a model accepts.
#[derive(Debug, Clone, Copy)]
pub struct AcceptedMedia {
    able: Capabilities,
    rules: MediaRules,
}

impl From<Capabilities> for AcceptedMedia {
    fn from(able: Capabilities) -> Self {
        Self { able, rules: MediaRules::default() }
    }
}

impl From<&ModelInfo> for AcceptedMedia {
    fn from(model: &ModelInfo) -> Self {
        Self { able: model.capabilities, rules: model.media }
    }
}

/// The reason why a model does not accept a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediaRefusal {
    /// The model accepts no parts of this kind.
    Kind(&'static str),
    /// The model accepts other parts of this kind; the second text follows the name of the model in a message.
    This(&'static str, &'static str),
}

impl AcceptedMedia {
    /// Returns the reason why a part is not accepted; `None` if it is.
    #[doc(hidden)]
    pub fn refusal(&self, part: &Part) -> Option<MediaRefusal> {
        let Self { able, rules } = self;
        match part {
            Part::Image { .. } if !able.vision => Some(MediaRefusal::Kind("pictures")),
            Part::Image { data, .. } => {
                let why = if is_url(data) && !rules.picture_addresses {
                    "does not accept image URLs; send the data"
                } else if rules.max_picture_letters.is_some_and(|most| most < data.len() as u64) {
                    "does not accept images of this size; make it smaller"
                } else {
                    return None;
                };
                Some(MediaRefusal::This("picture", why))
            }
            // Text is put into the message.
            Part::Document { .. } if !able.documents => {
                document_text(part).is_none().then_some(MediaRefusal::Kind("documents"))
            }
            Part::Document { media_type, data, .. } => {
                let kind = essence(media_type);
                let why = if is_url(data) && !rules.document_addresses {
                    "does not accept document URLs; send the data"
                } else if !rules.all_documents && kind != PDF && !kind.starts_with("text/") {
                    "does not accept documents of this type; send a PDF or text"
                } else if !rules.all_documents && kind != PDF && is_url(data) {
                    "does not accept URLs of text documents; send the data"
                } else {
                    return None;
                };
                Some(MediaRefusal::This("document", why))
            }
            Part::Text { .. }
            | Part::Thinking { .. }
            | Part::ToolCall(_)
            | Part::ToolResult(_)
            | Part::ProviderItem(_) => None,
            _ => None,
        }
    }
}

/// Returns the first fault in the parts of a user's message that the model would reject; `true` with it if no model accepts the part.
pub fn unfit(parts: &[Part], model: &ModelInfo) -> Option<(String, bool)> {
    if let Some(problem) = unreadable(parts) {
        return Some((problem, true));
    }
    let takes = AcceptedMedia::from(model);
    let (name, refusal) = (&model.model, parts.iter().find_map(|part| takes.refusal(part))?);
    let words = match refusal {
        MediaRefusal::Kind(what) => format!(
            "the model `{name}` does not accept {what}; send the input without them, or choose a model that does"
        ),
        MediaRefusal::This(_, why) => {
            format!("the model `{name}` {why}, or choose another model")
        }
    };
    Some((words, false))
}
