//! A provider's signature of its model's reasoning.

use serde::{Deserialize, Serialize};

#[cfg(any(feature = "openai", feature = "anthropic", feature = "responses"))]
use serde_json::{Map, Value};

#[cfg(any(feature = "openai", feature = "anthropic", feature = "responses"))]
use super::Json;
use super::{Text, setters};

/// The place that an answer came from, to which its signatures and items are bound.
///
/// # Examples
///
/// ```
/// use forgeline::types::Origin;
///
/// let origin = Origin::new("anthropic", "api.anthropic.com", "claude-sonnet-5");
/// assert_ne!(origin, Origin::new("anthropic", "api.anthropic.com", "claude-opus-5"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Origin {
    /// The provider's name, such as `anthropic`.
    pub provider: Text,
    /// The host and path of the API, without user, password and query.
    pub endpoint: Text,
    /// The model that was asked; empty where the server chose it.
    pub model: Text,
    /// The account that was asked, in words that are not secret; empty where it is not known, as in histories of
    /// before.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub account: Text,
}

impl Origin {
    /// Creates the origin of answers of `model` at `endpoint`.
    #[must_use]
    pub fn new(
        provider: impl Into<Text>,
        endpoint: impl Into<Text>,
        model: impl Into<Text>,
    ) -> Self {
        Self {
            provider: provider.into(),
            endpoint: endpoint.into(),
            model: model.into(),
            account: Text::new(),
        }
    }

    setters! {
        Origin:
        account(into Text),
    }

    /// Returns `true` for the same endpoint and, as far as both are known, the same account.
    #[cfg(feature = "http")]
    pub(crate) fn is_beside(&self, other: &Self) -> bool {
        let is_known = !self.account.is_empty() && !other.account.is_empty();
        self.provider == other.provider
            && self.endpoint == other.endpoint
            && (!is_known || self.account == other.account)
    }
}

/// A provider's signature of reasoning, or of the reasoning behind a call.
///
/// A signature is sent back unchanged, and only to the model, endpoint and provider that made it: others reject a
/// request that has it. A provider over HTTP writes them into [`origin`](Self::origin), and leaves out what
/// has another one.
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
    /// The provider, endpoint and model that made it; `None` when that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Box<Origin>>,
    /// The signature, as the provider sent it. Of a call it may be a JSON object: the members that the
    /// provider wants back beside the call's name and arguments.
    pub proof: Text,
}

impl Signature {
    /// Creates the signature of a provider that speaks `protocol`.
    #[must_use]
    pub fn new(protocol: impl Into<Text>, proof: impl Into<Text>) -> Self {
        Self { protocol: protocol.into(), origin: None, proof: proof.into() }
    }

    /// Returns the signature for requests in the protocol that it was made in; `None` for all others.
    #[must_use]
    pub fn for_protocol(&self, protocol: &str) -> Option<&Text> {
        (self.protocol == protocol).then_some(&self.proof)
    }

    /// Returns the members of a call that go back with it in `protocol`, where the proof is an object of
    /// them.
    #[cfg(any(feature = "openai", feature = "anthropic", feature = "responses"))]
    pub(crate) fn members(&self, protocol: &str) -> Map<String, Value> {
        let proof = self.for_protocol(protocol).filter(|proof| proof.starts_with('{'));
        let members = proof.and_then(|proof| Json::parse(proof).ok());
        match members.map(|members| members.to_value()) {
            Some(Value::Object(members)) => members,
            _ => Map::new(),
        }
    }
}
