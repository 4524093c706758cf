//! What providers put into answers besides text, reasoning and calls.

use serde::{Deserialize, Serialize};

use super::{Json, Text};

/// Something in an answer that is neither text nor readable reasoning nor a call for the agent.
///
/// Kept in the conversation, it goes back to a provider of the same protocol as it came; others do not
/// get it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ProviderItem {
    /// The wire protocol that it belongs to, such as `anthropic`.
    pub protocol: Text,
    /// What it is.
    #[serde(flatten)]
    pub kind: ItemKind,
    /// As the vendor sent it.
    pub raw: Json,
}

/// What the names of unknown events begin with, so that no block's name is like one.
const UNKNOWN_EVENT: &str = "event:";

impl ProviderItem {
    /// An event of a stream that the decoder does not know: to look at, not to send back.
    pub(crate) fn unknown_event(protocol: &str, kind: &str, raw: Json) -> Self {
        let name = Text::from([UNKNOWN_EVENT, kind].concat());
        Self::new(protocol, ItemKind::Other { name }, raw)
    }

    /// Whether it is an event of a stream that the decoder did not know.
    pub(crate) fn is_unknown_event(&self) -> bool {
        matches!(&self.kind, ItemKind::Other { name } if name.starts_with(UNKNOWN_EVENT))
    }

    /// An item of `protocol`.
    #[must_use]
    pub fn new(protocol: impl Into<Text>, kind: ItemKind, raw: Json) -> Self {
        Self { protocol: protocol.into(), kind, raw }
    }
}

/// What a [`ProviderItem`] is.
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
        /// What it was asked.
        arguments: Json,
    },
    /// What such a tool answered; it is in [`ProviderItem::raw`].
    ServerToolResult {
        /// The id of the call.
        id: Text,
        /// The tool, or the vendor's word for such a result.
        tool_name: Text,
        /// Whether the tool failed.
        is_error: bool,
    },
    /// Reasoning that only the provider can read: redacted, encrypted, or a proof of it.
    Reasoning,
    /// Media that the model made, such as a picture.
    Media {
        /// Such as `image/png`.
        media_type: Text,
    },
    /// Anything else, by the vendor's word.
    Other {
        /// Such as `compaction`; of an event that is unknown here `event:` and its type.
        name: Text,
    },
}

/// Where something that the model wrote is from. What the vendor did not say is `None`.
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
    /// Which of the request's documents it is, from 0.
    pub document_index: Option<u32>,
    /// Where in the answer's text the citation begins, in the vendor's unit.
    pub start: Option<u64>,
    /// Where it ends.
    pub end: Option<u64>,
}
