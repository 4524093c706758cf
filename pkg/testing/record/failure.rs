//! Failures without a response.

use std::{error::Error as _, time::Duration};

use serde::{Deserialize, Serialize};

use forgeline_llm::transport::TransportError;
use forgeline_types::Text;

/// The cause of a missing or broken response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Failure {
    /// The kind: `invalid`, `refused`, `connect`, `connect_timeout` or `broken`.
    pub kind: Text,
    /// The host and port, if known.
    #[serde(default)]
    pub host: Text,
    /// The message of the HTTP client.
    pub message: Text,
}

impl Failure {
    /// Describes `error` and its causes.
    pub(super) fn from_error(error: &TransportError) -> Self {
        let (kind, host) = match error {
            TransportError::Invalid { .. } => ("invalid", ""),
            TransportError::Refused { .. } => ("refused", ""),
            TransportError::Connect { host, .. } => ("connect", host.as_str()),
            TransportError::ConnectTimeout { host, .. } => ("connect_timeout", host.as_str()),
            TransportError::Broken { .. } => ("broken", ""),
            _ => ("broken", ""),
        };
        let mut message = error.to_string();
        let mut source = error.source();
        while let Some(error) = source {
            message = format!("{message}: {error}");
            source = error.source();
        }
        Self { kind: Text::from(kind), host: Text::from(host), message: Text::from(message) }
    }

    /// Returns the error with which the replayed exchange fails.
    pub(crate) fn to_error(&self) -> TransportError {
        let source = self.message.as_str();
        match self.kind.as_str() {
            "invalid" => TransportError::invalid(source),
            "refused" => TransportError::refused(self.message.clone()),
            "connect" => TransportError::connect(self.host.clone(), source),
            // The time until the timeout is not waited for again.
            "connect_timeout" => TransportError::connect_timeout(self.host.clone(), Duration::ZERO),
            _ => TransportError::broken(source),
        }
    }
}
