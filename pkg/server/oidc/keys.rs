//! The keys with which a login server signs.

use jsonwebtoken::{
    Algorithm, AlgorithmFamily, DecodingKey,
    jwk::{Jwk, KeyAlgorithm, PublicKeyUse},
};
use serde_json::Value;

/// Maximum number of keys that are kept.
const MAX_KEYS: usize = 100;

/// The keys of a login server.
#[derive(Default)]
pub(super) struct KeySet(Vec<SignatureKey>);

/// A public key.
pub(super) struct SignatureKey {
    id: Option<String>,
    /// The only algorithm of this key, if its description has one.
    algorithm: Option<KeyAlgorithm>,
    pub(super) key: DecodingKey,
}

impl KeySet {
    /// Reads a JSON Web Key Set. What is of another use, a secret, or not known is left out.
    pub(super) fn read(set: &Value) -> Self {
        let keys = set.get("keys").and_then(Value::as_array).into_iter().flatten();
        Self(keys.filter_map(SignatureKey::read).take(MAX_KEYS).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the key with this id; for a token without an id, the only one.
    pub(super) fn find(&self, id: Option<&str>) -> Option<&SignatureKey> {
        match (id, self.0.as_slice()) {
            (Some(id), keys) => keys.iter().find(|key| key.id.as_deref() == Some(id)),
            (None, [only]) => Some(only),
            (None, _) => None,
        }
    }
}

impl SignatureKey {
    fn read(key: &Value) -> Option<Self> {
        let jwk: Jwk = serde_json::from_value(key.clone()).ok()?;
        let is_for_signatures =
            matches!(jwk.common.public_key_use, None | Some(PublicKeyUse::Signature));
        let key = DecodingKey::from_jwk(&jwk).ok()?;
        // Whoever knows a shared secret makes tokens with it.
        let is_public = key.family() != AlgorithmFamily::Hmac;
        let (id, algorithm) = (jwk.common.key_id, jwk.common.key_algorithm);
        (is_for_signatures && is_public).then_some(Self { id, algorithm, key })
    }

    /// Returns `true` if tokens that are signed with this key may say this algorithm.
    pub(super) fn allows(&self, algorithm: Algorithm) -> bool {
        algorithm.family() == self.key.family()
            && self.algorithm.is_none_or(|only| only.to_string() == format!("{algorithm:?}"))
    }
}
