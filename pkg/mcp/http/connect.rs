//! The connection to a remote server.

use std::{sync::Arc, time::Duration};

use http::{HeaderName, HeaderValue};
use rmcp::transport::{
    StreamableHttpClientTransport,
    streamable_http_client::{StreamableHttpClient, StreamableHttpClientTransportConfig},
};
use url::Url;

use super::{
    authorized_client::AuthorizedClient, client::McpClient, idle_streams::ReconnectPolicy,
};
use crate::{
    addresses::host_names::guarded_transport,
    config::remote_settings::McpRemote,
    oauth::{login_options::LoginOptions, oauth_access::OAuthAccess},
    output::{output_lines::MAX_LINE_BYTES, remote_watch::RemoteWatch},
};
use forgeline_llm::{private::SecretRedactor, transport::HttpTransport};
use forgeline_types::Text;

/// Maximum length of the part of a server's error page that is read, in bytes.
const MAX_PAGE_BYTES: usize = 4 << 10;

/// Maximum wait for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A transport of the protocol, over which nothing has been sent, and its watch.
pub(crate) type HttpConnection<C = McpClient> =
    (StreamableHttpClientTransport<AuthorizedClient<C>>, Arc<RemoteWatch>);

/// Prepares the connection to a server.
///
/// # Errors
///
/// Returns the reason, without the server's URL and secrets.
pub(crate) fn connect(
    name: &Text,
    remote: &McpRemote,
    login: &LoginOptions,
) -> Result<HttpConnection, String> {
    let url: Url = remote.url.parse().map_err(|_| "`url` is not an address".to_owned())?;
    if url.scheme() == "https" && !cfg!(feature = "tls") {
        return Err("forgeline was built without the feature `tls`".to_owned());
    }
    let http = HttpTransport::with_connect_timeout(CONNECT_TIMEOUT);
    let http = McpClient(Arc::new(http.map_err(|error| error.to_string())?));
    let transport =
        guarded_transport(url.clone(), CONNECT_TIMEOUT).map_err(|error| error.to_string())?;
    let access = |watch: &Arc<RemoteWatch>| {
        OAuthAccess::new(name.clone(), url, (remote, login), Arc::new(transport), Arc::clone(watch))
    };
    connect_over(http, remote, access)
}

/// Prepares the connection over this client.
pub(crate) fn connect_over<C: StreamableHttpClient + Sync>(
    inner: C,
    remote: &McpRemote,
    access: impl FnOnce(&Arc<RemoteWatch>) -> OAuthAccess,
) -> Result<HttpConnection<C>, String> {
    let mut secrets = SecretRedactor::default();
    secrets.url(&remote.url);
    let mut headers = std::collections::HashMap::new();
    for (name, value) in &remote.headers {
        let value = value.expose();
        secrets.header(value);
        let wrong = || format!("the header `{name}` is not valid");
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        headers.insert(key, value);
    }
    let watch = Arc::new(RemoteWatch::new(secrets));
    let access = (!remote.has_authorization()).then(|| Arc::new(access(&watch)));
    let mut config = StreamableHttpClientTransportConfig::with_uri(remote.url.as_str())
        .custom_headers(headers)
        .max_sse_event_size(MAX_LINE_BYTES)
        .max_json_response_size(MAX_LINE_BYTES)
        .max_error_response_size(MAX_PAGE_BYTES);
    config.retry_config = Arc::new(ReconnectPolicy);
    let client = AuthorizedClient {
        inner,
        access,
        watch: Arc::clone(&watch),
        idle: Arc::default(),
        opened: Arc::default(),
    };
    Ok((StreamableHttpClientTransport::with_client(client, config), watch))
}
