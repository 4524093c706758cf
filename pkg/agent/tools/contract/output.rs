//! The result of a tool.

use forgeline_llm::private::media::CheckedPart;
use forgeline_types::{Part, TextOrigin};

/// The result of a tool, for the model to read.
///
/// # Examples
///
/// ```
/// use forgeline::agent::tools::ToolOutput;
/// use serde_json::json;
///
/// assert_eq!(ToolOutput::from(json!({ "celsius": 21 })).content, r#"{"celsius":21}"#);
/// ```
///
/// A result with an image, which is sent to the model in the form of its provider:
///
/// ```
/// use forgeline::agent::tools::ToolOutput;
///
/// let output = ToolOutput::new("The page at 800 × 600.").picture("image/png", "iVBORw0KGgo=");
/// assert_eq!(output.parts.len(), 1);
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolOutput {
    /// The text of the result.
    pub content: String,
    /// The origin of the text; `None` for that of the tool.
    pub origin: Option<TextOrigin>,
    /// Images, documents and texts after the text, at most 20 MiB in total: PNG, JPEG, GIF, WebP and PDF, in base64 or by URL. A UTF-8 text document
    /// becomes text, and the type of an image is determined from its bytes. Parts that the model does not accept, or a vendor would refuse, are left out,
    /// and the text says so: in the conversation, they would make every request fail.
    pub parts: Vec<Part>,
    /// The lengths of the data of the first parts, which were checked when they were added.
    checked: Vec<usize>,
}

impl ToolOutput {
    /// Returns a result with this text.
    #[must_use]
    pub fn new(content: impl Into<String>) -> Self {
        Self { content: content.into(), origin: None, parts: Vec::new(), checked: Vec::new() }
    }

    /// Sets the origin of the text, if it differs from that of other results of the tool.
    #[must_use]
    pub fn origin(mut self, origin: TextOrigin) -> Self {
        self.origin = Some(origin);
        self
    }

    /// Adds an image with this media type: its bytes in base64, or a URL that starts with `http`.
    #[must_use]
    pub fn picture(self, media_type: impl Into<String>, data: impl Into<String>) -> Self {
        self.part(Part::image(media_type, data))
    }

    /// Adds a part: an image, a document or a text.
    #[must_use]
    pub fn part(mut self, part: Part) -> Self {
        self.parts.push(part);
        self
    }

    /// Adds a part that was checked already, so that its data are not decoded again.
    #[doc(hidden)]
    #[must_use]
    pub fn checked_part(mut self, part: CheckedPart) -> Self {
        let part = part.into_part();
        if self.checked.len() == self.parts.len() {
            self.checked.push(data_length(&part));
        }
        self.part(part)
    }

    /// Returns the parts; `true` with each that was checked already, and that has not been replaced by one of another length.
    pub(crate) fn take_parts(&mut self) -> impl Iterator<Item = (Part, bool)> + use<> {
        let checked = std::mem::take(&mut self.checked);
        let parts = std::mem::take(&mut self.parts).into_iter().enumerate();
        parts.map(move |(at, part)| {
            let is_checked = checked.get(at) == Some(&data_length(&part));
            (part, is_checked)
        })
    }
}

/// Returns the length of the data of an image or document, as it was given.
pub(crate) fn data_length(part: &Part) -> usize {
    match part {
        Part::Image { data, .. } | Part::Document { data, .. } => data.len(),
        Part::Text { .. }
        | Part::Thinking { .. }
        | Part::ToolCall(_)
        | Part::ToolResult(_)
        | Part::ProviderItem(_) => 0,
        Part::Framing { .. } | _ => 0,
    }
}

impl From<String> for ToolOutput {
    fn from(content: String) -> Self {
        Self::new(content)
    }
}

impl From<&str> for ToolOutput {
    fn from(content: &str) -> Self {
        Self::new(content)
    }
}

impl From<serde_json::Value> for ToolOutput {
    /// Writes the value as compact JSON.
    fn from(value: serde_json::Value) -> Self {
        Self::new(value.to_string())
    }
}
