//! Pictures and documents, in the forms that all models take which take any.
//!
//! A vendor refuses a request for one part that it cannot read, and each later one too: the part stays in the conversation. So it is
//! looked at before it comes in.

#[cfg_attr(not(feature = "http"), allow(dead_code, reason = "some of it is for HTTP"))]
mod base64;

pub(crate) use base64::decode;

use base64::canonical;

use crate::types::{Capabilities, MediaRules, ModelInfo, Part};

/// The kinds of pictures that all vendors take.
const PICTURES: &str = "models take PNG, JPEG, GIF and WebP";

const NOT_BASE64: &str = "its data are not base64";

const NOT_TEXT: &str = "it says that it is text, and is not UTF-8";

/// Most characters of a media type in a note.
const MAX_TYPE: usize = 100;

/// A part that is left out, for the words that say so.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LeftOut {
    /// `picture` or `document`.
    pub(crate) what: &'static str,
    /// The media type as it was given, shortened.
    pub(crate) media_type: String,
    /// The number of its bytes, or of the letters that are not base64.
    pub(crate) bytes: usize,
    pub(crate) reason: &'static str,
}

/// Returns a part of a tool's result in the form that all models take: the kind of a picture is that of its bytes, and a document of text
/// is words. An address stays one.
///
/// # Errors
///
/// When no model can be trusted to take it.
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

/// Returns a part as [`of_result`] does, of what may have bytes only: an address would make a vendor ask there.
///
/// # Errors
///
/// When it is an address, or no model can be trusted to take it.
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

/// Returns what is wrong with a part of a user's input, whatever the model; `None` when a model may take it.
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
    // Vendors have files by addresses of their own, such as `gs://`.
    if data.contains("://") {
        return None;
    }
    let left_out =
        |bytes, reason| Some(LeftOut { what, media_type: short(media_type), bytes, reason });
    let Some(bytes) = decode(data).filter(|bytes| !bytes.is_empty()) else {
        return left_out(data.len(), NOT_BASE64);
    };
    let kind = essence(media_type);
    // One vendor takes these two.
    let is_other = matches!(&*kind, "image/heic" | "image/heif");
    if what == "picture" && !is_other && picture_kind(&bytes).is_none() {
        return left_out(bytes.len(), PICTURES);
    }
    if kind.starts_with("text/") && std::str::from_utf8(&bytes).is_err() {
        return left_out(bytes.len(), NOT_TEXT);
    }
    None
}

/// Returns what is wrong with the first picture or document that no model reads: in a conversation it would fail each request.
pub(crate) fn unreadable(parts: &[Part]) -> Option<String> {
    let LeftOut { what, media_type, bytes, reason } = parts.iter().find_map(problem)?;
    Some(format!("a {what} of the input ({media_type}, {bytes} bytes) cannot be read: {reason}"))
}

/// The pictures and documents that a model takes.
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

/// The reason for which a model does not take a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Untaken {
    /// The model reads none of this kind.
    Kind(&'static str),
    /// The model reads others of this kind; the words go behind the name of the kind.
    This(&'static str, &'static str),
}

impl Takes {
    /// Returns why a part is not taken; `None` for one that is.
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

/// Returns what a model would refuse of the parts of a user's message, in words; `true` with it where no model takes it.
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
    // A vendor refuses bytes of another kind than it was told.
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

/// Returns the media type of a picture by its first bytes; `None` for what is none of the kinds that all models take: PNG,
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

/// Returns a media type without its parameters, in small letters.
fn essence(media_type: &str) -> String {
    media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn is_url(data: &str) -> bool {
    data.starts_with("http://") || data.starts_with("https://")
}

/// Returns a media type as a note has it: it may be anyone's text.
fn short(media_type: &str) -> String {
    media_type.chars().filter(|sign| !sign.is_control()).take(MAX_TYPE).collect()
}

#[cfg(test)]
mod tests;
