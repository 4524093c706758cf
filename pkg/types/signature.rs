//! A provider's signature of its model's reasoning.

use serde::{Deserialize, Serialize};

use super::Text;

/// A provider's signature of reasoning, or of the reasoning behind a call.
///
/// It is sent back unchanged, and only to the provider that made it: others reject a request that has
/// it.
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
    /// The wire protocol of the provider that made it, such as `anthropic`.
    pub protocol: Text,
    /// The signature, as the provider sent it.
    pub proof: Text,
}

impl Signature {
    /// Creates the signature of a provider that speaks `protocol`.
    #[must_use]
    pub fn new(protocol: impl Into<Text>, proof: impl Into<Text>) -> Self {
        Self { protocol: protocol.into(), proof: proof.into() }
    }

    /// Returns the signature for requests in the protocol that it was made in; `None` for all others.
    #[must_use]
    pub fn for_protocol(&self, protocol: &str) -> Option<&Text> {
        (self.protocol == protocol).then_some(&self.proof)
    }
}
