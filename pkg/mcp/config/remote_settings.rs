//! The settings of a server reached over HTTP.

use std::fmt;

use forgeline_llm::http::Secret;

use forgeline_llm::private::redact_url;

/// A server reached over HTTP (streamable HTTP).
///
/// OAuth logs in to a server that requires it, unless there is an `Authorization` header.
///
/// # Examples
///
/// ```
/// use forgeline::agent::mcp::McpConfig;
///
/// let config = McpConfig::parse(
///     r#"{"mcpServers": {"docs": {"url": "https://mcp.example/mcp", "headers": {"X-Key": "s3cret"}}}}"#,
/// )?;
/// let remote = config.servers[0].remote.as_ref().unwrap();
/// assert_eq!(remote.url, "https://mcp.example/mcp");
/// assert!(!format!("{remote:?}").contains("s3cret"));
/// # Ok::<(), forgeline::agent::mcp::McpConfigError>(())
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct McpRemote {
    /// The URL. Required.
    pub url: String,
    /// Headers of each request to the server. Their values are secrets. Default: none.
    pub headers: Vec<(String, Secret)>,
    /// The client that forgeline uses to log in. Default: one that registers itself.
    pub oauth: McpOAuth,
}

/// The client of an authorization server, if it does not register itself.
///
/// # Examples
///
/// ```
/// use forgeline::agent::mcp::McpOAuth;
///
/// let oauth = McpOAuth::default();
/// assert!(oauth.client_id.is_none() && oauth.scopes.is_empty());
/// ```
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct McpOAuth {
    /// The id of a client that is already registered. Default: `None`, the client registers itself.
    pub client_id: Option<String>,
    /// The secret of that client. It is sent only to an authorization server on the host of the MCP server, and to the [`issuer`](Self::issuer). Default:
    /// `None`, a public client.
    pub client_secret: Option<Secret>,
    /// The authorization server that may receive the secret, by the issuer name in its metadata. Default: `None`.
    pub issuer: Option<String>,
    /// The URL of a document that describes the client, for servers that accept one. Default: `None`.
    pub client_metadata_url: Option<String>,
    /// `true` if the client obtains tokens for itself with its secret, and no person logs in. Default: `false`.
    pub is_for_itself: bool,
    /// Scopes to request in addition to those that the server names. Default: none.
    pub scopes: Vec<String>,
}

impl McpRemote {
    /// Creates a server without headers.
    pub(crate) fn new(url: String) -> Self {
        Self { url, headers: Vec::new(), oauth: McpOAuth::default() }
    }

    /// Returns `true` when the headers contain an authorization, so that a login is not needed.
    pub(crate) fn has_authorization(&self) -> bool {
        self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"))
    }
}

impl fmt::Debug for McpRemote {
    /// Formats the server without the values of its headers and its URL.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        formatter
            .debug_struct("McpRemote")
            .field("url", &redact_url(&self.url))
            .field("headers", &names)
            .field("oauth", &self.oauth)
            .finish()
    }
}

impl fmt::Debug for McpOAuth {
    /// Formats the client without its secret.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("McpOAuth")
            .field("client_id", &self.client_id)
            .field("client_metadata_url", &self.client_metadata_url)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}
