//! The images and documents that a model accepts.

use super::{
    base64::decode,
    kind::{PDF, essence, is_url, kind_of},
    part::{document_text, unreadable},
};
use forgeline_types::{Capabilities, MediaRules, ModelInfo, Part, PictureKinds};

/// The number of base64 characters at the beginning of an image that tell its kind.
const START: usize = 32;

/// The images that most vendors accept: OpenAI, Anthropic, Cohere, Mistral and `OpenRouter` by their guides on images as of
/// November 2026.
const WEB: [&str; 5] = ["image/png", "image/jpeg", "image/jpg", "image/webp", "image/gif"];

/// The images that Google's models accept, by its guide on images as of November 2026.
const PHOTO: [&str; 6] =
    ["image/png", "image/jpeg", "image/jpg", "image/webp", "image/heic", "image/heif"];

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

impl From<(Capabilities, MediaRules)> for AcceptedMedia {
    fn from((able, rules): (Capabilities, MediaRules)) -> Self {
        Self { able, rules }
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
                let by_address = is_url(data) && !rules.picture_addresses;
                let why = by_address.then_some("does not accept image URLs; send the data");
                let why = why.or_else(|| self.picture_fault(part));
                why.map(|why| MediaRefusal::This("picture", why))
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
            Part::Framing { .. } | _ => None,
        }
    }
}

impl AcceptedMedia {
    /// Returns the reason why an image is not accepted because of its kind or size; `None` if it is, or is not given by its data.
    pub(crate) fn picture_fault(&self, part: &Part) -> Option<&'static str> {
        let Part::Image { media_type, data, .. } = part else { return None };
        if data.contains("://") {
            return None;
        }
        if self.rules.max_picture_letters.is_some_and(|most| most < data.len() as u64) {
            return Some("does not accept images of this size; make it smaller");
        }
        let takes: &[&str] = match self.rules.pictures {
            PictureKinds::Any => return None,
            PictureKinds::Photo => &PHOTO,
            PictureKinds::Web | _ => &WEB,
        };
        let kind = picture_kind_of(data).map_or_else(|| essence(media_type), str::to_owned);
        (!takes.contains(&&*kind))
            .then_some("does not accept images of this kind; send a PNG or a JPEG")
    }
}

/// Returns the kind of an image by the beginning of its data, where they tell it.
fn picture_kind_of(data: &str) -> Option<&'static str> {
    let start: String = data.chars().filter(|sign| !sign.is_whitespace()).take(START).collect();
    kind_of(&decode(&start)?)
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
