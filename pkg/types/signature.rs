//! A provider's signature of its model's reasoning.

use serde::{Deserialize, Serialize};

#[cfg(feature = "http")]
use serde_json::{Map, Value};

#[cfg(feature = "http")]
use super::Json;
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
    /// The signature, as the provider sent it. Of a call it may be a JSON object: the members that the
    /// provider wants back beside the call's name and arguments.
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

    /// Returns the members of a call that go back with it in `protocol`, where the proof is an object of
    /// them.
    #[cfg(feature = "http")]
    pub(crate) fn members(&self, protocol: &str) -> Map<String, Value> {
        let proof = self.for_protocol(protocol).filter(|proof| proof.starts_with('{'));
        let members = proof.and_then(|proof| Json::parse(proof).ok());
        match members.map(|members| members.to_value()) {
            Some(Value::Object(members)) => members,
            _ => Map::new(),
        }
    }
}
