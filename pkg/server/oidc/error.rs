//! The failures of a login server.

/// The keys of a login server could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OidcError {
    /// The URL of the issuer, or of its keys, cannot be used.
    #[non_exhaustive]
    #[error(
        "{url} cannot be used as the URL of a login server; expected an https URL, or an http one of this machine"
    )]
    Url {
        /// The URL, without user, password and query.
        url: String,
    },
    /// A page of the login server could not be read.
    #[non_exhaustive]
    #[error("{url} could not be read: {reason}; check the issuer and that this machine reaches it")]
    Unreachable {
        /// The URL, without user, password and query.
        url: String,
        /// The reason, which has no part of the response.
        reason: String,
    },
    /// The login server has another name than the configured one.
    #[non_exhaustive]
    #[error(
        "the login server calls itself {actual:?}, not {expected:?}; set the issuer exactly as the server has it"
    )]
    OtherIssuer {
        /// The configured issuer.
        expected: String,
        /// The issuer in the server's own description.
        actual: String,
    },
    /// The login server has no key that tokens could be checked with.
    #[non_exhaustive]
    #[error(
        "{url} has no key for RS256, PS256, ES256 or EdDSA; set the login server to sign with one of them"
    )]
    NoKeys {
        /// The URL of the keys, without user, password and query.
        url: String,
    },
}
