//! Errors of an HTTP exchange.

use std::{error::Error as StdError, time::Duration};

use crate::{ProviderError, TimeoutKind};
use forgeline_types::Text;

/// The reason why an HTTP exchange failed. No variant holds a URL's query or a header.
///
/// # Examples
///
/// ```
/// use forgeline::llm::transport::TransportError;
///
/// let error = TransportError::connect("localhost:11434", "connection refused");
/// assert!(error.is_retryable());
/// assert!(error.to_string().contains("localhost:11434"));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// The request could not be built from its parts.
    #[error("the request is not valid HTTP; check the base URL and the extra headers")]
    #[non_exhaustive]
    Invalid {
        /// The HTTP client's error.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The transport does not send the request, such as one that replays a recording of another request.
    #[error("{message}")]
    #[non_exhaustive]
    Refused {
        /// The reason, and the remedy.
        message: Text,
    },
    /// The server could not be reached.
    #[error("cannot reach {host}; check the address and that the server is running")]
    #[non_exhaustive]
    Connect {
        /// Host and port.
        host: Text,
        /// The HTTP client's error.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// Making the connection took too long.
    #[error(
        "connecting to {host} timed out after {after:?}; check the address, or allow more time"
    )]
    #[non_exhaustive]
    ConnectTimeout {
        /// Host and port.
        host: Text,
        /// The time limit in force.
        after: Duration,
    },
    /// The connection broke.
    #[error("the connection broke; send the request again")]
    #[non_exhaustive]
    Broken {
        /// The HTTP client's error.
        source: Box<dyn StdError + Send + Sync>,
    },
}

impl TransportError {
    /// Creates the error of a request that is not valid HTTP.
    #[must_use]
    pub fn invalid(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Invalid { source: source.into() }
    }

    /// Creates the error of a request that the transport refuses to send.
    #[must_use]
    pub fn refused(message: impl Into<Text>) -> Self {
        Self::Refused { message: message.into() }
    }

    /// Creates the error of a host that cannot be reached.
    #[must_use]
    pub fn connect(
        host: impl Into<Text>,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        Self::Connect { host: host.into(), source: source.into() }
    }

    /// Creates the error of a host that did not accept the connection in time.
    #[must_use]
    pub fn connect_timeout(host: impl Into<Text>, after: Duration) -> Self {
        Self::ConnectTimeout { host: host.into(), after }
    }

    /// Creates the error of a connection that broke.
    #[must_use]
    pub fn broken(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Broken { source: source.into() }
    }
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
