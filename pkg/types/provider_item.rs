//! Parts of answers besides text, reasoning and calls.

use serde::{Deserialize, Serialize};

use super::{Json, Origin, Text, spelling::keep_spelling};

/// Something in an answer that is neither text nor readable reasoning nor a call for the agent.
///
/// Kept in the conversation, it is sent back unchanged to a provider of the same protocol, and to no
/// other.
///
/// # Examples
///
/// ```
/// use forgeline::types::{ItemKind, Json, ProviderItem};
///
/// let raw = Json::parse(r#"{"type":"redacted_thinking","data":"x"}"#)?;
/// let item = ProviderItem::new("anthropic", ItemKind::Reasoning, raw);
/// assert!(serde_json::to_string(&item)?.contains(r#""kind":"reasoning""#));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(remote = "Self")]
pub struct ProviderItem {
    /// The wire protocol that it belongs to, such as `anthropic`.
    pub protocol: Text,
    /// Its kind.
    #[serde(flatten)]
    pub kind: ItemKind,
    /// As the vendor sent it.
    pub raw: Json,
    /// The provider, endpoint and model that it came from; `None` when that is not known. Reasoning goes
    /// back to these alone, anything else to the provider and endpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Box<Origin>>,
}

keep_spelling!(ProviderItem);

/// Prefix of the names of unknown events, so that no block's name is like one.
const UNKNOWN_EVENT: &str = "event:";

impl ProviderItem {
    /// Creates the item of a stream event that the decoder does not know: to look at, not to send back.
    pub(crate) fn unknown_event(protocol: &str, kind: &str, raw: Json) -> Self {
        let name = Text::from([UNKNOWN_EVENT, kind].concat());
        Self::new(protocol, ItemKind::Other { name }, raw)
    }

    /// Returns `true` for a stream event that the decoder did not know.
    pub(crate) fn is_unknown_event(&self) -> bool {
        matches!(&self.kind, ItemKind::Other { name } if name.starts_with(UNKNOWN_EVENT))
    }

    /// Creates an item of `protocol`.
    #[must_use]
    pub fn new(protocol: impl Into<Text>, kind: ItemKind, raw: Json) -> Self {
        Self { protocol: protocol.into(), kind, raw, origin: None }
    }
}

/// Kind of a [`ProviderItem`].
///
/// # Examples
///
/// ```
/// use forgeline::types::ItemKind;
///
/// let kind = ItemKind::Media { media_type: "image/png".into() };
/// assert_eq!(serde_json::to_string(&kind)?, r#"{"kind":"media","media_type":"image/png"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ItemKind {
    /// A source of the text before it.
    Citation(Citation),
    /// A tool that the provider runs itself was called.
    ServerToolCall {
        /// The provider's id of the call.
        id: Text,
        /// The tool, such as `web_search`.
        tool_name: Text,
        /// The arguments of the call.
        arguments: Json,
    },
    /// The result of such a tool; it is in [`ProviderItem::raw`].
    ServerToolResult {
        /// The id of the call.
        id: Text,
        /// The tool, or the vendor's word for such a result.
        tool_name: Text,
        /// `true` if the tool failed.
        is_error: bool,
    },
    /// Reasoning that only the provider can read: redacted, encrypted, or a signature of it.
    Reasoning,
    /// Media that the model made, such as a picture.
    Media {
        /// The media type, such as `image/png`.
        media_type: Text,
    },
    /// Anything else, by the vendor's word.
    Other {
        /// The block's name, such as `compaction`; of an unknown event, `event:` and its type.
        name: Text,
    },
}

/// The source of something that the model wrote. What the vendor did not report is `None`.
///
/// # Examples
///
/// ```
/// use forgeline::types::Citation;
///
/// let citation: Citation = serde_json::from_str(r#"{"url":"https://example.org"}"#)?;
/// assert_eq!(citation.url.as_deref(), Some("https://example.org"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(default)]
pub struct Citation {
    /// Address of the source.
    pub url: Option<Text>,
    /// Title of the source, or name of the document.
    pub title: Option<Text>,
    /// The passage that is cited.
    pub cited_text: Option<String>,
    /// Position of the document in the request, from 0.
    pub document_index: Option<u32>,
    /// Start of the citation in the answer's text, in the vendor's unit.
    pub start: Option<u64>,
    /// End of the citation, in the same unit.
    pub end: Option<u64>,
}
