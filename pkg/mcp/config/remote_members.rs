//! The members of a remote server in the configuration.

use forgeline_llm::http::Secret;
use http::{HeaderName, HeaderValue};
use url::Url;

use super::{
    config_error::McpConfigError,
    config_member::ConfigMember,
    remote_settings::{McpOAuth, McpRemote},
};

/// Headers that belong to the protocol.
const OWN_HEADERS: [&str; 9] = [
    "accept",
    "connection",
    "content-length",
    "content-type",
    "host",
    "last-event-id",
    "mcp-protocol-version",
    "mcp-session-id",
    "transfer-encoding",
];

/// Names of the member for the kind of a server, including those of other clients.
const KINDS: [&str; 3] = ["type", "transport", "transportType"];
const ADDRESSES: [&str; 3] = ["url", "serverUrl", "httpUrl"];

/// Parses the members of a server that is reached over HTTP; returns `None` for a server that is a
/// process. Members without effect are added to `warnings`.
pub(crate) fn parse_remote(
    of: &ConfigMember<'_>,
    warnings: &mut Vec<McpConfigError>,
) -> Result<Option<McpRemote>, McpConfigError> {
    let members = of.object()?;
    let below = |name: &str| {
        let value = members.get(name).filter(|value| !value.is_null());
        value.map(|value| of.below(name, value))
    };
    let kind = KINDS.into_iter().find_map(below);
    let url = ADDRESSES.into_iter().find_map(below);
    let is_http = match &kind {
        None => url.is_some(),
        Some(kind) => match kind.value.as_str() {
            Some("stdio" | "local") => false,
            Some("http" | "streamable-http" | "streamableHttp" | "streamable_http" | "remote") => {
                true
            }
            Some("sse") => {
                return Err(kind.wrong(
                    "must be `stdio` or `http`; `sse` is the transport before streamable HTTP and is not \
                     supported, use the server's address for `http`",
                ));
            }
            _ => return Err(kind.wrong("must be `stdio` or `http`")),
        },
    };
    if !is_http {
        // Some clients write empty headers for each server.
        let says_something =
            |it: &ConfigMember<'_>| !it.value.as_object().is_some_and(serde_json::Map::is_empty);
        let foreign = url.or(below("headers")).or(below("oauth")).filter(says_something);
        return match foreign {
            Some(member) => Err(member.wrong("is only for a server of `type` `http` with a `url`")),
            None => Ok(None),
        };
    }
    let Some(url) = url else {
        let url = of.below("url", of.value);
        return Err(url.wrong("is missing; expected the address of the server"));
    };
    let mut remote = McpRemote::new(url.address()?);
    if let Some(headers) = below("headers") {
        remote.headers = headers.headers()?;
    }
    if let Some(oauth) = below("oauth") {
        remote.oauth = oauth.oauth(warnings)?;
    }
    Ok(Some(remote))
}

impl ConfigMember<'_> {
    /// Parses a URL, whose query may be secret.
    fn address(&self) -> Result<String, McpConfigError> {
        let text = self.string()?;
        let Ok(url) = text.parse::<Url>() else {
            return Err(self.wrong("is not an address; expected one such as `https://host/mcp`"));
        };
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(self.wrong("is not an address of HTTP; expected `https://…`"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(
                self.wrong("contains a user name or password; use a header `Authorization`")
            );
        }
        Ok(text)
    }

    fn headers(&self) -> Result<Vec<(String, Secret)>, McpConfigError> {
        let header = |(name, value): (&String, _)| {
            let member = self.below(name, value);
            let is_name = name.parse::<HeaderName>().is_ok();
            if !is_name {
                return Err(member.wrong("is not a name of a header; expected one such as `X-Key`"));
            }
            if OWN_HEADERS.iter().any(|own| name.eq_ignore_ascii_case(own)) {
                return Err(member.wrong("is a header of the protocol, which sets it; remove it"));
            }
            let value = Secret::from(member.string()?);
            if HeaderValue::from_str(value.expose()).is_err() {
                return Err(member.wrong("has a character that no header may have; remove it"));
            }
            Ok((name.clone(), value))
        };
        self.object()?.iter().map(header).collect()
    }

    fn oauth(&self, warnings: &mut Vec<McpConfigError>) -> Result<McpOAuth, McpConfigError> {
        let mut oauth = McpOAuth::default();
        for (name, value) in self.object()? {
            let member = self.below(name, value);
            match name.as_str() {
                "clientId" => oauth.client_id = Some(member.string()?),
                "clientSecret" => oauth.client_secret = Some(member.string()?.into()),
                "issuer" => oauth.issuer = Some(member.address()?),
                "clientMetadataUrl" => oauth.client_metadata_url = Some(member.address()?),
                "scopes" => oauth.scopes = member.strings()?,
                "grant" => {
                    oauth.is_for_itself = match member.value.as_str() {
                        Some("authorization_code") => false,
                        Some("client_credentials") => true,
                        _ => {
                            return Err(member
                                .wrong("must be `authorization_code` or `client_credentials`"));
                        }
                    };
                }
                _ => warnings.push(member.wrong(
                    "is unknown and has no effect; known are `clientId`, `clientSecret`, `issuer`, `clientMetadataUrl`, `grant` and `scopes`",
                )),
            }
        }
        if oauth.client_secret.is_some() && oauth.client_id.is_none() {
            return Err(self.wrong("has a `clientSecret` without its `clientId`; add it"));
        }
        if oauth.is_for_itself && oauth.client_secret.is_none() {
            return Err(
                self.wrong("has the grant `client_credentials` without `clientSecret`; add it")
            );
        }
        Ok(oauth)
    }
}
