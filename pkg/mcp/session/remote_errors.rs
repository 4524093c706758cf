//! Conversion of protocol errors into errors of a remote server, without secrets.

use rmcp::{ServiceError, service::ClientInitializeError};

use super::mcp_error::McpError;
use crate::output::remote_watch::{MAX_REASON, RemoteWatch};
use forgeline_types::Text;

/// Returns the error of a remote server during its session.
pub(crate) fn session_error(server: &Text, watch: &RemoteWatch, error: &ServiceError) -> McpError {
    if matches!(error, ServiceError::TransportClosed) {
        return McpError::Ended { server: server.clone(), said: String::new() };
    }
    let words = if let ServiceError::TransportSend(error) = error {
        watch.words(error)
    } else {
        watch.redacted(&error.to_string())
    };
    refused(server, watch, &words)
}

/// Returns the error of a remote server during its handshake.
pub(crate) fn greeting_error(
    server: &Text,
    watch: &RemoteWatch,
    error: &ClientInitializeError,
) -> McpError {
    if let ClientInitializeError::LegacyFallbackFailed { fallback, .. } = error {
        return greeting_error(server, watch, fallback);
    }
    let words = if let ClientInitializeError::TransportError { error, .. } = error {
        watch.words(error)
    } else {
        watch.redacted(&error.to_string())
    };
    refused(server, watch, &words)
}

fn refused(server: &Text, watch: &RemoteWatch, words: &str) -> McpError {
    let server = server.clone();
    if let Some(reason) = watch.refusal() {
        return McpError::NoAccess { server, reason };
    }
    McpError::Failed { server, message: words.chars().take(MAX_REASON).collect() }
}
