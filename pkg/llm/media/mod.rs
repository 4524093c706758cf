//! Images and documents in the forms that every model accepts that accepts any.
//!
//! A vendor rejects a request because of one part that it cannot read, and each later one too, since the part stays in the
//! conversation. Parts are therefore checked before they are added.

mod accepted;
pub(crate) mod base64;
mod kind;
mod part;
#[cfg(test)]
mod tests;

pub use accepted::{AcceptedMedia, MediaRefusal, unfit};
pub use kind::{is_text, picture_kind};
pub use part::{CheckedPart, OmittedPart, document_text, inline, of_result, unreadable};
