//! Errors of the protocol as errors of a remote server, without secrets.

use rmcp::{ServiceError, service::ClientInitializeError};

use super::watch::{MAX_REASON, Watch};
use crate::{agent::mcp::McpError, types::Text};

/// Returns the error of a remote server in its session.
pub(in crate::agent::mcp) fn session_error(
    server: &Text,
    watch: &Watch,
    error: &ServiceError,
) -> McpError {
    match error {
        ServiceError::TransportClosed => McpError::Ended { server: server.clone() },
        ServiceError::TransportSend(error) => refused(server, watch, &watch.words(error)),
        error => refused(server, watch, &watch.redacted(&error.to_string())),
    }
}

/// Returns the error of a remote server at its greeting.
pub(in crate::agent::mcp) fn greeting_error(
    server: &Text,
    watch: &Watch,
    error: &ClientInitializeError,
) -> McpError {
    match error {
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => {
            greeting_error(server, watch, fallback)
        }
        ClientInitializeError::TransportError { error, .. } => {
            refused(server, watch, &watch.words(error))
        }
        error => refused(server, watch, &watch.redacted(&error.to_string())),
    }
}

fn refused(server: &Text, watch: &Watch, words: &str) -> McpError {
    match watch.refusal() {
        Some(reason) => McpError::NoAccess { server: server.clone(), reason },
        None => {
            let message = words.chars().take(MAX_REASON).collect();
            McpError::Failed { server: server.clone(), message }
        }
    }
}
