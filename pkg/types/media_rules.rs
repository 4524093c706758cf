//! The images and documents that a provider accepts.

use serde::{Deserialize, Serialize};

use super::setters;

/// The kinds of images that a provider accepts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PictureKinds {
    /// Any, as far as is known.
    #[default]
    Any,
    /// PNG, JPEG, WebP and GIF.
    Web,
    /// PNG, JPEG, WebP, HEIC and HEIF.
    Photo,
}

/// The images and documents that a provider accepts, if it accepts [any](super::Capabilities). Others are rejected before they
/// enter a conversation, where they would make every request fail. Default: all of them.
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
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
#[non_exhaustive]
pub struct MediaRules {
    /// The maximum length of an image, in base64 characters. `None` if it is not known.
    pub max_picture_letters: Option<u64>,
    /// The kinds of images that are accepted.
    pub pictures: PictureKinds,
    /// `true` if an image may be given by its URL.
    pub picture_addresses: bool,
    /// `true` if a document may be given by its URL.
    pub document_addresses: bool,
    /// `true` if documents of all kinds are accepted, not only PDF and text.
    pub all_documents: bool,
}

impl Default for MediaRules {
    fn default() -> Self {
        Self {
            max_picture_letters: None,
            pictures: PictureKinds::Any,
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
        pictures(PictureKinds),
        picture_addresses(bool),
        document_addresses(bool),
        all_documents(bool),
    }
}
