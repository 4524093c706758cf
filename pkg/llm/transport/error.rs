//! Errors of an exchange.

use std::{error::Error as StdError, time::Duration};

use crate::{
    llm::{ProviderError, TimeoutKind},
    types::Text,
};

/// An error of an HTTP exchange. No variant has a header or the query of a URL.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// The request could not be built from its parts.
    #[error("the request is not valid HTTP; check the base URL and the extra headers")]
    Invalid {
        /// The error of the HTTP client.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The transport does not send it, such as one that plays a recording of another request.
    #[error("{message}")]
    Refused {
        /// The reason, and what to do.
        message: Text,
    },
    /// The server could not be reached.
    #[error("cannot reach {host}")]
    Connect {
        /// Host and port.
        host: Text,
        /// The error of the HTTP client.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// Making the connection took too long.
    #[error("connecting to {host} timed out after {after:?}")]
    ConnectTimeout {
        /// Host and port.
        host: Text,
        /// The limit in force.
        after: Duration,
    },
    /// The connection broke.
    #[error("the connection broke")]
    Broken {
        /// The error of the HTTP client.
        source: Box<dyn StdError + Send + Sync>,
    },
}

impl TransportError {
    /// Returns `true` when the same request may succeed if sent again.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Invalid { .. } | Self::Refused { .. } => false,
            Self::Connect { .. } | Self::ConnectTimeout { .. } | Self::Broken { .. } => true,
        }
    }

    /// Converts this into the error of a provider whose body broke after `received` bytes.
    #[must_use]
    pub fn into_provider_error(self, received: u64) -> ProviderError {
        match self {
            Self::Invalid { source } => ProviderError::Config {
                message: Text::from(format!("the request is not valid HTTP: {source}")),
            },
            Self::Refused { message } => ProviderError::Config { message },
            Self::Connect { host, source } => ProviderError::Connect { host, source },
            Self::ConnectTimeout { after, .. } => {
                ProviderError::Timeout { which: TimeoutKind::Connect, after }
            }
            Self::Broken { source } => ProviderError::Body { received, source },
        }
    }
}
