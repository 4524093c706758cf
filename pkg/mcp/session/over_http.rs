//! The session with a server reached over HTTP.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use rmcp::{
    model::ProtocolVersion,
    service::{ClientInitializeError, ClientLifecycleMode, serve_client_with_lifecycle},
    transport::streamable_http_client::StreamableHttpClient,
};
use tokio::time::timeout;

use super::{
    mcp_error::McpError,
    remote_errors::greeting_error,
    server_session::{ServerSession, failed, within},
    session_client::SessionClient,
};
use crate::{
    config::remote_settings::McpRemote,
    http::connect::{HttpConnection, connect},
    output::last_words::LastWords,
    requests::mcp_options::McpOptions,
};
use forgeline_types::Text;

/// Maximum wait for a remote server to be notified of the end.
const END_TIMEOUT: Duration = Duration::from_secs(1);

impl ServerSession {
    /// Performs the handshake with a server that is reached over HTTP.
    pub(crate) async fn remote(
        server: Text,
        options: &McpOptions,
        remote: &McpRemote,
    ) -> Result<Self, McpError> {
        Self::over_http(server.clone(), options, &|| {
            connect(&server, remote, &options.login).map_err(|reason| failed(&server, &reason))
        })
        .await
    }

    /// Performs the handshake over a transport, in the newest or an older version of the protocol.
    pub(crate) async fn over_http<C: StreamableHttpClient + Sync>(
        server: Text,
        options: &McpOptions,
        connect: &(dyn Fn() -> Result<HttpConnection<C>, McpError> + Sync),
    ) -> Result<Self, McpError> {
        let client = SessionClient::new(server.clone(), options.clone());
        let greet = async |lifecycle| {
            let (transport, watch) = connect()?;
            let greeting = serve_client_with_lifecycle(client.clone(), transport, lifecycle);
            let greeted =
                within(&server, Some(&watch), "initialize", options.start_timeout, greeting);
            Ok::<_, McpError>((greeted.await?, watch))
        };
        let legacy_version = Some(ProtocolVersion::V_2025_11_25);
        let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
        let newest = ClientLifecycleMode::Auto { preferred_versions, legacy_version };
        let (mut service, mut watch) = greet(newest).await?;
        if matches!(service, Err(ClientInitializeError::ExpectedInitResult(_))) {
            // An older server may answer an unknown request with success.
            (service, watch) = greet(ClientLifecycleMode::Initialize).await?;
        }
        let service = service.map_err(|error| greeting_error(&server, &watch, &error))?;
        let heard = watch.heard();
        let (offered, words) = (Mutex::default(), LastWords::default());
        let remote = Some(watch);
        Ok(Self { server, client, service, offered, remote, heard, words, _group: None })
    }

    /// Ends the session, and waits for a limited time until a remote server has been notified.
    pub(crate) async fn close(&self) {
        self.service.cancellation_token().cancel();
        if let Some(watch) = &self.remote {
            // A server that does not answer ends the session by itself.
            let _late = timeout(END_TIMEOUT, watch.ended()).await;
        }
    }

    /// Returns `true` once the server has listed a tool.
    pub(crate) fn has_listed(&self) -> bool {
        !self.offered.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Returns `true` for a server that is reached over HTTP.
    pub(crate) fn is_remote(&self) -> bool {
        self.remote.is_some()
    }
}
