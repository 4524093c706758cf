//! The error of a provider that cannot be chosen.

use axum::http::StatusCode;

use crate::Problem;
use forgeline_llm::{ProviderError, without_secrets};
use forgeline_store::{SecretError, SecretValue, StoreError};
use forgeline_types::{Text, private::clipped};

/// A provider that cannot be chosen for a message. It never contains a key. As a [`Problem`], it is the response to the request.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProviderChoiceError {
    /// The caller, its team and the platform have no instance of this id.
    #[error("there is no provider instance `{id}`; choose one that you have set up")]
    #[non_exhaustive]
    UnknownInstance {
        /// The id.
        id: Text,
    },
    /// The service has no such kind of provider, or none at all.
    #[error("there is no kind of provider `{kind}`; ask the operator of the service to add it")]
    #[non_exhaustive]
    UnknownProvider {
        /// The kind.
        kind: Text,
    },
    /// The provider does not have this model.
    #[error("the provider `{kind}` has no model `{model}`; choose one of {known}")]
    #[non_exhaustive]
    UnknownModel {
        /// The kind.
        kind: Text,
        /// The model.
        model: Text,
        /// The models that it has.
        known: String,
    },
    /// There is no key.
    #[error("there is no key for the provider `{kind}`; set the secret `{secret}`")]
    #[non_exhaustive]
    MissingApiKey {
        /// The kind.
        kind: Text,
        /// The name of the secret.
        secret: Text,
    },
    /// The key does not have the form of such keys.
    #[error(
        "the key for the provider `{kind}` is invalid: {reason}; set the secret `{secret}` again"
    )]
    #[non_exhaustive]
    InvalidApiKey {
        /// The kind.
        kind: Text,
        /// The name of the secret.
        secret: Text,
        /// The fault.
        reason: &'static str,
    },
    /// The operator does not allow this address.
    #[error(
        "the address of the provider instance `{id}` is not allowed; remove it, or ask the operator of the service to allow it"
    )]
    #[non_exhaustive]
    AddressNotAllowed {
        /// The id of the instance.
        id: Text,
    },
    /// The caller has to set up a provider first.
    #[error("this service has no keys of its own; set up a provider of yours first")]
    NoInstance,
    /// The provider cannot be built from its settings.
    #[error("the provider `{kind}` cannot be set up; check its settings: {reason}")]
    #[non_exhaustive]
    NotBuilt {
        /// The kind.
        kind: Text,
        /// The reason.
        reason: String,
    },
    /// A secret cannot be read.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// A profile cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ProviderChoiceError {
    /// Creates the error of a provider that was not built; a function that repeats its key is not repeated.
    pub(super) fn not_built(kind: Text, key: Option<&SecretValue>, error: &ProviderError) -> Self {
        let reason = error.to_string();
        let reason = key.map_or_else(|| reason.clone(), |key| reason.replace(key.expose(), "…"));
        Self::NotBuilt { kind, reason: without_secrets(&reason) }
    }
}

impl From<ProviderChoiceError> for Problem {
    fn from(error: ProviderChoiceError) -> Self {
        use ProviderChoiceError as Error;
        let (status, code) = match error {
            Error::Store(error) | Error::Secret(SecretError::Store(error)) => return error.into(),
            Error::Secret(ref cause) => {
                tracing::error!(error = %cause, "a secret cannot be read");
                (StatusCode::INTERNAL_SERVER_ERROR, "secret_unreadable")
            }
            Error::UnknownInstance { .. } => (StatusCode::NOT_FOUND, "not_found"),
            Error::UnknownProvider { .. } => (StatusCode::BAD_REQUEST, "unknown_provider"),
            Error::UnknownModel { .. } => (StatusCode::BAD_REQUEST, "unknown_model"),
            Error::MissingApiKey { .. } | Error::NoInstance => {
                (StatusCode::CONFLICT, "missing_api_key")
            }
            Error::InvalidApiKey { .. } => (StatusCode::CONFLICT, "invalid_api_key"),
            Error::AddressNotAllowed { .. } => (StatusCode::FORBIDDEN, "address_not_allowed"),
            Error::NotBuilt { .. } => (StatusCode::CONFLICT, "provider_not_built"),
        };
        Self::new(status, code, clipped(&error.to_string(), 300).into_owned())
    }
}
