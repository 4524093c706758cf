//! Images and documents in the forms that every model accepts that accepts any.
//!
//! A vendor rejects a request because of one part that it cannot read, and each later one too, since the part stays in the
//! conversation. Parts are therefore checked before they are added.

#[cfg_attr(not(feature = "http"), allow(dead_code, reason = "some of it is for HTTP"))]
mod base64;

pub(crate) use base64::decode;

use base64::canonical;

use crate::types::{Capabilities, MediaRules, ModelInfo, Part};

/// The kinds of images that all vendors accept.
const PICTURES: &str = "models take PNG, JPEG, GIF and WebP";

const NOT_BASE64: &str = "its data are not base64";

const NOT_TEXT: &str = "it says that it is text, and is not UTF-8";

/// Maximum number of characters of a media type in a note.
const MAX_TYPE: usize = 100;

/// A part that is left out, with the details for a note about it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LeftOut {
    /// `picture` or `document`.
    pub(crate) what: &'static str,
    /// The media type as given, shortened.
    pub(crate) media_type: String,
    /// The number of its bytes, or of its characters if they are not base64.
    pub(crate) bytes: usize,
    pub(crate) reason: &'static str,
}

/// Returns a part of a tool's result in the form that all models accept: an image has the type of its actual bytes, and a text
/// document becomes text. A URL stays a URL.
///
/// # Errors
///
/// Returns an error if some models may not accept it.
pub(crate) fn of_result(part: Part) -> Result<Part, LeftOut> {
    match &part {
        Part::Image { data, .. } if is_url(data) => Ok(part),
        Part::Document { media_type, data, .. } if is_url(data) => {
            if essence(media_type) == PDF {
                return Ok(part);
            }
            let reason = "only a PDF can be given by its address";
            let (media_type, bytes) = (short(media_type), data.len());
            Err(LeftOut { what: "document", media_type, bytes, reason })
        }
        Part::Image { .. }
        | Part::Document { .. }
        | Part::Text { .. }
        | Part::Thinking { .. }
        | Part::ToolCall(_)
        | Part::ToolResult(_)
        | Part::ProviderItem(_) => inline(part),
    }
}

/// Returns a part as [`of_result`] does, but accepts bytes only: a URL would make the vendor fetch it.
///
/// # Errors
///
/// Returns an error if the part is a URL, or if some models may not accept it.
pub(crate) fn inline(part: Part) -> Result<Part, LeftOut> {
    match part {
        Part::Image { media_type, data } => picture(&media_type, &data),
        Part::Document { media_type, data, name } => document(&media_type, &data, name),
        Part::Text { .. }
        | Part::Thinking { .. }
        | Part::ToolCall(_)
        | Part::ToolResult(_)
        | Part::ProviderItem(_) => Ok(part),
    }
}

/// Returns the fault of a part of a user's input that no model can read; `None` if a model may accept the part.
fn problem(part: &Part) -> Option<LeftOut> {
    let (what, media_type, data) = match part {
        Part::Image { media_type, data } => ("picture", media_type, data),
        Part::Document { media_type, data, .. } => ("document", media_type, data),
        Part::Text { .. }
        | Part::Thinking { .. }
        | Part::ToolCall(_)
        | Part::ToolResult(_)
        | Part::ProviderItem(_) => return None,
    };
    // Vendors give files URLs of their own, such as `gs://`.
    if data.contains("://") {
        return None;
    }
    let left_out =
        |bytes, reason| Some(LeftOut { what, media_type: short(media_type), bytes, reason });
    let Some(bytes) = decode(data).filter(|bytes| !bytes.is_empty()) else {
        return left_out(data.len(), NOT_BASE64);
    };
    let kind = essence(media_type);
    // One vendor accepts these two.
    let is_other = matches!(&*kind, "image/heic" | "image/heif");
    if what == "picture" && !is_other && picture_kind(&bytes).is_none() {
        return left_out(bytes.len(), PICTURES);
    }
    if kind.starts_with("text/") && std::str::from_utf8(&bytes).is_err() {
        return left_out(bytes.len(), NOT_TEXT);
    }
    None
}

/// Returns the fault of the first image or document that no model can read: in a conversation it would make every request fail.
pub(crate) fn unreadable(parts: &[Part]) -> Option<String> {
    let LeftOut { what, media_type, bytes, reason } = parts.iter().find_map(problem)?;
    Some(format!("a {what} of the input ({media_type}, {bytes} bytes) cannot be read: {reason}"))
}

/// The images and documents that a model accepts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Takes {
    able: Capabilities,
    rules: MediaRules,
}

impl From<Capabilities> for Takes {
    fn from(able: Capabilities) -> Self {
        Self { able, rules: MediaRules::default() }
    }
}

impl From<&ModelInfo> for Takes {
    fn from(model: &ModelInfo) -> Self {
        Self { able: model.capabilities, rules: model.media }
    }
}

/// The reason why a model does not accept a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Untaken {
    /// The model reads no parts of this kind.
    Kind(&'static str),
    /// The model reads other parts of this kind; the second text follows the name of the kind in a message.
    This(&'static str, &'static str),
}

impl Takes {
    /// Returns the reason why a part is not accepted; `None` if it is.
    pub(crate) fn refusal(&self, part: &Part) -> Option<Untaken> {
        let Self { able, rules } = self;
        match part {
            Part::Image { .. } if !able.vision => Some(Untaken::Kind("pictures")),
            Part::Image { data, .. } => {
                let why = if is_url(data) && !rules.picture_addresses {
                    "by its address; give its bytes"
                } else if rules.max_picture_letters.is_some_and(|most| most < data.len() as u64) {
                    "of that size; make it smaller"
                } else {
                    return None;
                };
                Some(Untaken::This("picture", why))
            }
            Part::Document { .. } if !able.documents => Some(Untaken::Kind("documents")),
            Part::Document { media_type, data, .. } => {
                let kind = essence(media_type);
                let why = if is_url(data) && !rules.document_addresses {
                    "by its address; give its bytes"
                } else if !rules.all_documents && kind != PDF && !kind.starts_with("text/") {
                    "of that kind; give a PDF or text"
                } else if !rules.all_documents && kind != PDF && is_url(data) {
                    "of text by its address; give its bytes"
                } else {
                    return None;
                };
                Some(Untaken::This("document", why))
            }
            Part::Text { .. }
            | Part::Thinking { .. }
            | Part::ToolCall(_)
            | Part::ToolResult(_)
            | Part::ProviderItem(_) => None,
        }
    }
}

/// Returns the first fault in the parts of a user's message that the model would reject; `true` with it if no model accepts the part.
pub(crate) fn unfit(parts: &[Part], model: &ModelInfo) -> Option<(String, bool)> {
    if let Some(problem) = unreadable(parts) {
        return Some((problem, true));
    }
    let takes = Takes::from(model);
    let (name, refusal) = (&model.model, parts.iter().find_map(|part| takes.refusal(part))?);
    let words = match refusal {
        Untaken::Kind(what) => format!(
            "the model `{name}` reads no {what}; send the input without them, or choose a model that does"
        ),
        Untaken::This(what, why) => {
            format!("the model `{name}` takes no {what} {why}, or choose another model")
        }
    };
    Some((words, false))
}

fn picture(media_type: &str, data: &str) -> Result<Part, LeftOut> {
    let left_out = |bytes, reason| {
        Err(LeftOut { what: "picture", media_type: short(media_type), bytes, reason })
    };
    let Some((bytes, written)) = canonical(data) else {
        return left_out(data.len(), NOT_BASE64);
    };
    // A vendor rejects bytes of a kind other than the declared one.
    match picture_kind(&bytes) {
        Some(kind) => Ok(Part::Image { media_type: kind.to_owned(), data: written.into_owned() }),
        None => left_out(bytes.len(), PICTURES),
    }
}

fn document(media_type: &str, data: &str, name: Option<String>) -> Result<Part, LeftOut> {
    let left_out = |bytes, reason| {
        Err(LeftOut { what: "document", media_type: short(media_type), bytes, reason })
    };
    let kind = essence(media_type);
    let Some((bytes, written)) = canonical(data).filter(|(bytes, _)| !bytes.is_empty()) else {
        return left_out(data.len(), NOT_BASE64);
    };
    if kind == PDF || bytes.starts_with(b"%PDF-") {
        return Ok(Part::Document { media_type: PDF.to_owned(), data: written.into_owned(), name });
    }
    if let Some(kind) = picture_kind(&bytes) {
        return Ok(Part::Image { media_type: kind.to_owned(), data: written.into_owned() });
    }
    if !is_text(&kind) {
        return left_out(bytes.len(), "models take PDF and text");
    }
    let length = bytes.len();
    match String::from_utf8(bytes) {
        Ok(text) => {
            let text = if let Some(name) = name { format!("{name}:\n{text}") } else { text };
            Ok(Part::Text { text })
        }
        Err(_) => left_out(length, NOT_TEXT),
    }
}

const PDF: &str = "application/pdf";

fn is_text(kind: &str) -> bool {
    kind.starts_with("text/") || matches!(kind, "application/json" | "application/xml")
}

/// Returns the media type of an image, by its first bytes; `None` if it is not one of the kinds that all models accept: PNG,
/// JPEG, GIF and WebP.
///
/// # Examples
///
/// ```
/// use forgeline::llm::picture_kind;
///
/// assert_eq!(picture_kind(b"GIF89a"), Some("image/gif"));
/// assert_eq!(picture_kind(b"<svg/>"), None);
/// ```
#[must_use]
pub fn picture_kind(bytes: &[u8]) -> Option<&'static str> {
    let is_webp = || bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP");
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        _ if is_webp() => Some("image/webp"),
        _ => None,
    }
}

/// Returns a media type without its parameters, in lower case.
fn essence(media_type: &str) -> String {
    media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn is_url(data: &str) -> bool {
    data.starts_with("http://") || data.starts_with("https://")
}

/// Returns a media type for a note, shortened because it may be any text.
fn short(media_type: &str) -> String {
    media_type.chars().filter(|sign| !sign.is_control()).take(MAX_TYPE).collect()
}

#[cfg(test)]
mod tests;
