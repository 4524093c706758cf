//! The errors of secrets and of the keys that seal them.

use std::path::PathBuf;

use futures_core::future::BoxFuture;

use crate::StoreError;
use forgeline_types::Text;

/// The future of an operation of a [`SecretStore`](super::SecretStore).
pub type SecretFuture<'a, T> = BoxFuture<'a, Result<T, SecretError>>;

/// An error of a store of secrets. It never contains a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SecretError {
    /// A name, a scope or a value breaks a rule.
    #[error("invalid {what}: expected {expected}")]
    #[non_exhaustive]
    Invalid {
        /// The invalid item: `name of a secret`, `id of a scope` or `value of a secret`.
        what: &'static str,
        /// The rule.
        expected: String,
    },
    /// The scope has the maximum number of secrets.
    #[error("the scope has {most} secrets, the maximum; delete one first")]
    #[non_exhaustive]
    Full {
        /// The maximum.
        most: usize,
    },
    /// The store takes no secrets.
    #[error("secrets cannot be changed here; set them elsewhere: {reason}")]
    #[non_exhaustive]
    ReadOnly {
        /// The reason, and a remedy.
        reason: String,
    },
    /// The secret is encrypted with a key that is not among the keys.
    #[error(
        "secret `{name}` is encrypted with key {key}, which is not among the keys of this process; add that key \
         after the first one, or set the secret again"
    )]
    #[non_exhaustive]
    UnknownKey {
        /// The name of the secret.
        name: Text,
        /// The id of the key.
        key: Text,
    },
    /// The stored secret was changed, or was moved from another scope or name.
    #[error(
        "the stored secret `{name}` was changed or moved, and cannot be decrypted; set it again, and find out who \
         writes to the store"
    )]
    #[non_exhaustive]
    Changed {
        /// The name of the secret.
        name: Text,
    },
    /// The operating system gives no random bytes.
    #[error("the operating system gives no random bytes; try again once it does")]
    NoRandom,
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl SecretError {
    pub(super) fn invalid(what: &'static str, expected: impl Into<String>) -> Self {
        Self::Invalid { what, expected: expected.into() }
    }

    /// Creates the error of a scope that has the maximum number of secrets.
    #[must_use]
    pub fn full(most: usize) -> Self {
        Self::Full { most }
    }

    /// Creates the error of a store that takes no secrets, with a remedy.
    #[must_use]
    pub fn read_only(reason: impl Into<String>) -> Self {
        Self::ReadOnly { reason: reason.into() }
    }

    /// Creates the error of a stored secret that was changed or moved.
    #[must_use]
    pub fn changed(name: impl Into<Text>) -> Self {
        Self::Changed { name: name.into() }
    }
}

/// An error of the keys that encrypt secrets. It never contains a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SealingKeyError {
    /// The key file cannot be read.
    #[error("the key file {} cannot be read: {reason}; make one with `openssl rand -hex 32`", path.display())]
    #[non_exhaustive]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// Others than the owner may read the key file.
    #[error("others may read the key file {}; set its mode with `chmod 600`", path.display())]
    #[non_exhaustive]
    OpenToOthers {
        /// The file.
        path: PathBuf,
    },
    /// The environment variable is not set.
    #[error(
        "the environment variable {name} is not set; set it to the output of `openssl rand -hex 32`"
    )]
    #[non_exhaustive]
    Missing {
        /// The variable.
        name: String,
    },
    /// A key is not 32 bytes as hexadecimal digits.
    #[error(
        "key {number} is invalid: expected 64 hexadecimal digits, as `openssl rand -hex 32` prints them, one key a line"
    )]
    #[non_exhaustive]
    Malformed {
        /// The number of the key, from 1.
        number: usize,
    },
    /// A key occurs twice.
    #[error("key {number} occurs twice; remove one of them")]
    #[non_exhaustive]
    Twice {
        /// The number of the second one, from 1.
        number: usize,
    },
    /// There is no key, or there are too many.
    #[error("expected 1 to {most} keys, not {found}; the first encrypts, and all decrypt")]
    #[non_exhaustive]
    Count {
        /// The number of keys.
        found: usize,
        /// The maximum.
        most: usize,
    },
}
