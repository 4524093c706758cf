//! Errors of an HTTP exchange.

use std::{error::Error as StdError, time::Duration};

use crate::{ProviderError, TimeoutKind};
use forgeline_types::Text;

/// The reason why an HTTP exchange failed. No variant holds a URL's query or a header.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// The request could not be built from its parts.
    #[error("the request is not valid HTTP; check the base URL and the extra headers")]
    Invalid {
        /// The HTTP client's error.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The transport does not send the request, such as one that replays a recording of another request.
    #[error("{message}")]
    Refused {
        /// The reason, and the remedy.
        message: Text,
    },
    /// The server could not be reached.
    #[error("cannot reach {host}")]
    Connect {
        /// Host and port.
        host: Text,
        /// The HTTP client's error.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// Making the connection took too long.
    #[error("connecting to {host} timed out after {after:?}")]
    ConnectTimeout {
        /// Host and port.
        host: Text,
        /// The time limit in force.
        after: Duration,
    },
    /// The connection broke.
    #[error("the connection broke")]
    Broken {
        /// The HTTP client's error.
        source: Box<dyn StdError + Send + Sync>,
    },
}

impl TransportError {
    /// Returns `true` if the same request may succeed when sent again.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Invalid { .. } | Self::Refused { .. } => false,
            Self::Connect { .. } | Self::ConnectTimeout { .. } | Self::Broken { .. } => true,
        }
    }

    /// Converts the error into that of a provider whose body broke off after `received` bytes, or before it
    /// began.
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
