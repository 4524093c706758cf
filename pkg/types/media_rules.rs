//! The pictures and documents that a provider takes.

use serde::{Deserialize, Serialize};

use super::setters;

/// The pictures and documents that a provider takes, where it takes [any](super::Capabilities). What it would refuse is
/// refused before it is in a conversation, where it would fail each request. Default: all of them.
///
/// # Examples
///
/// ```
/// use forgeline::types::{MediaRules, ModelInfo};
///
/// let rules = MediaRules::default().max_picture_letters(Some(5 << 20)).picture_addresses(false);
/// let model = ModelInfo::new("mine", "large").media(rules);
/// assert!(!model.media.picture_addresses);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing in common")]
pub struct MediaRules {
    /// Longest picture, in letters of base64. `None` where it is not known.
    pub max_picture_letters: Option<u64>,
    /// `true` when a picture may be an address.
    pub picture_addresses: bool,
    /// `true` when a document may be an address.
    pub document_addresses: bool,
    /// `true` when documents of all kinds are taken, and not PDF and text alone.
    pub all_documents: bool,
}

impl Default for MediaRules {
    fn default() -> Self {
        Self {
            max_picture_letters: None,
            picture_addresses: true,
            document_addresses: true,
            all_documents: true,
        }
    }
}

impl MediaRules {
    setters! {
        MediaRules:
        max_picture_letters(Option<u64>),
        picture_addresses(bool),
        document_addresses(bool),
        all_documents(bool),
    }
}
