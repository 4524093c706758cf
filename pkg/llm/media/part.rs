//! Parts in the forms that every model accepts that accepts any.

use super::{
    base64::{canonical, decode},
    kind::{PDF, essence, is_text, is_url, picture_kind, short},
};
use forgeline_types::Part;

/// The kinds of images that all vendors accept.
pub(super) const PICTURES: &str = "models accept PNG, JPEG, GIF and WebP";

pub(super) const NOT_BASE64: &str = "its data are not base64";

pub(super) const NOT_TEXT: &str = "its type is text, but it is not UTF-8";

/// A part that is left out, with the details for a note about it.
#[derive(Debug, PartialEq, Eq)]
pub struct OmittedPart {
    /// `picture` or `document`.
    #[doc(hidden)]
    pub what: &'static str,
    /// The media type as given, shortened.
    #[doc(hidden)]
    pub media_type: String,
    /// The number of its bytes, or of its characters if they are not base64.
    #[doc(hidden)]
    pub bytes: usize,
    #[doc(hidden)]
    pub reason: &'static str,
}

/// Returns a part of a tool's result in the form that all models accept: an image has the type of its actual bytes, and a text
/// document becomes text. A URL stays a URL.
///
/// # Errors
///
/// Returns an error if some models may not accept it.
pub fn of_result(part: Part) -> Result<Part, OmittedPart> {
    match &part {
        Part::Image { data, .. } if is_url(data) => Ok(part),
        Part::Document { media_type, data, .. } if is_url(data) => {
            if essence(media_type) == PDF {
                return Ok(part);
            }
            let reason = "only a PDF may be a URL";
            let (media_type, bytes) = (short(media_type), data.len());
            Err(OmittedPart { what: "document", media_type, bytes, reason })
        }
        Part::Image { .. }
        | Part::Document { .. }
        | Part::Text { .. }
        | Part::Thinking { .. }
        | Part::ToolCall(_)
        | Part::ToolResult(_)
        | Part::ProviderItem(_) => inline(part).map(CheckedPart::into_part),
        Part::Framing { .. } | _ => inline(part).map(CheckedPart::into_part),
    }
}

/// A part in the form that all models accept, with its data and not a URL; [`inline`] returns it.
#[derive(Debug, PartialEq)]
pub struct CheckedPart(Part);

impl CheckedPart {
    /// Returns the part.
    #[must_use]
    pub fn into_part(self) -> Part {
        self.0
    }

    /// Returns the text of a text part.
    ///
    /// # Errors
    ///
    /// Returns every other part unchanged.
    #[expect(clippy::result_large_err, reason = "the error is the part itself")]
    pub fn into_text(self) -> Result<String, Self> {
        if let Part::Text { text, .. } = self.0 { Ok(text) } else { Err(self) }
    }
}

/// Returns a part as [`of_result`] does, but accepts bytes only: a URL would make the vendor fetch it.
///
/// # Errors
///
/// Returns an error if the part is a URL, or if some models may not accept it.
pub fn inline(part: Part) -> Result<CheckedPart, OmittedPart> {
    let part = match part {
        Part::Image { media_type, data, .. } => picture(&media_type, &data)?,
        Part::Document { media_type, data, name, .. } => document(&media_type, &data, name)?,
        Part::Text { .. }
        | Part::Thinking { .. }
        | Part::ToolCall(_)
        | Part::ToolResult(_)
        | Part::ProviderItem(_) => part,
        part @ (Part::Framing { .. } | _) => part,
    };
    Ok(CheckedPart(part))
}

/// Returns the text of a text document, marked with its name, for models that read no documents; `None` for a part of another kind, for a URL, and for
/// bytes that are not text in UTF-8.
pub fn document_text(part: &Part) -> Option<String> {
    let Part::Document { media_type, data, name, .. } = part else { return None };
    let kind = essence(media_type);
    if is_url(data) || !is_text(&kind) {
        return None;
    }
    let text = String::from_utf8(decode(data)?).ok().filter(|text| !text.contains('\0'))?;
    let name = short(name.as_deref().filter(|name| !name.is_empty()).unwrap_or(&kind));
    Some(format!("[The attached file `{name}`]\n{text}\n[The end of `{name}`]"))
}

/// Returns the fault of a part of a user's input that no model can read; `None` if a model may accept the part.
pub(super) fn problem(part: &Part) -> Option<OmittedPart> {
    let (what, media_type, data) = match part {
        Part::Image { media_type, data, .. } => ("picture", media_type, data),
        Part::Document { media_type, data, .. } => ("document", media_type, data),
        Part::Text { .. }
        | Part::Thinking { .. }
        | Part::ToolCall(_)
        | Part::ToolResult(_)
        | Part::ProviderItem(_) => return None,
        Part::Framing { .. } | _ => return None,
    };
    // Vendors give files URLs of their own, such as `gs://`.
    if data.contains("://") {
        return None;
    }
    let left_out =
        |bytes, reason| Some(OmittedPart { what, media_type: short(media_type), bytes, reason });
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
pub fn unreadable(parts: &[Part]) -> Option<String> {
    let OmittedPart { what, media_type, bytes, reason } = parts.iter().find_map(problem)?;
    Some(format!("a {what} of the input ({media_type}, {bytes} bytes) cannot be read: {reason}"))
}

fn picture(media_type: &str, data: &str) -> Result<Part, OmittedPart> {
    let left_out = |bytes, reason| {
        Err(OmittedPart { what: "picture", media_type: short(media_type), bytes, reason })
    };
    let Some((bytes, written)) = canonical(data) else {
        return left_out(data.len(), NOT_BASE64);
    };
    // A vendor rejects bytes of a kind other than the declared one.
    match picture_kind(&bytes) {
        Some(kind) => Ok(Part::image(kind.to_owned(), written.into_owned())),
        None => left_out(bytes.len(), PICTURES),
    }
}

fn document(media_type: &str, data: &str, name: Option<String>) -> Result<Part, OmittedPart> {
    let left_out = |bytes, reason| {
        Err(OmittedPart { what: "document", media_type: short(media_type), bytes, reason })
    };
    let kind = essence(media_type);
    let Some((bytes, written)) = canonical(data).filter(|(bytes, _)| !bytes.is_empty()) else {
        return left_out(data.len(), NOT_BASE64);
    };
    if kind == PDF || bytes.starts_with(b"%PDF-") {
        return Ok(Part::document(PDF.to_owned(), written.into_owned(), name));
    }
    if let Some(kind) = picture_kind(&bytes) {
        return Ok(Part::image(kind.to_owned(), written.into_owned()));
    }
    if !is_text(&kind) {
        return left_out(bytes.len(), "models accept PDF and text");
    }
    let length = bytes.len();
    match String::from_utf8(bytes) {
        Ok(text) => {
            let text = if let Some(name) = name { format!("{name}:\n{text}") } else { text };
            Ok(Part::text(text))
        }
        Err(_) => left_out(length, NOT_TEXT),
    }
}
