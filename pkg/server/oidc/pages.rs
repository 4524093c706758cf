//! The two pages of a login server that describe it and its keys.

use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::Value;
use tokio::time::timeout;

use super::{error::OidcError, keys::KeySet};
use forgeline_llm::transport::{HttpRequest, Transport, TransportError, UrlAddress, redact_url};

/// The path of the description, after the issuer.
const DESCRIPTION: &str = "/.well-known/openid-configuration";

/// Time limit for both pages.
const PATIENCE: Duration = Duration::from_secs(10);

/// Maximum size of a page, in bytes.
const MAX_BYTES: usize = 512 << 10;

/// Reads the keys of the login server that calls itself `issuer`.
pub(super) async fn read_keys(
    transport: &dyn Transport,
    issuer: &str,
) -> Result<KeySet, OidcError> {
    check_url(issuer)?;
    let page = format!("{}{DESCRIPTION}", issuer.trim_end_matches('/'));
    let read = async {
        let description = read_page(transport, &page).await?;
        let actual = text(&description, "issuer");
        if actual != issuer {
            let (expected, actual) = (issuer.to_owned(), actual.chars().take(200).collect());
            return Err(OidcError::OtherIssuer { expected, actual });
        }
        let url = text(&description, "jwks_uri");
        check_url(url)?;
        // What an https server says does not lead to a page that others can change.
        if issuer.starts_with("https:") && !url.starts_with("https:") {
            return Err(OidcError::Url { url: redact_url(url) });
        }
        let keys = KeySet::read(&read_page(transport, url).await?);
        if keys.is_empty() { Err(OidcError::NoKeys { url: redact_url(url) }) } else { Ok(keys) }
    };
    let slow = || unreachable(&page, format!("no answer within {} s", PATIENCE.as_secs()));
    timeout(PATIENCE, read).await.unwrap_or_else(|_| Err(slow()))
}

/// Refuses what is neither an https URL nor an http URL of this machine.
pub(super) fn check_url(url: &str) -> Result<(), OidcError> {
    let address = UrlAddress::new(url);
    let host = address.host.rsplit_once(':').map_or(address.host, |(host, port)| {
        if port.bytes().all(|byte| byte.is_ascii_digit()) { host } else { address.host }
    });
    let is_local = ["localhost", "127.0.0.1", "[::1]"].contains(&host);
    let is_safe = address.scheme == "https://" || address.scheme == "http://" && is_local;
    let is_right = is_safe && !host.is_empty() && address.user.is_empty();
    if is_right { Ok(()) } else { Err(OidcError::Url { url: redact_url(url) }) }
}

fn text<'v>(page: &'v Value, member: &str) -> &'v str {
    page.get(member).and_then(Value::as_str).unwrap_or_default()
}

async fn read_page(transport: &dyn Transport, url: &str) -> Result<Value, OidcError> {
    let request = HttpRequest::new("GET", url).header("accept", "application/json");
    let response = transport.send(request).await.map_err(|error| failed(url, &error))?;
    if response.status != 200 {
        return Err(unreachable(url, format!("its status is {}", response.status)));
    }
    let (mut whole, mut body) = (Vec::new(), response.body);
    while let Some(piece) = body.next().await {
        whole.extend_from_slice(&piece.map_err(|error| failed(url, &error))?);
        if whole.len() > MAX_BYTES {
            return Err(unreachable(url, format!("it has more than {MAX_BYTES} bytes")));
        }
    }
    serde_json::from_slice(&whole).map_err(|_| unreachable(url, "it has no JSON".to_owned()))
}

fn failed(url: &str, error: &TransportError) -> OidcError {
    unreachable(url, error.to_string())
}

fn unreachable(url: &str, reason: String) -> OidcError {
    OidcError::Unreachable { url: redact_url(url), reason }
}
