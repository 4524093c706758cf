//! The places of text in the output.

use super::items::Kind;
use crate::llm::ContentType;

/// The place of a text in an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Text,
    Refusal,
    Reasoning,
    Summary,
}

impl Place {
    /// Returns the place of a part of this type.
    pub(super) fn of(part: &str) -> Option<Self> {
        Some(match part {
            "output_text" | "text" => Self::Text,
            "refusal" => Self::Refusal,
            "reasoning_text" => Self::Reasoning,
            "summary_text" => Self::Summary,
            _ => return None,
        })
    }

    /// Returns the kind of item that has such texts.
    pub(super) fn item(self) -> Kind {
        match self {
            Self::Text | Self::Refusal => Kind::Message,
            Self::Reasoning | Self::Summary => Kind::Reasoning,
        }
    }

    /// Returns the type of such a text.
    pub(super) fn content_type(self) -> ContentType {
        match self {
            Self::Text => ContentType::Message,
            Self::Refusal => ContentType::Refusal,
            Self::Reasoning | Self::Summary => ContentType::Thinking,
        }
    }
}
