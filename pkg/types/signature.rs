//! A provider's signature of its model's reasoning.

use serde::{Deserialize, Serialize};

use serde_json::{Map, Value};

use super::Json;
use super::{Text, setters};

/// The source of an answer, to which its signatures and items are bound.
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
    /// The requested model; empty if the server chose it.
    pub model: Text,
    /// The account used, described without secrets; empty if not known, as in histories written before the field
    /// existed.
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

    /// Returns `true` if the provider and endpoint are the same and, as far as both are known, the account.
    #[doc(hidden)]
    pub fn is_beside(&self, other: &Self) -> bool {
        let is_known = !self.account.is_empty() && !other.account.is_empty();
        self.provider == other.provider
            && self.endpoint == other.endpoint
            && (!is_known || self.account == other.account)
    }
}

/// A provider's signature of reasoning, or of the reasoning behind a call.
///
/// A signature is sent back unchanged, and only to the model, endpoint and provider that made it: others reject a
/// request containing it. A provider over HTTP sets the [`origin`](Self::origin) of signatures, and leaves out those
/// with a different one.
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
    /// The wire protocol of the provider that made the signature, such as `anthropic`.
    pub protocol: Text,
    /// The provider, endpoint and model that made the signature; `None` if not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Box<Origin>>,
    /// The signature, as the provider sent it. For a call it may be a JSON object: the members that the
    /// provider wants back in addition to the call's name and arguments.
    pub proof: Text,
}

impl Signature {
    /// Creates the signature of a provider that speaks `protocol`.
    #[must_use]
    pub fn new(protocol: impl Into<Text>, proof: impl Into<Text>) -> Self {
        Self { protocol: protocol.into(), origin: None, proof: proof.into() }
    }

    /// Returns the signature for a request in `protocol`; `None` if it was made in another one.
    #[must_use]
    pub fn for_protocol(&self, protocol: &str) -> Option<&Text> {
        (self.protocol == protocol).then_some(&self.proof)
    }

    /// Returns the members that go back with a call in `protocol`, if the proof is a JSON object; empty
    /// otherwise.
    #[doc(hidden)]
    pub fn members(&self, protocol: &str) -> Map<String, Value> {
        let proof = self.for_protocol(protocol).filter(|proof| proof.starts_with('{'));
        let members = proof.and_then(|proof| Json::parse(proof).ok());
        match members.map(|members| members.to_value()) {
            Some(Value::Object(members)) => members,
            _ => Map::new(),
        }
    }
}
