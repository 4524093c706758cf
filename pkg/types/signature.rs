//! A provider's proof of what its model thought.

use serde::{Deserialize, Serialize};

use super::Text;

/// A provider's proof of reasoning or of the reasoning behind a call, for that provider alone.
///
/// It goes back unchanged, but only to who made it: other vendors refuse a request that has it.
///
/// # Examples
///
/// ```
/// use forgeline::types::Signature;
///
/// let signature = Signature::new("gemini", "c2lnbmVk");
/// assert_eq!(signature.for_protocol("gemini").map(|proof| proof.as_str()), Some("c2lnbmVk"));
/// assert_eq!(signature.for_protocol("anthropic"), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Signature {
    /// The wire protocol of who made it, such as `anthropic`.
    pub protocol: Text,
    /// The proof, as the provider sent it.
    pub proof: Text,
}

impl Signature {
    /// A proof that was made by a provider that speaks `protocol`.
    #[must_use]
    pub fn new(protocol: impl Into<Text>, proof: impl Into<Text>) -> Self {
        Self { protocol: protocol.into(), proof: proof.into() }
    }

    /// The proof, for requests in the protocol that it was made in; `None` for all others.
    #[must_use]
    pub fn for_protocol(&self, protocol: &str) -> Option<&Text> {
        (self.protocol == protocol).then_some(&self.proof)
    }
}
