//! Parts of an answer other than text, reasoning and calls.

use serde::{Deserialize, Serialize};

use super::{Json, Origin, Text, spelling::keep_spelling};

/// A part of an answer that is not text, readable reasoning or a call for the agent.
///
/// Items kept in the conversation are sent back unchanged to a provider of the same protocol, and to no
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
#[serde(remote = "Self")]
#[non_exhaustive]
pub struct ProviderItem {
    /// The wire protocol of the item, such as `anthropic`.
    pub protocol: Text,
    /// The kind of the item.
    #[serde(flatten)]
    pub kind: ItemKind,
    /// The JSON, as the vendor sent it.
    pub raw: Json,
    /// The provider, endpoint and model that the item came from; `None` if not known. Reasoning is sent
    /// back to exactly these; anything else to the same provider and endpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Box<Origin>>,
}

keep_spelling!(ProviderItem);

/// Prefix of the names of unknown events, so that they cannot clash with a block's name.
const UNKNOWN_EVENT: &str = "event:";

impl ProviderItem {
    /// Creates the item of a stream event that the decoder does not know: for inspection, not to be sent back.
    #[doc(hidden)]
    pub fn unknown_event(protocol: &str, kind: &str, raw: Json) -> Self {
        let name = Text::from([UNKNOWN_EVENT, kind].concat());
        Self::new(protocol, ItemKind::Other { name }, raw)
    }

    /// Returns `true` for a stream event that the decoder does not know.
    #[doc(hidden)]
    pub fn is_unknown_event(&self) -> bool {
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
/// let kind = ItemKind::media("image/png");
/// assert_eq!(serde_json::to_string(&kind)?, r#"{"kind":"media","media_type":"image/png"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ItemKind {
    /// A source of the preceding text.
    Citation(Citation),
    /// A call of a tool that the provider runs itself.
    #[non_exhaustive]
    ServerToolCall {
        /// The provider's id of the call.
        #[serde(rename = "id")]
        call_id: Text,
        /// The tool, such as `web_search`.
        tool_name: Text,
        /// The arguments of the call.
        arguments: Json,
    },
    /// The result of a tool that the provider ran, contained in [`ProviderItem::raw`].
    #[non_exhaustive]
    ServerToolResult {
        /// The id of the call.
        #[serde(rename = "id")]
        call_id: Text,
        /// The tool, or the vendor's name for such a result.
        tool_name: Text,
        /// `true` if the tool failed.
        is_error: bool,
    },
    /// Reasoning that only the provider can read: redacted, encrypted, or its signature.
    Reasoning,
    /// Media made by the model, such as an image.
    #[non_exhaustive]
    Media {
        /// The media type, such as `image/png`.
        media_type: Text,
    },
    /// Anything else, by the vendor's name.
    #[non_exhaustive]
    Other {
        /// The block's name, such as `compaction`; for an unknown event, `event:` followed by its type.
        name: Text,
    },
}

impl ItemKind {
    /// Creates the kind of a call that the provider runs itself.
    #[must_use]
    pub fn server_tool_call(
        call_id: impl Into<Text>,
        tool_name: impl Into<Text>,
        arguments: Json,
    ) -> Self {
        Self::ServerToolCall { call_id: call_id.into(), tool_name: tool_name.into(), arguments }
    }

    /// Creates the kind of the result of a tool that the provider ran.
    #[must_use]
    pub fn server_tool_result(
        call_id: impl Into<Text>,
        tool_name: impl Into<Text>,
        is_error: bool,
    ) -> Self {
        Self::ServerToolResult { call_id: call_id.into(), tool_name: tool_name.into(), is_error }
    }

    /// Creates the kind of media with this media type.
    #[must_use]
    pub fn media(media_type: impl Into<Text>) -> Self {
        Self::Media { media_type: media_type.into() }
    }

    /// Creates the kind of anything else, by the vendor's name.
    #[must_use]
    pub fn other(name: impl Into<Text>) -> Self {
        Self::Other { name: name.into() }
    }
}

/// The source of something that the model wrote. Fields that the vendor did not report are `None`.
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
#[serde(default)]
#[non_exhaustive]
pub struct Citation {
    /// The URL of the source.
    pub url: Option<Text>,
    /// The title of the source, or the name of the document.
    pub title: Option<Text>,
    /// The cited passage.
    pub cited_text: Option<String>,
    /// The position of the document in the request, from 0.
    pub document_index: Option<u32>,
    /// The start of the citation in the answer's text, in the vendor's unit.
    pub start: Option<u64>,
    /// The end of the citation, in the same unit.
    pub end: Option<u64>,
}
