//! The hashes of the chain.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest as _, Sha256};

/// A SHA-256 hash, written as 64 hexadecimal digits.
///
/// # Examples
///
/// ```
/// use forgeline::store::AuditHash;
///
/// let none = AuditHash::default();
/// assert_eq!(none.to_string(), "0".repeat(64));
/// assert_eq!("0".repeat(64).parse(), Ok(none));
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct AuditHash([u8; 32]);

/// The error of a text that does not state a hash.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected a hash of 64 hexadecimal digits; pass one that the audit store has given")]
#[non_exhaustive]
pub struct ParseAuditHashError;

impl AuditHash {
    /// Returns the hash of fields, each with its length, so that no two lists of fields have the same bytes.
    pub(super) fn of(fields: &[&[u8]]) -> Self {
        let mut hash = Sha256::new();
        for field in fields {
            hash.update((field.len() as u64).to_be_bytes());
            hash.update(field);
        }
        Self(hash.finalize().into())
    }

    /// Returns the hash of a row: that of the row before, the number and the digest of its content, one after the other.
    pub(super) fn of_row(before: &Self, seq: u64, digest: &Self) -> Self {
        let mut hash = Sha256::new();
        hash.update(before.0);
        hash.update(seq.to_be_bytes());
        hash.update(digest.0);
        Self(hash.finalize().into())
    }

    /// Returns a hash of these bytes; `None` if there are not 32.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// Returns the bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for AuditHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for AuditHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl FromStr for AuditHash {
    type Err = ParseAuditHashError;

    fn from_str(text: &str) -> Result<Self, ParseAuditHashError> {
        let digits = text.as_bytes();
        let mut bytes = [0; 32];
        if digits.len() != 2 * bytes.len() {
            return Err(ParseAuditHashError);
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |at: usize| pair.get(at).and_then(|it| char::from(*it).to_digit(16));
            let value = digit(0).zip(digit(1)).map(|(high, low)| high * 16 + low);
            *byte = value.and_then(|it| u8::try_from(it).ok()).ok_or(ParseAuditHashError)?;
        }
        Ok(Self(bytes))
    }
}

impl Serialize for AuditHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for AuditHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}
